// Error of the times that CollectiveTuning-v0 interpolates from a few dozen tiles, relative to the
// times of all tiles. See docs/collective-tuning.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "env/tuning/collective_tuning.hpp"

namespace cclgym::bench {
namespace {

struct Case {
  std::string fabric;
  std::string actions;
  std::string noise;
};

// Compares interpolated and full times for random legal actions, sizes and conditions.
void compare(const Case& one) {
  constexpr std::size_t kCalls = 250;
  const auto setup = read_tuning_setup(parse_yaml(
      fmt::format("{{fabric: {}, actions: {}, noise: {}, cache: 0, workload: {{name: curriculum, "
                  "collectives: [allreduce, allgather, reducescatter, alltoall]}}}}",
                  one.fabric, one.actions, one.noise),
      "bench"));
  CallTimer timer(setup->site, std::size_t{0});
  CallTimer all_tiles(setup->site, std::size_t{0}, CallTimer::Timing::Symmetric);
  TuningOracle oracle(setup->actions, timer);
  const std::size_t n = setup->actions->knobs().size();
  Random random(1);
  const auto workload =
      read_workload(setup->workload, workload_site(*setup->site->fabrics.front()));
  std::vector<double> off;  // |ln(time / expected)|
  double sum = 0;
  long drawn = 0;
  for (; off.size() < kCalls; ++drawn) {
    const Call call = workload->next(random).call;
    const auto all = setup->actions->legal_actions(call.collective);
    const auto row =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(all.size() / n) - 1));
    const PlainConfig config = oracle.config(call, all.subspan(row * n, n));
    const auto condition = static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(setup->site->conditions.size()) - 1));
    const std::uint64_t before = timer.interpolations();
    const double time_s = timer.time(call, config, condition).time_s;
    if (timer.interpolations() == before) continue;
    off.push_back(std::abs(std::log(time_s / all_tiles.time(call, config, condition).time_s)));
    sum += off.back();
  }
  std::sort(off.begin(), off.end());
  const auto percent = [](double logarithm) { return 100 * std::expm1(logarithm); };
  fmt::print(
      "{:<26} {:<10} noise {:<10} {} of {} calls: off by {:.3f} % (geometric mean), {:.2f} % "
      "(99 of 100), {:.2f} % (all)\n",
      one.fabric, one.actions, one.noise, kCalls, drawn, percent(sum / static_cast<double>(kCalls)),
      percent(off[kCalls * 99 / 100]), percent(off.back()));
  std::fflush(stdout);
}

}  // namespace
}  // namespace cclgym::bench

int main() {
  using cclgym::bench::Case;
  for (const Case& one : {Case{"dgx1", "stock-nccl", "none"}, Case{"dgx1", "offline", "none"},
                          Case{"dgx1", "offline", "stragglers"}, Case{"ndv4", "offline", "none"},
                          Case{"{name: ndv4, servers: 2}", "stock-nccl", "cloud-ib"},
                          Case{"hgx-h100", "stock-nccl", "none"}}) {
    cclgym::bench::compare(one);
  }
  return 0;
}
