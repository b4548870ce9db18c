// The place where the ranks of a group that share no launcher find each other's addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "deploy/loop/loop_group.hpp"

namespace cclgym {

/// IPv4 address, in the byte order of the network, and port.
struct RendezvousPoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
};

/// Reads "10.0.0.1:4321". Throws UserError "NAME: …" if it is no IPv4 address of a node with a
/// port.
[[nodiscard]] RendezvousPoint parse_rendezvous(std::string_view text, const std::string& name);

/// Number of this node: processes on the same host have the same, others hardly ever.
[[nodiscard]] std::uint64_t this_node();

class RendezvousBook;

/// Keeps the addresses of ranks until all ranks of a group have said theirs, and tells them then.
/// Each question has a connection of its own, so that few are open at a time. A thread answers.
class RendezvousServer {
 public:
  /// Null if the point cannot be bound: another process has it, or it is on another node.
  [[nodiscard]] static std::unique_ptr<RendezvousServer> serve(const RendezvousPoint& point);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  /// Number of ranks' questions, and number of questions that were not of a rank.
  [[nodiscard]] std::uint64_t questions() const;
  [[nodiscard]] std::uint64_t strangers() const;

  // Limits. A question beyond them is not answered, or the oldest group is forgotten.
  static constexpr std::size_t kMostConnections = 256;
  static constexpr std::size_t kMostGroups = 4096;
  static constexpr std::int32_t kMostRanks = 65536;

 private:
  RendezvousServer(OwnedDescriptor listener, OwnedDescriptor wake);
  void run();

  OwnedDescriptor listener_;
  OwnedDescriptor wake_;
  std::atomic<bool> ending_ = false;
  std::unique_ptr<RendezvousBook> book_;  ///< used by the thread, except its two numbers
  std::thread thread_;
};

/// A rank of a group. The group's number is equal on all its ranks, and no other group's.
struct RendezvousRank {
  std::uint64_t group = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::uint64_t node = 0;  ///< this_node()
};

struct RendezvousOptions {
  double most_wait_s = 60;
  /// Network interface at whose address this rank listens, as for own_address(); empty: the one
  /// that leads to the rendezvous.
  std::string interface {};
};

/// Asks at the point until all ranks of the group have come. `serve` is called when nobody answers
/// there, to try to serve. Throws UserError after most_wait_s; returns without members if `ending`.
[[nodiscard]] LoopMembers meet_ranks(const RendezvousPoint& point, const RendezvousRank& own,
                                     const RendezvousOptions& options,
                                     const std::function<void()>& serve,
                                     const std::atomic<bool>& ending);

}  // namespace cclgym
