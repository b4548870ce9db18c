// Groups of ranks in one process, connected by TCP: changes of tables apply to the same calls.
#include "deploy/loop/loop_group.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

constexpr std::uint64_t kToken = 0x1234;

/// The ranks of a group, each with the tables that its calls used.
class Ranks {
 public:
  explicit Ranks(const std::vector<std::int32_t>& nodes, const LoopOptions& options = {}) {
    std::vector<ListeningSocket> listeners(nodes.size());
    std::vector<RankAddress> addresses;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      addresses.push_back({"127.0.0.1", listeners[rank].port(), nodes[rank]});
    }
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      groups_.push_back(std::make_unique<LoopGroup>(static_cast<std::int32_t>(rank), addresses,
                                                    kToken, std::move(listeners[rank]), "first",
                                                    options));
    }
    used.resize(nodes.size());
  }

  [[nodiscard]] LoopGroup& operator[](std::size_t rank) { return *groups_[rank]; }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  void lose(std::size_t rank) { groups_[rank].reset(); }

  /// Every rank makes `calls` calls, at most `apart` ahead of the slowest; `key_of` gives the
  /// class.
  template <class KeyOf>
  void play(std::uint64_t calls, std::uint64_t apart, const KeyOf& key_of) {
    std::vector<std::atomic<std::uint64_t>> made(size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (groups_[rank] == nullptr) made[rank] = calls;
    }
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (groups_[rank] == nullptr) continue;
      threads.emplace_back([&, rank] {
        Random random = Random::stream(rank, {});
        for (std::uint64_t call = 0; call < calls; ++call) {
          while (true) {
            std::uint64_t least = calls;
            for (const auto& one : made) least = std::min(least, one.load());
            if (call < least + apart) break;
            std::this_thread::yield();
          }
          const auto table = groups_[rank]->begin_call(key_of(rank, call));
          used[rank].push_back(table ? groups_[rank]->table(*table) : "none");
          if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          ++made[rank];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::vector<std::string>> used;

 private:
  std::vector<std::unique_ptr<LoopGroup>> groups_;
};

std::uint64_t same_key(std::size_t /*rank*/, std::uint64_t call) { return call % 7; }

// Proposes tables "1", "2", … as fast as they are decided until `until` is set.
std::thread proposer(Ranks& ranks, const std::atomic<bool>& until, std::uint64_t ahead) {
  return std::thread([&ranks, &until, ahead] {
    for (int table = 1; !until;) {
      if (ranks[0].propose(std::to_string(table), ahead)) ++table;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

template <class Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace

TEST_CASE("loop group: all ranks use the same table for the same call, while tables change") {
  const std::vector<std::int32_t> nodes = GENERATE(
      std::vector<std::int32_t>{0, 0}, std::vector<std::int32_t>{0, 1, 2, 3},
      std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9});
  Ranks ranks(nodes);
  std::atomic<bool> done = false;
  std::thread leader = proposer(ranks, done, 30);
  ranks.play(3000, 3, same_key);
  done = true;
  leader.join();
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) CHECK(ranks.used[rank] == ranks.used[0]);
  CHECK(ranks.used[0].front() == "first");
  CHECK(ranks[0].status().changes > 3);
  CHECK(ranks[0].status().off.empty());
}

TEST_CASE("loop group: a table applies from the proposed call on") {
  Ranks ranks({0, 1, 2});
  REQUIRE(ranks[0].propose("second", 100));
  ranks.play(200, 1, same_key);
  CHECK(eventually([&] { return ranks[0].settled(); }));
  for (const auto& used : ranks.used) {
    CHECK(std::ranges::count(used, "first") == 100);
    CHECK(std::ranges::count(used, "second") == 100);
    CHECK(std::ranges::is_sorted(used));
  }
}

TEST_CASE("loop group: ranks that make different calls never change tables, and say so") {
  Ranks ranks({0, 1});
  ranks.play(50, 2, [](std::size_t rank, std::uint64_t call) {
    return rank == 1 && call == 20 ? 99 : call;
  });
  REQUIRE(ranks[0].propose("second", 1));
  CHECK(eventually([&] { return ranks[0].settled(); }));
  CHECK(ranks[0].status().off == "rank 1: the ranks do not make the same calls");
  ranks.used.assign(2, {});
  ranks.play(50, 2, same_key);
  for (const auto& used : ranks.used) CHECK(std::ranges::count(used, "first") == 50);
  CHECK_FALSE(ranks[0].propose("third", 1).has_value());
}

TEST_CASE("loop group: a rank that is lost stops changes, and the others go on with their table") {
  Ranks ranks({0, 1, 2, 3}, {.drop_s = 0.1});
  ranks.play(20, 2, same_key);
  ranks.lose(2);
  std::atomic<bool> done = false;
  std::thread leader = proposer(ranks, done, 2);
  CHECK(eventually([&] {
    ranks.play(5, 2, same_key);
    return !ranks[0].status().off.empty();
  }));
  done = true;
  leader.join();
  CHECK(ranks[0].status().off == "rank 2 does not answer");
  CHECK(ranks[0].status().dropped >= 2);
  ranks.play(20, 2, same_key);
  for (const std::size_t rank : {0UL, 1UL, 3UL}) {
    CHECK(ranks.used[rank] == ranks.used[0]);
    CHECK(ranks.used[rank].back() == "first");
  }
}

TEST_CASE("loop group: ranks decide without a leader that is lost, and without a parent") {
  // Ranks 1 and 3 are below ranks 0 and 2 in the tree.
  Ranks ranks({0, 0, 1, 1, 2}, {.most_wait_s = 10, .overdue_s = 0.02});
  ranks.play(20, 2, same_key);
  const bool leader = GENERATE(true, false);
  REQUIRE(ranks[0].propose("second", 10));
  ranks.lose(leader ? 0 : 2);
  ranks.play(30, 2, same_key);
  std::vector<std::string> used = ranks.used[1];
  for (const std::size_t rank : {1UL, 3UL, 4UL}) {
    CHECK(ranks.used[rank] == used);
    CHECK(std::ranges::count(ranks.used[rank], "none") == 0);
    CHECK(ranks.used[rank].size() == 50);
  }
}

TEST_CASE("loop group: without a majority a call is not made, after the bound") {
  Ranks ranks({0, 1, 2}, {.most_wait_s = 0.3, .overdue_s = 0.02, .drop_s = 60});
  ranks.play(5, 1, same_key);
  // Rank 1 promises, but rank 2 does not, so that there is no verdict when the leader stops.
  ranks.lose(2);
  REQUIRE(ranks[0].propose("second", 3));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ranks.lose(0);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t call = 0; call < 3; ++call) CHECK(ranks[1].begin_call(call) == 0U);
  CHECK_FALSE(ranks[1].begin_call(3).has_value());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(ranks[1].status().off == "no verdict on a change of tables arrived in time");
  CHECK(took.count() >= 0.3);
  CHECK_FALSE(ranks[1].begin_call(4).has_value());
}

TEST_CASE("loop group: reports of all ranks reach the leader") {
  Ranks ranks({0, 0, 1, 1});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::uint64_t call = 0; call < 100; ++call) {
      ranks[rank].report({.call = call, .key = 7, .time_s = 0.5, .sent_bytes = rank});
    }
  }
  std::vector<CallReport> reports;
  CHECK(eventually([&] {
    ranks[0].take_reports(reports);
    return reports.size() == 400;
  }));
  std::vector<std::uint64_t> next(4, 0);
  for (const CallReport& report : reports) {
    CHECK(report.call == next[static_cast<std::size_t>(report.rank)]++);
    CHECK(report.sent_bytes == static_cast<std::uint64_t>(report.rank));
  }
}

TEST_CASE("loop group: strangers on the port are ignored") {
  std::vector<ListeningSocket> listeners(3);
  std::vector<RankAddress> addresses;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    addresses.push_back({"127.0.0.1", listeners[static_cast<std::size_t>(rank)].port(), rank});
  }
  LoopGroup leader(0, addresses, kToken, std::move(listeners[0]), "first", {.drop_s = 0.1});
  const LoopGroup other(1, addresses, kToken, std::move(listeners[1]), "first");
  // A rank of another group.
  LoopGroup stranger(2, addresses, kToken + 1, std::move(listeners[2]), "other");
  stranger.report({.call = 1, .key = 1});
  REQUIRE(leader.propose("second", 1));
  CHECK(eventually([&] { return leader.settled(); }));
  CHECK(leader.status().dropped == 1);
  std::vector<CallReport> reports;
  leader.take_reports(reports);
  CHECK(reports.empty());
}

TEST_CASE("loop group: calls are counted before the ranks know each other") {
  std::vector<ListeningSocket> listeners(3);
  std::vector<RankAddress> addresses;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    addresses.push_back({"127.0.0.1", listeners[static_cast<std::size_t>(rank)].port(), rank});
  }
  std::atomic<bool> may_meet = false;
  std::vector<std::unique_ptr<LoopGroup>> groups;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    groups.push_back(std::make_unique<LoopGroup>(
        rank, 3,
        [&, rank](const std::atomic<bool>& ending) {
          while (!may_meet && !ending) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return LoopMembers{.addresses = addresses,
                             .token = kToken,
                             .listener = std::move(listeners[static_cast<std::size_t>(rank)])};
        },
        "first"));
  }
  for (std::uint64_t call = 0; call < 3000; ++call) {
    for (const auto& group : groups) CHECK(group->begin_call(call % 5) == 0U);
  }
  CHECK_FALSE(groups[0]->propose("second", 1).has_value());
  CHECK_FALSE(groups[0]->status().connected);
  may_meet = true;
  CHECK(eventually([&] { return groups[0]->propose("second", 1).has_value(); }));
  CHECK(groups[0]->status().connected);
  CHECK(eventually([&] { return groups[0]->settled(); }));
  CHECK(groups[0]->status().committed == 1);
  for (std::uint64_t call = 3000; call < 3003; ++call) {
    for (const auto& group : groups) {
      const auto table = group->begin_call(call % 5);
      REQUIRE(table.has_value());
      CHECK(group->table(*table) == (call < 3001 ? "first" : "second"));
    }
  }
}

TEST_CASE("loop group: ranks that are not found, or not in time, leave changes off") {
  LoopGroup lonely(
      0, 2,
      [](const std::atomic<bool>&) -> LoopMembers { throw std::runtime_error("nobody came"); },
      "first");
  CHECK(eventually([&] { return !lonely.status().off.empty(); }));
  CHECK(lonely.status().off == "nobody came");
  CHECK_FALSE(lonely.propose("second", 1).has_value());
  for (std::uint64_t call = 0; call < 10; ++call) CHECK(lonely.begin_call(call) == 0U);
  const LoopGroup few(
      0, 2,
      [](const std::atomic<bool>&) {
        return LoopMembers{.addresses = {{"127.0.0.1", 1, 0}}};
      },
      "first");
  CHECK(eventually([&] { return few.status().off == "another number of ranks came"; }));
}

}  // namespace cclgym::test
