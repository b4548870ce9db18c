// The controller with a group of ranks in one process: reports go in, tables come out at all ranks.
#include "deploy/loop/loop_controller.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "deploy/played_clock.hpp"
#include "support/catch.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {

TEST_CASE("loop controller: tables survive their text") {
  const std::vector<std::uint16_t> table{0, 1, 255, 256, 65535};
  CHECK(read_table(table_text(table), 5) == table);
  CHECK(read_table(table_text(table), 4).empty());
  CHECK(read_table("odd", 1).empty());
}

TEST_CASE("loop controller: ranks learn together which configuration is best") {
  constexpr std::size_t kRanks = 3;
  constexpr std::size_t kClasses = 2;
  const std::vector<std::vector<double>> prior_s{{1e-3, 1.1e-3, 1.2e-3}, {2e-3, 1.9e-3, 2.1e-3}};
  // The prior prefers 0 and 1; really, 2 and 0 are the best.
  const std::vector<std::vector<double>> real_s{{1.3e-3, 1.3e-3, 1.0e-3}, {1.5e-3, 1.9e-3, 2.2e-3}};
  const TableLearner learner(prior_s);
  std::vector<ListeningSocket> listeners(kRanks);
  std::vector<RankAddress> addresses;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    addresses.push_back({"127.0.0.1", listeners[rank].port(), static_cast<std::int32_t>(rank)});
  }
  // By this clock a call takes 10 ms, so that a change applies two calls after its proposal.
  PlayedClock clock;
  std::vector<std::unique_ptr<LoopGroup>> groups;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    groups.push_back(std::make_unique<LoopGroup>(
        static_cast<std::int32_t>(rank), addresses, 7, std::move(listeners[rank]),
        table_text(learner.table()),
        LoopOptions{.most_wait_s = 1e9, .overdue_s = 1e9, .drop_s = 1e9, .clock = clock.reader()}));
  }
  LoopController controller(*groups[0], kRanks, learner);
  Random random = Random::stream(1, {});
  std::vector<std::vector<std::uint16_t>> last(kRanks);
  for (std::uint64_t call = 0; call < 200; ++call) {
    const std::size_t group = call % kClasses;
    const double noise = std::exp(random.normal(0, 0.02));
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto number = groups[rank]->begin_call(group);
        REQUIRE(number.has_value());
        last[rank] = read_table(groups[rank]->table(*number), kClasses);
        // The slowest rank counts: the others report shorter times.
        groups[rank]->report(
            {.call = call,
             .key = group,
             .table = *number,
             .time_s = real_s[group][last[rank][group]] * noise / (rank == 1 ? 1.0 : 2.0)});
        groups[rank]->send_now();
      });
    }
    for (std::thread& rank : ranks) rank.join();
    CHECK(last[1] == last[0]);
    CHECK(last[2] == last[0]);
    clock.advance(0.01);
    REQUIRE(comes_true([&] {
      controller.step();
      return controller.learned() == call + 1 && groups[0]->settled();
    }));
  }
  CHECK(last[0] == std::vector<std::uint16_t>{2, 0});
  CHECK(controller.proposals() > 0);
  CHECK(controller.learner().alarms() == 0);
}

}  // namespace cclgym::test
