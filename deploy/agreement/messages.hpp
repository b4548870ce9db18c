// Messages with which the ranks of a communicator agree on changes of tables (docs/closed-loop.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cclgym {

/// "From call number `from` on, use table `table`." Calls of a communicator are numbered from 0 on,
/// in the order in which every rank makes them.
struct TableChange {
  std::uint64_t id = 0;  ///< 1, 2, … in the order of the leader's proposals
  std::uint64_t from = 0;
  std::uint32_t table = 0;
  friend bool operator==(const TableChange&, const TableChange&) = default;
};

/// Outcome of a proposed change.
enum class Verdict : std::uint8_t { Abort, Commit };

enum class AgreementKind : std::uint8_t {
  Propose,   ///< leader to all: stop before call `from` until there is a verdict
  Hold,      ///< to the leader: call `from` is not made yet, and will not be without a verdict
  Refuse,    ///< to the leader: too late, or another change is pending
  Prepare,   ///< to all: accept no ballot below `ballot` (phase 1 of Paxos)
  Prepared,  ///< to the proposer: the last ballot that was accepted, and its verdict
  Accept,    ///< to all: accept `verdict` in `ballot` (phase 2)
  Accepted,  ///< to the proposer
  Decided,   ///< to all: a majority accepted `verdict`
  Last = Decided
};

struct AgreementMessage {
  AgreementKind kind = AgreementKind::Propose;
  /// Verdict of Accept, Accepted and Decided; of the ballot `accepted` in Prepared.
  Verdict verdict = Verdict::Abort;
  std::int32_t source = 0;  ///< rank
  std::int32_t target = 0;  ///< rank
  std::uint32_t ballot = 0;
  std::optional<std::uint32_t> accepted{};  ///< Prepared: the last ballot that was accepted
  /// Propose: verdict of the change before, if it was not the first.
  std::optional<Verdict> previous{};
  TableChange change{};
  friend bool operator==(const AgreementMessage&, const AgreementMessage&) = default;
};

/// A message as bytes, little-endian.
inline constexpr std::size_t kAgreementBytes = 40;
using AgreementBytes = std::array<std::byte, kAgreementBytes>;

[[nodiscard]] AgreementBytes encode(const AgreementMessage& message);
/// Reads a message between two of `ranks` ranks; nullopt if the bytes are not what encode() makes.
[[nodiscard]] std::optional<AgreementMessage> decode_agreement(std::span<const std::byte> bytes,
                                                               std::int32_t ranks);

}  // namespace cclgym
