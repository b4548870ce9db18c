// Groups of ranks in one process, connected by TCP: changes of tables apply to the same calls.
#include "deploy/loop/loop_group.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "deploy/nccl_plugin/malloc_counter.hpp"
#include "deploy/played_clock.hpp"
#include "support/catch.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {

namespace {

constexpr std::uint64_t kToken = 0x1234;
constexpr double kNever_s = 1e9;

/// Limits for ranks of which none is lost, however slow the machine is.
LoopOptions patient() {
  return {.most_wait_s = kNever_s, .overdue_s = kNever_s, .drop_s = kNever_s};
}

/// The ranks of a group, each with the tables that its calls used.
class Ranks {
 public:
  explicit Ranks(const std::vector<std::int32_t>& nodes, const LoopOptions& options = patient()) {
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
    play_to(calls, apart, key_of, [] { return false; });
  }
  /// The same with as many calls as are made until `enough`, which the first rank asks after each
  /// of its calls.
  template <class KeyOf, class Enough>
  void play_until(const Enough& enough, std::uint64_t apart, const KeyOf& key_of) {
    play_to(kNoEnd, apart, key_of, enough);
  }

  std::vector<std::vector<std::string>> used;

 private:
  static constexpr std::uint64_t kNoEnd = ~std::uint64_t{0} / 2;

  template <class KeyOf, class Enough>
  void play_to(std::uint64_t end, std::uint64_t apart, const KeyOf& key_of, const Enough& enough) {
    std::mutex mutex;  // guards `made` and `end`
    std::condition_variable changed;
    std::vector<std::uint64_t> made(size(), 0);
    std::vector<std::thread> threads;
    std::size_t first = size();
    for (std::size_t rank = size(); rank-- > 0;) {
      if (groups_[rank] == nullptr) {
        made[rank] = kNoEnd;
      } else {
        first = rank;
      }
    }
    for (std::size_t rank = first; rank < size(); ++rank) {
      if (groups_[rank] == nullptr) continue;
      threads.emplace_back([&, rank] {
        for (std::uint64_t call = 0;; ++call) {
          {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] {
              return call >= end || call < *std::ranges::min_element(made) + apart;
            });
            if (call >= end) return;
          }
          const auto table = groups_[rank]->begin_call(key_of(rank, call));
          used[rank].push_back(table ? groups_[rank]->table(*table) : "none");
          const std::lock_guard lock(mutex);
          ++made[rank];
          // No rank has begun a call as far ahead as that.
          if (rank == first && end == kNoEnd && enough()) end = made[rank] + apart;
          changed.notify_all();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

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

std::unique_ptr<LoopGroup> single_rank() {
  ListeningSocket listener;
  std::vector<RankAddress> addresses{{"127.0.0.1", listener.port(), 0}};
  return std::make_unique<LoopGroup>(0, std::move(addresses), 1, std::move(listener), "first");
}

}  // namespace

TEST_CASE("loop group: all ranks use the same table for the same call, while tables change") {
  const std::vector<std::int32_t> nodes = GENERATE(
      std::vector<std::int32_t>{0, 0}, std::vector<std::int32_t>{0, 1, 2, 3},
      std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9});
  Ranks ranks(nodes);
  std::atomic<bool> done = false;
  std::thread leader = proposer(ranks, done, 30);
  ranks.play_until(
      [&] {
        const LoopStatus status = ranks[0].status();
        return status.calls >= 1000 && status.changes > 3;
      },
      3, same_key);
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
  // Otherwise a rank could reach call 100 before it hears of the change.
  REQUIRE(comes_true([&] { return ranks[0].settled(); }));
  ranks.play(200, 1, same_key);
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
  CHECK(comes_true([&] { return ranks[0].settled(); }));
  CHECK(ranks[0].status().off == "rank 1: the ranks do not make the same calls");
  ranks.used.assign(2, {});
  ranks.play(50, 2, same_key);
  for (const auto& used : ranks.used) CHECK(std::ranges::count(used, "first") == 50);
  CHECK_FALSE(ranks[0].propose("third", 1).has_value());
}

TEST_CASE("loop group: a rank that is lost stops changes, and the others go on with their table") {
  PlayedClock clock;
  LoopOptions options = patient();
  options.drop_s = 0.1;
  options.overdue_s = 0.05;
  options.clock = clock.reader();
  Ranks ranks({0, 1, 2, 3}, options);
  ranks.play(20, 2, same_key);
  ranks.lose(2);
  for (int proposal = 1; proposal <= 3; ++proposal) {
    CHECK(ranks[0].status().off.empty());
    REQUIRE(ranks[0].propose(std::to_string(proposal), 2));
    REQUIRE(comes_true([&] { return ranks[0].status().answered == 3; }));
    std::thread calls([&] { ranks.play(5, 2, same_key); });
    clock.advance(0.2);
    calls.join();
    REQUIRE(comes_true([&] { return ranks[0].settled(); }));
  }
  CHECK(ranks[0].status().off == "rank 2 does not answer");
  CHECK(ranks[0].status().dropped == 3);
  ranks.play(20, 2, same_key);
  for (const std::size_t rank : {0UL, 1UL, 3UL}) {
    CHECK(ranks.used[rank] == ranks.used[0]);
    CHECK(ranks.used[rank].back() == "first");
  }
}

TEST_CASE("loop group: ranks decide without a leader that is lost, and without a parent") {
  // Ranks 1 and 3 are below ranks 0 and 2 in the tree.
  Ranks ranks({0, 0, 1, 1, 2}, {.most_wait_s = kNever_s, .overdue_s = 0.02});
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
  PlayedClock clock;
  Ranks ranks({0, 1, 2},
              {.most_wait_s = 0.3, .overdue_s = 0.02, .drop_s = kNever_s, .clock = clock.reader()});
  ranks.play(5, 1, same_key);
  // Rank 1 promises, but rank 2 does not, so that there is no verdict when the leader stops.
  ranks.lose(2);
  REQUIRE(ranks[0].propose("second", 3));
  REQUIRE(comes_true([&] { return ranks[0].status().answered == 2; }));
  ranks.lose(0);
  clock.advance_at_readings(0.05);
  const double start_s = clock.now_s();
  for (std::uint64_t call = 0; call < 3; ++call) CHECK(ranks[1].begin_call(call) == 0U);
  CHECK_FALSE(ranks[1].begin_call(3).has_value());
  CHECK(ranks[1].status().off == "no verdict on a change of tables arrived in time");
  CHECK(clock.now_s() - start_s > 0.3);
  CHECK_FALSE(ranks[1].begin_call(4).has_value());
}

TEST_CASE("loop group: a call and its report allocate nothing") {
  const auto group = single_rank();
  const long before = malloc_calls_of_this_thread();
  for (std::uint64_t call = 0; call < 1000; ++call) {
    (void)group->begin_call(call);
    group->report({.call = call, .key = call});
  }
  CHECK(malloc_calls_of_this_thread() == before);
  CHECK(group->status().calls == 1000);
}

TEST_CASE("loop group: reports of all ranks reach the leader") {
  Ranks ranks({0, 0, 1, 1});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::uint64_t call = 0; call < 100; ++call) {
      ranks[rank].report({.call = call, .key = 7, .time_s = 0.5, .sent_bytes = rank});
    }
  }
  std::vector<CallReport> reports;
  CHECK(comes_true([&] {
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
  CHECK(comes_true([&] { return leader.settled(); }));
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
          (void)comes_true([&] { return may_meet || ending; });
          return LoopMembers{.addresses = addresses,
                             .token = kToken,
                             .listener = std::move(listeners[static_cast<std::size_t>(rank)])};
        },
        "first", patient()));
  }
  for (std::uint64_t call = 0; call < 3000; ++call) {
    for (const auto& group : groups) CHECK(group->begin_call(call % 5) == 0U);
  }
  CHECK_FALSE(groups[0]->propose("second", 1).has_value());
  CHECK_FALSE(groups[0]->status().connected);
  may_meet = true;
  CHECK(comes_true([&] { return groups[0]->propose("second", 1).has_value(); }));
  CHECK(groups[0]->status().connected);
  CHECK(comes_true([&] { return groups[0]->settled(); }));
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
  CHECK(comes_true([&] { return !lonely.status().off.empty(); }));
  CHECK(lonely.status().off == "nobody came");
  CHECK_FALSE(lonely.propose("second", 1).has_value());
  for (std::uint64_t call = 0; call < 10; ++call) CHECK(lonely.begin_call(call) == 0U);
  const LoopGroup few(
      0, 2,
      [](const std::atomic<bool>&) {
        return LoopMembers{.addresses = {{"127.0.0.1", 1, 0}}};
      },
      "first");
  CHECK(comes_true([&] { return few.status().off == "another number of ranks came"; }));
}

}  // namespace cclgym::test
