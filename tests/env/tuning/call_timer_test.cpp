// Checks that times of calls equal those of the simulator, with and without the cache.
#include "sim/fast/call_timer.hpp"

#include <algorithm>
#include <cmath>

#include "env/tuning/tuning_testing.hpp"
#include "support/sanitized.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Fabrics and noise of all kinds. Each case is timed with some random calls.
const char* const kSites[] = {
    "{fabric: dgx1, actions: offline, ",
    "{fabric: ndv4, actions: offline, ",
    "{fabric: {name: ndv4, servers: 2}, noise: cloud-ib, actions: stock-nccl, ",
    "{fabric: dgx1, noise: stragglers, actions: nccl-2.30, ",
    "{fabric: {name: frontier, servers: 2}, actions: stock-nccl, ",
    "{fabric: {name: ring, gpus: 4}, actions: offline, ",
    "{fabric: hgx-h100, actions: stock-nccl, ",
};

// Change of the simulator's own result if ranks start about a femtosecond late. In pipelines of
// many tiles that are chaotic (docs/architecture.md), rounding alone makes equal times differ.
double moved_by_next_to_nothing_s(Simulator& simulator, const Call& call, const Config& config,
                                  double time_s) {
  NoiseProfile late = simulator.noise();
  late.start_skew_s = 1e-16;
  simulator.set_noise(late);
  double moved_s = 0;
  for (std::uint64_t repetition = 1; repetition <= 4; ++repetition) {
    const double other_s = simulator.simulate(call, config, 0, repetition).time_s;
    moved_s = std::max(moved_s, std::abs(other_s - time_s));
  }
  return moved_s;
}

}  // namespace

TEST_CASE("exact times are the simulator's, to the bit", "[env][call-timer][thorough]") {
  for (const char* const text : kSites) {
    CAPTURE(text);
    const auto setup = setup_of(text + kAllCollectives + "}");
    CallTimer timer(setup->site, CallTimer::kDefaultEntries, CallTimer::Timing::Exact);
    TuningOracle oracle(setup->actions, timer);
    Random random(1);
    const int calls = thorough() ? 25 : 8;
    for (int i = 0; i < calls; ++i) {
      const Call call = random_call(random, setup->fabric.ranks, 22);
      const PlainConfig config =
          oracle.config(call, random_action(random, *setup->actions, call.collective));
      const auto condition = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(setup->site->conditions.size()) - 1));
      Simulator simulator(setup->site->fabrics[config.binding], setup->site->cost_model, "flow");
      simulator.set_noise(setup->site->conditions[condition]);
      const double simulated_s =
          simulator.simulate(call, full_config(AlgorithmLibrary::shipped(), config)).time_s;
      CHECK(timer.time(call, config, condition).time_s == simulated_s);
      CHECK(timer.time(call, config, condition).time_s == simulated_s);  // from the cache
    }
    CHECK(timer.hits() >= static_cast<std::uint64_t>(calls));
  }
}

TEST_CASE("symmetric times are the simulator's within 1e-9, except for chaotic pipelines",
          "[env][call-timer][thorough]") {
  long quotients = 0;
  long cells = 0;
  long chaotic = 0;
  for (const char* const text : kSites) {
    CAPTURE(text);
    const auto setup = setup_of(text + kAllCollectives + "}");
    CallTimer timer(setup->site, std::size_t{0}, CallTimer::Timing::Symmetric);
    TuningOracle oracle(setup->actions, timer);
    std::vector<std::unique_ptr<Simulator>> simulators;
    for (const auto& fabric : setup->site->fabrics) {
      simulators.push_back(std::make_unique<Simulator>(fabric, setup->site->cost_model, "flow"));
    }
    Random random(2);
    for (int i = 0; i < (thorough() ? 40 : kSanitized ? 10 : 15); ++i) {
      Call call = random_call(random, setup->fabric.ranks, 26);
      const std::vector<std::int32_t> action =
          random_action(random, *setup->actions, call.collective);
      for (int size = 0; size < 2; ++size) {  // the second size reuses the structures of the first
        const PlainConfig config = oracle.config(call, action);
        const auto condition = static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(setup->site->conditions.size()) - 1));
        Simulator& simulator = *simulators[config.binding];
        simulator.set_noise(setup->site->conditions[condition]);
        const Result result =
            simulator.simulate(call, full_config(AlgorithmLibrary::shipped(), config));
        const double time_s = timer.time(call, config, condition).time_s;
        CAPTURE(setup->actions->describe(action), to_string(call.collective), call.bytes, condition,
                result.periodic);
        ++cells;
        const double off_s = std::abs(time_s - result.time_s);
        if (off_s > 1e-9 * result.time_s) {
          ++chaotic;
          const double chaos_s = moved_by_next_to_nothing_s(
              simulator, call, full_config(AlgorithmLibrary::shipped(), config), result.time_s);
          CHECK(off_s <= std::max(result.tile_error_s, 5 * chaos_s));
          simulator.set_noise(setup->site->conditions[condition]);
        }
        call.bytes = fitting_bytes(call.collective, call.bytes / 3 + 1, setup->fabric.ranks);
      }
    }
    quotients += static_cast<long>(timer.quotients());
  }
  CHECK(quotients > cells / 2);
  CHECK((kSanitized || chaotic <= cells / 20));
}

TEST_CASE("interpolated times have a small error, and the same bits in any order",
          "[env][call-timer][thorough]") {
  double log_sum = 0;
  long cells = 0;
  long off = 0;
  std::uint64_t interpolations = 0;
  for (const char* const text : kSites) {
    CAPTURE(text);
    const auto setup = setup_of(text + kAllCollectives + "}");
    CallTimer timer(setup->site, std::size_t{0});
    CallTimer backwards(setup->site, std::size_t{0});
    CallTimer all_tiles(setup->site, std::size_t{0}, CallTimer::Timing::Symmetric);
    TuningOracle oracle(setup->actions, timer);
    Random random(5);
    struct Cell {
      Call call;
      PlainConfig config;
      std::size_t condition;
      double time_s;
    };
    std::vector<Cell> timed;
    while (timed.size() < (thorough() ? 60 : 15)) {
      // Sizes are large, because calls of few tiles are not interpolated.
      Call call = random_call(random, setup->fabric.ranks, 29);
      call.bytes =
          fitting_bytes(call.collective, call.bytes << random.integer(0, 2), setup->fabric.ranks);
      if (call.bytes >> 30U != 0) continue;
      const auto action = random_action(random, *setup->actions, call.collective);
      const auto condition = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(setup->site->conditions.size()) - 1));
      const PlainConfig config = oracle.config(call, action);
      const double time_s = timer.time(call, config, condition).time_s;
      const double expected_s = all_tiles.time(call, config, condition).time_s;
      CAPTURE(setup->actions->describe(action), to_string(call.collective), call.bytes, condition);
      // Chaotic pipelines (docs/architecture.md) have no single pace.
      CHECK(time_s == Approx(expected_s).epsilon(0.1));
      off += std::abs(time_s / expected_s - 1) > 0.03 ? 1 : 0;
      log_sum += std::abs(std::log(time_s / expected_s));
      ++cells;
      timed.push_back({call, config, condition, time_s});
    }
    for (std::size_t i = timed.size(); i-- > 0;) {
      const Cell& cell = timed[i];
      CHECK(backwards.time(cell.call, cell.config, cell.condition).time_s == cell.time_s);
    }
    interpolations += timer.interpolations();
    CHECK(all_tiles.interpolations() == 0);
  }
  CHECK(interpolations > (thorough() ? 30 : 3));
  CHECK((kSanitized || off <= cells / 100));
  CHECK(log_sum / static_cast<double>(cells) < 0.001);
}

TEST_CASE("times with and without a cache have the same bits, whatever was timed before",
          "[env][call-timer]") {
  const auto setup = setup_of("{fabric: ndv4, actions: offline, " + kAllCollectives + "}");
  CallTimer without(setup->site, std::size_t{0});
  CallTimer tiny(setup->site, std::size_t{16});  // nearly every time is evicted
  CallTimer backwards(setup->site);
  TuningOracle oracle(setup->actions, without);
  Random random(3);
  std::vector<std::pair<Call, PlainConfig>> cells;
  for (int i = 0; i < 150; ++i) {
    const Call call = random_call(random, 8, 20);
    cells.emplace_back(
        call, oracle.config(call, random_action(random, *setup->actions, call.collective)));
  }
  std::vector<TimedCall> times;
  for (const auto& [call, config] : cells) times.push_back(without.time(call, config));
  for (std::size_t i = cells.size(); i-- > 0;) {
    CHECK(backwards.time(cells[i].first, cells[i].second) == times[i]);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CHECK(tiny.time(cells[i].first, cells[i].second) == times[i]);
    CHECK(without.time(cells[i].first, cells[i].second) == times[i]);
  }
}

TEST_CASE("random noise has the requested number of moments, each exact", "[env][call-timer]") {
  const auto setup = setup_of(
      "{fabric: {name: ndv4, servers: 2}, actions: stock-nccl, noise: {name: moments, regimes: "
      "[{noise: cloud-ib, moments: 4}]}, workload: {name: sweep, collectives: alltoall, sizes: "
      "[4MiB, 8MiB]}}");
  CallTimer timer(setup->site);
  const Call call{.collective = CollectiveKind::AllToAll, .bytes = 4 << 20};
  const PlainConfig config = setup->actions->reference(call);
  Simulator simulator(setup->site->fabrics.front(), setup->site->cost_model, "flow");
  simulator.set_noise(setup->site->conditions[1]);
  std::vector<double> seen;
  for (std::uint16_t moment = 0; moment < 4; ++moment) {
    seen.push_back(timer.time(call, config, 1, moment).time_s);
    CHECK(seen.back() ==
          simulator.simulate(call, full_config(AlgorithmLibrary::shipped(), config), 0, moment)
              .time_s);
    CHECK(timer.time(call, config, 1, moment).time_s == seen.back());
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a bounded cache evicts only the least recently used entry", "[env][call-timer]") {
  struct Identity {
    std::uint64_t operator()(std::uint64_t /*key*/) const { return 0; }  // all keys are in one set
  };
  BoundedCache<std::uint64_t, int, Identity> cache(8);
  REQUIRE(cache.capacity() == 8);
  int value = 0;
  for (std::uint64_t key = 1; key <= 8; ++key) cache.insert(key, static_cast<int>(key));
  CHECK(cache.find(1, value));  // so that key 2 is the oldest
  cache.insert(9, 9);
  CHECK_FALSE(cache.find(2, value));
  for (const std::uint64_t key : {1U, 3U, 4U, 5U, 6U, 7U, 8U, 9U}) {
    CHECK(cache.find(key, value));
    CHECK(value == static_cast<int>(key));
  }
  cache.insert(9, 90);
  CHECK(cache.find(9, value));
  CHECK(value == 90);
  BoundedCache<std::uint64_t, int, Identity> none(0);
  none.insert(1, 1);
  CHECK_FALSE(none.find(1, value));
}

TEST_CASE("timers that take turns share one timer of their pool, and times keep their bits",
          "[env][call-timer]") {
  const auto setup =
      setup_of(std::string("{fabric: ndv4, actions: offline, ") + kAllCollectives + "}");
  const auto none = std::make_shared<TimeCache>(0);
  const auto pool = std::make_shared<CallTimerPool>(setup->site, none);
  CallTimer one(setup->site, none, pool);
  CallTimer two(setup->site, none, pool);
  CallTimer alone(setup->site, none);
  TuningOracle oracle(setup->actions, alone);
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    const Call call = random_call(random, setup->fabric.ranks, 26);
    const PlainConfig config =
        oracle.config(call, random_action(random, *setup->actions, call.collective));
    CHECK((i % 2 == 0 ? one : two).time(call, config) == alone.time(call, config));
  }
  CHECK(pool->made() == 1);
  CHECK(one.simulations() + two.simulations() == alone.simulations());
  CHECK(one.interpolations() + two.interpolations() == alone.interpolations());
  CHECK(one.quotients() + two.quotients() == alone.quotients());
  // Timers that are borrowed at the same time are different ones.
  const auto first = pool->take();
  auto second = pool->take();
  CHECK(first != second);
  CHECK(pool->made() == 2);
  pool->give_back(std::move(second));
  const Call call{.collective = CollectiveKind::AllReduce, .bytes = 1 << 20};
  (void)two.time(call,
                 oracle.config(call, random_action(random, *setup->actions, call.collective)));
  CHECK(pool->made() == 2);
}
