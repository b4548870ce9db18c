// Messages between the ranks of a run, without naming MPI: its library is loaded only by processes
// that a launcher has started, because loading it takes longer than most commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sched.h>
#include <string>
#include <utility>
#include <vector>

namespace cclgym {

/// Start of a rank, which all of a run have in common.
struct RankStart {
  std::uint64_t arguments = 0;  ///< hash of the command line
  std::uint64_t directory = 0;  ///< hash of the working directory
};

/// Place of a rank.
struct RankInfo {
  std::string machine;     ///< name of its node
  std::size_t leader = 0;  ///< first rank of its node
  cpu_set_t cores{};       ///< cores that the launcher gave it
  RankStart start{};
};

class RankLink {
 public:
  RankLink() = default;
  virtual ~RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual const std::vector<RankInfo>& ranks() const = 0;
  /// Sends a message; returns at once. All functions may be called by several threads.
  virtual void send(std::size_t rank, std::string message) = 0;
  /// Sends a sign of life, unless the one before is still on its way.
  virtual void send_sign(std::size_t rank, const std::string& message) = 0;
  /// Sender and text of a message that has arrived; nullopt if there is none.
  [[nodiscard]] virtual std::optional<std::pair<std::size_t, std::string>> receive() = 0;
  /// Ends the communication; all ranks call it.
  virtual void finish() = 0;
  /// Ends all ranks at once, if some no longer answer.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// Name of the only function of the library with the link by MPI: RankLink* (const RankStart&). It
/// blocks until all ranks call it. The environment variable CCLGYM_RANKS_PER_NODE divides nodes
/// into groups of this many ranks that are treated as nodes: for tests, and for nodes whose sockets
/// have little memory in common.
inline constexpr const char* kMakeRankLink = "cclgym_make_rank_link";

}  // namespace cclgym
