// The verdict on one proposed change: Paxos with a single value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "deploy/agreement/messages.hpp"

namespace cclgym {

/// Part of one rank in the decision on one change: acceptor, and proposer if it proposes a verdict.
///
/// A verdict is decided when a majority of the ranks has accepted it in one ballot. Ballot 0 is the
/// leader's, which needs no first phase; rank r of n has the ballots k n + r, k >= 1. Any rank may
/// propose Abort, but in phase 1 it adopts a verdict that may have been decided already, so that
/// all decisions are equal however messages are lost, repeated, delayed or reordered (Lamport,
/// "Paxos Made Simple", 2001; for commit and abort, Gray and Lamport, "Consensus on Transaction
/// Commit", 2006).
class AgreementRound {
 public:
  AgreementRound(std::int32_t rank, std::int32_t ranks, const TableChange& change)
      : rank_(rank), ranks_(ranks), change_(change) {}

  [[nodiscard]] const TableChange& change() const { return change_; }
  [[nodiscard]] std::optional<Verdict> verdict() const { return verdict_; }
  /// Newest ballot that this rank has seen.
  [[nodiscard]] std::uint32_t ballot() const { return std::max(promised_, ballot_); }

  /// Leader: proposes a verdict in ballot 0, once. Commit must have the promises of all ranks.
  void propose(Verdict verdict, std::vector<AgreementMessage>& out);
  [[nodiscard]] bool proposed() const { return proposed_; }
  /// Any rank: starts a new ballot that ends in Abort, unless another verdict may be decided.
  void recover(std::vector<AgreementMessage>& out);

  /// A message of kind Prepare, Prepared, Accept, Accepted or Decided about this change.
  void receive(const AgreementMessage& message, std::vector<AgreementMessage>& out);

  /// Appends numbers that determine how the round will go on.
  void add_state(std::vector<std::uint64_t>& numbers) const;

 private:
  enum class Phase : std::uint8_t { None, Preparing, Accepting };

  void send_all(AgreementMessage message, std::vector<AgreementMessage>& out);
  void reply(const AgreementMessage& to, AgreementMessage message,
             std::vector<AgreementMessage>& out);
  void accept_phase(Verdict verdict, std::vector<AgreementMessage>& out);
  [[nodiscard]] bool heard(std::int32_t rank);
  void decide(Verdict verdict, std::vector<AgreementMessage>& out);

  std::int32_t rank_;
  std::int32_t ranks_;
  TableChange change_;
  std::optional<Verdict> verdict_{};
  // As an acceptor.
  std::uint32_t promised_ = 0;
  std::optional<std::uint32_t> accepted_{};  ///< ballot
  Verdict accepted_verdict_ = Verdict::Abort;
  // As a proposer.
  bool proposed_ = false;
  Phase phase_ = Phase::None;
  std::uint32_t ballot_ = 0;
  Verdict proposal_ = Verdict::Abort;
  std::optional<std::uint32_t> newest_{};  ///< newest ballot accepted by those that were asked
  std::vector<bool> heard_{};              ///< ranks that answered in this phase
  std::int32_t answers_ = 0;
};

}  // namespace cclgym
