// Agreement by call number: which table each call of a communicator uses, on every rank alike.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "deploy/agreement/call_gate.hpp"
#include "deploy/agreement/messages.hpp"
#include "deploy/agreement/round.hpp"

namespace cclgym {

/// One rank's part of the agreement (docs/closed-loop.md). All ranks begin with the same table. The
/// leader, rank 0, proposes changes one after the other; a change that is decided applies to all
/// calls from its number on, on all ranks; a change that is aborted applies to none.
///
/// The object sends nothing itself: messages to other ranks are appended to `out`, and may be lost,
/// repeated, delayed and reordered. It has no clock either: the owner calls overdue() and give_up()
/// when a wait has lasted too long.
///
/// pass() belongs to the thread that makes the calls, and takes no lock. All other functions need
/// a lock of the owner's, advance() in the calling thread.
class AgreementMember {
 public:
  AgreementMember(std::int32_t rank, std::int32_t ranks, std::uint32_t table)
      : rank_(rank), ranks_(ranks), gate_(table) {}

  /// Counts the next call and gives its table; false at a call that needs advance().
  [[nodiscard]] bool pass(std::uint32_t& table) { return gate_.pass(table); }
  /// Applies the change that is due at the next call. True if pass() will succeed now; false if the
  /// call must wait for a verdict, or if this rank is lost.
  [[nodiscard]] bool advance();
  /// Number of calls that were made.
  [[nodiscard]] std::uint64_t calls() const { return gate_.next(); }
  /// True if the next call waits for a verdict.
  [[nodiscard]] bool waits() const;

  /// Leader: proposes that calls from `from` on use `table`. False, without an effect, if the
  /// verdict on the change before is not known yet, or if call `from` may have been made.
  bool propose(std::uint32_t table, std::uint64_t from, std::vector<AgreementMessage>& out);
  /// Leader: not all ranks have answered the proposal in time. Asks those again, or drops the
  /// change.
  void remind(std::vector<AgreementMessage>& out);
  void drop(std::vector<AgreementMessage>& out);
  /// True if the leader knows the verdicts on all its proposals.
  [[nodiscard]] bool settled() const;
  /// Leader: true if the newest proposal is committed.
  [[nodiscard]] bool committed() const;
  /// Leader: true if this rank holds the newest proposal.
  [[nodiscard]] bool holds(std::int32_t rank) const;

  void receive(const AgreementMessage& message, std::vector<AgreementMessage>& out);
  /// Newest ballot in which a verdict on the change that holds back calls was asked for; 0: none.
  [[nodiscard]] std::uint32_t ballot() const;
  /// The next call has waited too long: asks for the verdict, by a ballot of its own. Ranks should
  /// do so at random times, and not soon after ballot() has changed: a new ballot overtakes the one
  /// that another rank has begun.
  void overdue(std::vector<AgreementMessage>& out);
  /// No majority answers, so that the verdict cannot be known: makes no call any more. The others
  /// may have decided to change tables.
  void give_up() { lost_ = true; }
  [[nodiscard]] bool lost() const { return lost_; }

  /// Numbers that determine how the member will behave, for the exploration of its states.
  [[nodiscard]] std::vector<std::uint64_t> state() const;

 private:
  struct Switch {
    std::uint64_t from = 0;
    std::uint32_t table = 0;
  };

  [[nodiscard]] AgreementRound* round_of(const TableChange& change);
  [[nodiscard]] AgreementRound* find(std::uint64_t id);
  [[nodiscard]] const AgreementRound* find(std::uint64_t id) const;
  template <class Step>
  void take(AgreementRound& round, const Step& step);
  void answer(const AgreementMessage& proposal, std::vector<AgreementMessage>& out);
  [[nodiscard]] bool hold(AgreementRound& round);
  void take_answer(const AgreementMessage& message, std::vector<AgreementMessage>& out);
  void apply(const AgreementRound& round);
  void set_limit();

  std::int32_t rank_;
  std::int32_t ranks_;
  CallGate gate_;
  bool lost_ = false;
  std::deque<AgreementRound> rounds_{};  ///< the newest few, by id
  std::uint64_t forgotten_ = 0;          ///< newest id that rounds_ had and lost
  std::uint64_t held_ = 0;               ///< id of the change that holds back calls; 0: none
  std::uint64_t answered_ = 0;           ///< newest id that was held or refused
  std::deque<Switch> switches_{};        ///< decided and still to come, by call number
  // As the leader.
  std::uint64_t proposed_ = 0;  ///< newest id
  std::vector<bool> holds_{};   ///< ranks that hold it
  std::int32_t holding_ = 0;
};

}  // namespace cclgym
