#include "deploy/loop/rank_links.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "core/error.hpp"
#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

// More would mean that a frame runs in circles: a tree of 8 children is not that deep.
constexpr std::uint8_t kMostHops = 32;
// A rank that does not read loses frames beyond these.
constexpr std::size_t kMostQueuedBytes = std::size_t{8} << 20;
constexpr std::chrono::milliseconds kRetry{100};

std::vector<std::int32_t> nodes_of(const std::vector<RankAddress>& addresses) {
  std::vector<std::int32_t> nodes;
  nodes.reserve(addresses.size());
  for (const RankAddress& address : addresses) nodes.push_back(address.node);
  return nodes;
}

// Frames are small and urgent.
void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
OwnedDescriptor::OwnedDescriptor(OwnedDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}
OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ListeningSocket::ListeningSocket()
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw UserError(std::string("cannot listen for the other ranks: ") + std::strerror(errno));
  }
  port_ = ntohs(address.sin_port);
}

RankLinks::RankLinks(std::int32_t rank, std::vector<RankAddress> addresses, std::uint64_t token,
                     ListeningSocket listener)
    : rank_(rank),
      addresses_(std::move(addresses)),
      tree_(nodes_of(addresses_)),
      token_(token),
      listener_(listener.take()),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      next_try_(addresses_.size()) {
  if (!wake_) throw UserError(std::string("cannot make an eventfd: ") + std::strerror(errno));
  if (rank_ != 0) connect_to(tree_.parent(rank_));
}

void RankLinks::wake() {
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the thread is awake.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

RankLinks::Link* RankLinks::link_to(std::int32_t rank) {
  const auto found =
      std::ranges::find_if(links_, [rank](const auto& link) { return link->peer == rank; });
  return found == links_.end() ? nullptr : found->get();
}

void RankLinks::send(Frame frame, Way way) {
  const std::int32_t target = frame.target;
  if (target == rank_ || frame.hops >= kMostHops) return;
  ++frame.hops;
  // A direct connection comes first: the ranks between may be what the question is about.
  Link* link = link_to(target);
  if (link == nullptr && way == Way::Tree) link = link_to(tree_.next_hop(rank_, target));
  if (link == nullptr) link = connect_to(target);
  if (link == nullptr || link->out.size() + frame.payload.size() > kMostQueuedBytes) return;
  put_frame(link->out, frame);
}

std::string RankLinks::hello_payload() const {
  std::string payload;
  put(payload, token_);
  return payload;
}

// Null if the rank cannot be reached now.
RankLinks::Link* RankLinks::connect_to(std::int32_t rank) {
  const auto now = Clock::now();
  Clock::time_point& next_try = next_try_[static_cast<std::size_t>(rank)];
  if (now < next_try) return nullptr;
  next_try = now + kRetry;
  const RankAddress& to = addresses_[static_cast<std::size_t>(rank)];
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(to.port);
  if (::inet_pton(AF_INET, to.host.c_str(), &address.sin_addr) != 1) return nullptr;
  OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return nullptr;
  send_at_once(socket.get());
  const int failed =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (failed != 0 && errno != EINPROGRESS) return nullptr;
  links_.push_back(std::make_unique<Link>(
      Link{.socket = std::move(socket),
           .peer = rank,
           .connecting = true,
           .in = FrameReader(static_cast<std::int32_t>(addresses_.size()))}));
  put_frame(
      links_.back()->out,
      {.kind = FrameKind::Hello, .source = rank_, .target = rank, .payload = hello_payload()});
  return links_.back().get();
}

void RankLinks::accept_all() {
  while (true) {
    OwnedDescriptor socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    send_at_once(socket.get());
    links_.push_back(std::make_unique<Link>(
        Link{.socket = std::move(socket),
             .in = FrameReader(static_cast<std::int32_t>(addresses_.size()))}));
  }
}

void RankLinks::exchange(std::chrono::milliseconds most, std::vector<Frame>& arrived) {
  std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const auto& link : links_) {
    const bool writes = link->connecting || !link->out.empty();
    polled.push_back(
        {link->socket.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  if (::poll(polled.data(), polled.size(), static_cast<int>(most.count())) <= 0) return;
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &ignored, sizeof ignored);
  // Frames that are passed on may add links at the end.
  const std::size_t links = polled.size() - 2;
  for (std::size_t i = 0; i < links; ++i) {
    if (polled[i + 2].revents == 0 || serve(*links_[i], polled[i + 2].revents, arrived)) continue;
    if (links_[i]->peer >= 0) ++lost_links_;
    links_[i]->socket = OwnedDescriptor();
    links_[i]->peer = -1;
  }
  std::erase_if(links_, [](const auto& link) { return !link->socket; });
  accept_all();
}

// False if the connection has ended.
bool RankLinks::serve(Link& link, short events, std::vector<Frame>& arrived) {
  if (link.connecting && (events & (POLLOUT | POLLERR | POLLHUP)) != 0) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(link.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return false;
    link.connecting = false;
  }
  bool open = true;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
    open = receive_some(link.socket.get(), link.in.inbox());
    if (!take_frames(link, arrived)) return false;
  }
  if (!link.connecting && !link.out.empty()) open = send_some(link.socket.get(), link.out) && open;
  return open;
}

bool RankLinks::take_frames(Link& link, std::vector<Frame>& arrived) {
  while (std::optional<Frame> frame = link.in.next()) {
    if (link.peer < 0 || frame->kind == FrameKind::Hello) {
      if (!greet(link, *frame)) return false;
      link.peer = frame->source;
    } else if (frame->target == rank_) {
      arrived.push_back(std::move(*frame));
    } else {
      send(std::move(*frame));
    }
  }
  return !link.in.broken();
}

// True if the first frame of an accepted connection comes from another rank of the group.
bool RankLinks::greet(Link& link, const Frame& hello) const {
  return link.peer < 0 && hello.kind == FrameKind::Hello && hello.source != rank_ &&
         hello.target == rank_ && hello.payload == hello_payload();
}

}  // namespace cclgym
