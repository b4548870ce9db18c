// Connections of one rank of a group to the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deploy/loop/frames.hpp"
#include "deploy/loop/rank_tree.hpp"

namespace cclgym {

/// A file descriptor that is closed with its owner.
class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// A TCP socket that listens on a port of the system's choice. Ranks open it before they exchange
/// addresses, so that the first connection finds it.
class ListeningSocket {
 public:
  /// Throws UserError if the system gives no socket.
  ListeningSocket();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] OwnedDescriptor take() { return std::move(socket_); }

 private:
  OwnedDescriptor socket_;
  std::uint16_t port_ = 0;
};

/// Frames go along the tree. If the neighbour on the way has no connection, or a frame should not
/// depend on other ranks, it goes to its target directly; such a connection is made when it is
/// first needed, and then used by both ends for all that they send to each other. Frames may be
/// lost when a connection ends; none is delivered twice.
///
/// One thread uses an object; wake() may be called from any.
class RankLinks {
 public:
  using Clock = std::chrono::steady_clock;

  /// `token` is equal on all ranks of the group; connections with another are closed.
  RankLinks(std::int32_t rank, std::vector<RankAddress> addresses, std::uint64_t token,
            ListeningSocket listener);

  enum class Way : std::uint8_t { Tree, Direct };
  /// Queues a frame for another rank.
  void send(Frame frame, Way way = Way::Tree);
  /// Waits until something arrives, wake() is called, or the time is over, and appends the frames
  /// for this rank.
  void exchange(std::chrono::milliseconds most, std::vector<Frame>& arrived);
  void wake();
  /// Number of connections that ended other than by the end of this object.
  [[nodiscard]] std::uint64_t lost_links() const { return lost_links_; }

 private:
  struct Link {
    OwnedDescriptor socket;
    std::int32_t peer = -1;  ///< unknown until its Hello
    bool connecting = false;
    std::string out{};
    FrameReader in;
  };

  [[nodiscard]] Link* link_to(std::int32_t rank);
  Link* connect_to(std::int32_t rank);
  void accept_all();
  [[nodiscard]] bool serve(Link& link, short events, std::vector<Frame>& arrived);
  [[nodiscard]] bool take_frames(Link& link, std::vector<Frame>& arrived);
  [[nodiscard]] bool greet(Link& link, const Frame& hello) const;
  [[nodiscard]] std::string hello_payload() const;

  std::int32_t rank_;
  std::vector<RankAddress> addresses_;
  RankTree tree_;
  std::uint64_t token_;
  OwnedDescriptor listener_;
  OwnedDescriptor wake_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Clock::time_point> next_try_;  ///< by rank: no connection is tried earlier
  std::uint64_t lost_links_ = 0;
};

}  // namespace cclgym
