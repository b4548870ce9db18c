// Ranks that know only a common address and port find each other.
#include "deploy/loop/rendezvous.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/random.hpp"
#include "core/tasks/wire.hpp"
#include "deploy/loop/rendezvous_book.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/free_port.hpp"
#include "support/thrown.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {

namespace {

constexpr double kNoLimit_s = 1e9;

RendezvousPoint free_point() { return {.address = ::htonl(INADDR_LOOPBACK), .port = free_port()}; }

/// A process: it can serve at one point, like NCCL's plugin.
class Process {
 public:
  explicit Process(const RendezvousPoint& point) : point_(point) {}
  void serve() {
    const std::lock_guard lock(mutex_);
    if (!server_) server_ = RendezvousServer::serve(point_);
  }
  [[nodiscard]] bool serves() {
    const std::lock_guard lock(mutex_);
    return server_ != nullptr;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    server_.reset();
  }
  [[nodiscard]] std::uint64_t questions() const { return server_->questions(); }
  [[nodiscard]] std::uint64_t strangers() const { return server_->strangers(); }

 private:
  RendezvousPoint point_;
  std::mutex mutex_;
  std::unique_ptr<RendezvousServer> server_;
};

struct Found {
  std::vector<RankAddress> addresses{};
  std::uint64_t token = 0;
  std::uint16_t own_port = 0;
  std::string error{};
};

Found meet(Process& process, const RendezvousPoint& point, const RendezvousRank& own,
           double most_wait_s = kNoLimit_s) {
  const std::atomic<bool> ending = false;
  Found found;
  try {
    LoopMembers members = meet_ranks(
        point, own, {.most_wait_s = most_wait_s}, [&] { process.serve(); }, ending);
    found = {.addresses = members.addresses,
             .token = members.token,
             .own_port = members.listener.port()};
  } catch (const std::exception& error) {
    found.error = error.what();
  }
  return found;
}

// Sends bytes, as a stranger, and returns the bytes that come back until the connection ends.
std::string send_bytes(const RendezvousPoint& point, const std::string& bytes) {
  const OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = point.address;
  address.sin_port = ::htons(point.port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  (void)send_all(socket.get(), bytes);
  ::shutdown(socket.get(), SHUT_WR);
  std::string answer;
  char part[4096];
  for (ssize_t got = 0; (got = ::recv(socket.get(), part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  return answer;
}

std::string bytes_of(const RendezvousQuestion& question) {
  std::string bytes;
  put(bytes, question);
  return bytes;
}

}  // namespace

TEST_CASE("rendezvous: the ranks of several groups meet, whoever serves and comes first") {
  const RendezvousPoint point = free_point();
  constexpr std::int32_t kRanks = 5;
  constexpr std::uint64_t kGroups = 3;
  std::vector<std::unique_ptr<Process>> processes;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    processes.push_back(std::make_unique<Process>(point));
  }
  std::vector<Found> found(kRanks * kGroups);
  std::vector<std::thread> threads;
  for (std::size_t place = 0; place < found.size(); ++place) {
    // Ranks come in an order that mixes groups.
    const std::size_t i = place * 7 % found.size();
    threads.emplace_back([&, i] {
      const std::size_t rank = i % kRanks;
      found[i] = meet(*processes[rank], point,
                      {.group = i / kRanks,
                       .rank = static_cast<std::int32_t>(rank),
                       .ranks = kRanks,
                       .node = 100 + rank / 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  int serving = 0;
  for (const auto& process : processes) serving += process->serves() ? 1 : 0;
  CHECK(serving == 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found[i].error);
    const Found& first = found[i / kRanks * kRanks];
    CHECK(found[i].addresses == first.addresses);
    CHECK(found[i].token == first.token);
    REQUIRE(found[i].addresses.size() == kRanks);
    const RankAddress& own = found[i].addresses[i % kRanks];
    CHECK(own ==
          RankAddress{"127.0.0.1", found[i].own_port, static_cast<std::int32_t>(i % kRanks / 2)});
  }
  CHECK(found[0].token != found[kRanks].token);
}

TEST_CASE("rendezvous: ranks that never come, and a place where nobody serves") {
  const RendezvousPoint point = free_point();
  Process process(point);
  const std::string where = "127.0.0.1:" + std::to_string(point.port);
  process.serve();
  // Rank 1 gives up after its first question, and asks again if the server was slow to answer it.
  std::string error;
  CHECK(comes_true([&] {
    error = meet(process, point, {.group = 1, .rank = 1, .ranks = 3}, 0).error;
    return error != "nobody answers at " + where;
  }));
  CHECK(error == "not all 3 ranks came to " + where);
  process.stop();
  const std::atomic<bool> ending = false;
  CHECK(thrown([&] {
          (void)meet_ranks(
              point, {.group = 1, .rank = 1, .ranks = 3}, {.most_wait_s = 0}, [] {}, ending);
        }) == "nobody answers at " + where);
  // An interface that does not exist.
  CHECK(contains(thrown([&] {
                   (void)meet_ranks(
                       point, {.group = 1, .rank = 0, .ranks = 2}, {.interface = "no-such"}, [] {},
                       ending);
                 }),
                 "no network interface 'no-such'"));
}

TEST_CASE("rendezvous: waiting ends when the group is no longer wanted") {
  const RendezvousPoint point = free_point();
  Process process(point);
  std::atomic<bool> ending = false;
  process.serve();
  std::thread later([&] {
    (void)comes_true([&] { return process.questions() > 1; });
    ending = true;
  });
  const LoopMembers members = meet_ranks(
      point, {.group = 1, .rank = 0, .ranks = 2}, {.most_wait_s = kNoLimit_s},
      [&] { process.serve(); }, ending);
  later.join();
  CHECK(members.addresses.empty());
}

TEST_CASE("rendezvous: a server that ends is replaced by another process of its node") {
  const RendezvousPoint point = free_point();
  Process first(point);
  Process second(point);
  first.serve();
  Found early;
  std::thread waits(
      [&] { early = meet(second, point, {.group = 9, .rank = 0, .ranks = 2, .node = 1}); });
  CHECK(comes_true([&] { return first.questions() > 0; }));
  first.stop();
  const Found late = meet(second, point, {.group = 9, .rank = 1, .ranks = 2, .node = 2});
  waits.join();
  CHECK(second.serves());
  CHECK(early.error.empty());
  CHECK(early.addresses.size() == 2);
  CHECK(early.addresses == late.addresses);
}

TEST_CASE("rendezvous: strangers and nonsense bytes get no answer, and do not disturb ranks") {
  const RendezvousPoint point = free_point();
  Process process(point);
  process.serve();
  Random random = Random::stream(5, {});
  const RendezvousQuestion good{
      .group = 3, .node = 1, .rank = 0, .ranks = 2, .address = 0x0100007F, .port = 5};
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t most = trial % 20 == 0 ? 3'000'000 : 200;
    std::string bytes(static_cast<std::size_t>(random.integer(0, most)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.integer(0, 255));
    CHECK(send_bytes(point, bytes).empty());
  }
  const auto with = [&](const auto& change) {
    RendezvousQuestion question = good;
    change(question);
    return bytes_of(question);
  };
  for (const std::string& bytes :
       {with([](auto& q) { q.mark ^= 1; }), with([](auto& q) { q.rank = 2; }),
        with([](auto& q) { q.rank = -1; }), with([](auto& q) { q.ranks = 0; }),
        with([](auto& q) { q.ranks = RendezvousServer::kMostRanks + 1; }),
        with([](auto& q) { q.port = 0; }), with([](auto& q) { q.port = 65536; }),
        with([](auto& q) { q.address = 0; }), with([](auto&) {}) + "x"}) {
    CHECK(send_bytes(point, bytes).empty());
  }
  CHECK(process.strangers() >= 9);
  // Connections that say nothing hold a place each, until their time is over.
  std::vector<OwnedDescriptor> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = point.address;
    address.sin_port = ::htons(point.port);
    REQUIRE(::connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) == 0);
  }
  Found other;
  std::thread thread(
      [&] { other = meet(process, point, {.group = 3, .rank = 1, .ranks = 2, .node = 1}); });
  const Found own = meet(process, point, {.group = 3, .rank = 0, .ranks = 2, .node = 1});
  thread.join();
  CHECK(own.error.empty());
  CHECK(own.addresses == other.addresses);
}

TEST_CASE("rendezvous: a book forgets a group that is over, and the oldest of too many") {
  RendezvousBook book;
  const auto now = RendezvousBook::Clock::now();
  const auto ask = [&](std::uint64_t group, std::int32_t rank, std::uint32_t port,
                       std::int32_t ranks = 2) {
    const RendezvousQuestion question{
        .group = group, .node = 1, .rank = rank, .ranks = ranks, .address = 1, .port = port};
    bool broken = false;
    const auto answer = read_answer(book.answer(bytes_of(question), now), ranks, broken);
    REQUIRE_FALSE(broken);
    return answer.value();
  };
  CHECK(ask(1, 0, 10).places.empty());
  CHECK(ask(1, 0, 11).places.empty());  // started again
  const RendezvousAnswer all = ask(1, 1, 20);
  REQUIRE(all.places.size() == 2);
  CHECK(all.places[0].port == 11);
  CHECK(ask(1, 0, 11).token == all.token);
  // Rank 0 starts again: the group that was complete is over.
  CHECK(ask(1, 0, 12).places.empty());
  CHECK(ask(1, 1, 20).token != all.token);
  CHECK(ask(1, 1, 20, 3).places.empty());
  for (std::uint64_t group = 100; group < 100 + 2 * RendezvousServer::kMostGroups; ++group) {
    (void)ask(group, 0, 1);
  }
  CHECK(book.groups() == RendezvousServer::kMostGroups);
  book.forget_old(now + std::chrono::minutes(6));
  CHECK(book.groups() == 0);
}

TEST_CASE("rendezvous: damaged answers are refused or read, never more") {
  Random random = Random::stream(6, {});
  RendezvousBook book;
  std::string bytes;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    bytes = book.answer(bytes_of({.group = 1,
                                  .node = 1,
                                  .rank = rank,
                                  .ranks = 4,
                                  .address = 7,
                                  .port = 1 + static_cast<std::uint32_t>(rank)}),
                        RendezvousBook::Clock::now());
  }
  bool broken = false;
  REQUIRE(read_answer(bytes, 4, broken).value().places.size() == 4);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(read_answer(bytes.substr(0, size), 4, broken).has_value());
  }
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string damaged = bytes;
    const auto at =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(random.integer(1, 255)));
    const auto answer = read_answer(damaged, 4, broken);
    if (!answer) continue;
    CHECK((answer->places.empty() || answer->places.size() == 4));
    for (const RendezvousPlace& place : answer->places) {
      CHECK((place.address != 0 && place.port >= 1 && place.port <= 65535));
    }
  }
}

TEST_CASE("rendezvous: addresses") {
  const RendezvousPoint point = parse_rendezvous("10.0.0.1:4321", "CCLGYM_LOOP");
  CHECK(point.address == ::htonl(0x0A000001));
  CHECK(point.port == 4321);
  for (const char* text : {"", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", ":5",
                           "10.0.0.1:5x", "node:5", "0.0.0.0:5", "10.0.0.1:-5"}) {
    CAPTURE(text);
    CHECK(thrown([&] { (void)parse_rendezvous(text, "CCLGYM_LOOP"); }) ==
          "CCLGYM_LOOP: '" + std::string(text) +
              "'; expected the IPv4 address of a node and a port, such as 10.0.0.1:4321");
  }
  CHECK(this_node() == this_node());
}

}  // namespace cclgym::test
