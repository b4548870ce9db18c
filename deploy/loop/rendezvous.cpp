#include "deploy/loop/rendezvous.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/tasks/wire.hpp"
#include "deploy/loop/own_address.hpp"
#include "deploy/loop/rendezvous_book.hpp"

namespace cclgym {

namespace {

using MeetClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Time for a question and its answer.
constexpr Seconds kMostConversation{3};
constexpr std::chrono::milliseconds kLookAround{50};
// Pauses between a rank's questions.
constexpr double kFirstPause_s = 0.02;
constexpr double kMostPause_s = 1;
constexpr double kPauseGrowth = 1.5;

sockaddr_in socket_address(const RendezvousPoint& point) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = point.address;
  address.sin_port = htons(point.port);
  return address;
}

std::string dotted(std::uint32_t address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr number{address};
  const char* made = ::inet_ntop(AF_INET, &number, text.data(), text.size());
  return made == nullptr ? std::string() : std::string(made);
}

// Waits until the socket is ready for `events`; false if the time is over first.
bool wait_for(int socket, short events, MeetClock::time_point until,
              const std::atomic<bool>& ending) {
  while (!ending && MeetClock::now() < until) {
    pollfd polled{socket, events, 0};
    if (::poll(&polled, 1, static_cast<int>(kLookAround.count())) > 0) return true;
  }
  return false;
}

// A rank's question on a connection of its own. nullopt if nobody answers.
std::optional<RendezvousAnswer> ask_once(const RendezvousPoint& point, RendezvousQuestion question,
                                         const std::atomic<bool>& ending) {
  const auto until =
      MeetClock::now() + std::chrono::duration_cast<MeetClock::duration>(kMostConversation);
  const OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;
  const sockaddr_in address = socket_address(point);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS || !wait_for(socket.get(), POLLOUT, until, ending)) {
      return std::nullopt;
    }
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return std::nullopt;
  }
  sockaddr_in own{};
  socklen_t length = sizeof own;
  if (question.address == 0 &&
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0) {
    question.address = own.sin_addr.s_addr;
  }
  std::string out;
  put(out, question);
  std::string in;
  while (true) {
    if (!out.empty() && !send_some(socket.get(), out)) return std::nullopt;
    const short events = out.empty() ? POLLIN : POLLOUT;
    if (!wait_for(socket.get(), events, until, ending)) return std::nullopt;
    if (!out.empty()) continue;
    const bool open = receive_some(socket.get(), in);
    bool broken = false;
    auto answer = read_answer(in, question.ranks, broken);
    if (answer) return answer;
    if (broken || !open) return std::nullopt;
  }
}

// Appends up to a question and a byte: a stranger may send without end. False if the other end is
// gone.
bool receive_little(int socket, std::string& bytes) {
  std::array<char, sizeof(RendezvousQuestion) + 1> part{};
  const ssize_t got = ::recv(socket, part.data(), part.size(), MSG_DONTWAIT);
  if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

LoopMembers members_of(const RendezvousAnswer& answer, ListeningSocket listener) {
  LoopMembers members{.token = answer.token, .listener = std::move(listener)};
  std::vector<std::uint64_t> nodes;
  for (const RendezvousPlace& place : answer.places) {
    auto known = std::ranges::find(nodes, place.node);
    if (known == nodes.end()) known = nodes.insert(nodes.end(), place.node);
    members.addresses.push_back({.host = dotted(place.address),
                                 .port = static_cast<std::uint16_t>(place.port),
                                 .node = static_cast<std::int32_t>(known - nodes.begin())});
  }
  return members;
}

}  // namespace

RendezvousPoint parse_rendezvous(std::string_view text, const std::string& name) {
  const std::size_t colon = text.rfind(':');
  const std::string host(text.substr(0, colon));
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  RendezvousPoint point;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), point.port);
  in_addr address{};
  if (::inet_pton(AF_INET, host.c_str(), &address) != 1 || address.s_addr == 0 ||
      error != std::errc{} || end != digits.data() + digits.size() || point.port == 0) {
    throw UserError(name + ": " + quoted(text) +
                    "; expected the IPv4 address of a node and a port, such as 10.0.0.1:4321");
  }
  point.address = address.s_addr;
  return point;
}

std::uint64_t this_node() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  // Containers of one machine have the same boot_id, and their own names.
  return fnv1a(host.data(), fnv1a(boot));
}

std::unique_ptr<RendezvousServer> RendezvousServer::serve(const RendezvousPoint& point) {
  OwnedDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  OwnedDescriptor wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!listener || !wake) return nullptr;
  // Connections of a server that has ended must not keep the next one from the port.
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = socket_address(point);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return nullptr;
  }
  return std::unique_ptr<RendezvousServer>(
      new RendezvousServer(std::move(listener), std::move(wake)));
}

RendezvousServer::RendezvousServer(OwnedDescriptor listener, OwnedDescriptor wake)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      book_(std::make_unique<RendezvousBook>()) {
  thread_ = std::thread([this] { run(); });
}

RendezvousServer::~RendezvousServer() {
  ending_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

std::uint64_t RendezvousServer::questions() const { return book_->questions; }
std::uint64_t RendezvousServer::strangers() const { return book_->strangers; }

void RendezvousServer::run() {
  struct Connection {
    OwnedDescriptor socket;
    MeetClock::time_point until;
    std::string in{};
    std::string out{};
    bool answered = false;
  };
  std::vector<Connection> connections;
  const auto allowed = std::chrono::duration_cast<MeetClock::duration>(kMostConversation);
  while (!ending_) {
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
    for (const Connection& one : connections) {
      polled.push_back({one.socket.get(), static_cast<short>(one.answered ? POLLOUT : POLLIN), 0});
    }
    const std::size_t known = connections.size();
    if (known < kMostConnections) polled.push_back({listener_.get(), POLLIN, 0});
    const bool waits = ::poll(polled.data(), polled.size(), 500) <= 0;
    const auto now = MeetClock::now();
    book_->forget_old(now);
    for (std::size_t i = 0; i < known; ++i) {
      Connection& one = connections[i];
      bool open = now < one.until;
      if (open && !waits && polled[i + 1].revents != 0) {
        if (!one.answered) {
          open = receive_little(one.socket.get(), one.in);
          if (one.in.size() >= sizeof(RendezvousQuestion)) {
            one.out = book_->answer(one.in, now);
            one.answered = true;
            open = !one.out.empty();
          }
        }
        if (open && one.answered) open = send_some(one.socket.get(), one.out) && !one.out.empty();
      }
      if (!open) one.socket = OwnedDescriptor();
    }
    std::erase_if(connections, [](const Connection& one) { return !one.socket; });
    while (!waits && connections.size() < kMostConnections) {
      OwnedDescriptor socket(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) break;
      connections.push_back({.socket = std::move(socket), .until = now + allowed});
    }
  }
}

LoopMembers meet_ranks(const RendezvousPoint& point, const RendezvousRank& own,
                       const RendezvousOptions& options, const std::function<void()>& serve,
                       const std::atomic<bool>& ending) {
  const auto start = MeetClock::now();
  ListeningSocket listener;
  RendezvousQuestion question{.group = own.group, .node = own.node};
  question.rank = own.rank;
  question.ranks = own.ranks;
  question.port = listener.port();
  if (!options.interface.empty()) {
    const std::string address = own_address(options.interface);
    ::inet_pton(AF_INET, address.c_str(), &question.address);
  }
  bool answered = false;
  double pause_s = kFirstPause_s;
  std::minstd_rand random(static_cast<unsigned>(own.rank) + 1);
  while (!ending) {
    const auto answer = ask_once(point, question, ending);
    if (answer && !answer->places.empty()) return members_of(*answer, std::move(listener));
    answered = answered || answer.has_value();
    if (!answer) serve();
    if (Seconds(MeetClock::now() - start).count() > options.most_wait_s) {
      const std::string where = dotted(point.address) + ":" + std::to_string(point.port);
      throw UserError(answered ? "not all " + std::to_string(own.ranks) + " ranks came to " + where
                               : "nobody answers at " + where);
    }
    const auto until = MeetClock::now() +
                       std::chrono::duration_cast<MeetClock::duration>(
                           Seconds(pause_s * std::uniform_real_distribution<>(0.5, 1.5)(random)));
    while (!ending && MeetClock::now() < until) {
      std::this_thread::sleep_for(std::min<MeetClock::duration>(
          kLookAround, std::max<MeetClock::duration>(until - MeetClock::now(), {})));
    }
    pause_s = std::min(pause_s * kPauseGrowth, kMostPause_s);
  }
  return {};
}

}  // namespace cclgym
