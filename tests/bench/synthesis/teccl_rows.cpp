// Rows of TE-CCL: Table 3, and AllGather on two and four NDv2 chassis.
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "core/index.hpp"
#include "synthesis/proofs/rup_checker.hpp"
#include "synthesis/teccl/epochs.hpp"
#include "synthesis/teccl/minimum_ticks.hpp"
#include "synthesis/teccl/published_topologies.hpp"
#include "synthesis/teccl/timed_encoding.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;

// NDv2 chassis with chunks of 1 GB, on epochs of the fastest link.
struct Ndv2 {
  TimedInstance timed{};
  Demand demand{};
};

Ndv2 ndv2_epochs(int chassis) {
  const Instance instance = teccl_ndv2(chassis).instance;
  const double epoch_s = epoch_length_s(instance, 1e9, EpochChoice::FastestLink);
  return {.timed = make_epoch_grid(instance, 1e9, epoch_s).timed,
          .demand = make_demand(CollectiveKind::AllGather, 8 * chassis, 1)};
}

// The search for symmetries is a part of the time.
MinimumTicks shortest(const TimedInstance& timed, const Demand& demand) {
  const std::vector<InstanceGroup> groups = semiregular_groups(timed.instance);
  return minimum_ticks(
      timed, demand,
      {.deadline = Deadline(60), .group = groups.empty() ? InstanceGroup{} : groups.front()});
}

bool is_right(const TimedInstance& timed, const Demand& demand, const MinimumTicks& found) {
  return found.schedule && check_schedule(timed, demand, *found.schedule).empty();
}

void ndv2_bar(int chassis, int epochs, double limit_s) {
  const Ndv2 ndv2 = ndv2_epochs(chassis);
  Bar bar{
      .name = fmt::format("NDv2 x{} AllGather, 1 GB chunks, epochs of the fastest link", chassis),
      .target = fmt::format("K = {}", epochs),
      .limit_s = limit_s,
      .peer = paper_peer("TE-CCL repository", fmt::format("ndv2x{}", chassis), "allgather",
                         "fast epochs")};
  const MinimumTicks found = measured(bar, [&] { return shortest(ndv2.timed, ndv2.demand); });
  const bool right = is_right(ndv2.timed, ndv2.demand, found);
  bar.value = right ? fmt::format("K = {}", found.schedule->ticks) : "none";
  bar.reached = right && found.schedule->ticks <= epochs && found.optimal();
  bar.proof = found.reason;
  print_bar(bar);
}

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void teccl_table3(bool quick) {
  const TimedInstance timed = make_timed_instance(teccl_dgx1(), 25e3);
  const std::vector<double> targets_us{2.9, 3.6, 4.7};
  const std::vector<double> limits_s{0.1, 0.1, 60};
  for (int chunks = 1; chunks <= 3; ++chunks) {
    const std::string name =
        fmt::format("DGX-1 AllGather, {} chunk{} of 25 KB", chunks, chunks == 1 ? "" : "s");
    if (quick && chunks == 3) {
      leave_out(name);
      continue;
    }
    const double target_us = targets_us[at(chunks - 1)];
    const Demand demand = make_demand(CollectiveKind::AllGather, 8, chunks);
    Bar bar{.name = name,
            .target = fmt::format("{}{} us", chunks == 3 ? "<= " : "", target_us),
            .limit_s = limits_s[at(chunks - 1)],
            .peer = paper_peer("TE-CCL Table 3", "dgx1", "allgather", std::to_string(chunks))};
    const MinimumTicks found = measured(bar, [&] { return shortest(timed, demand); });
    const bool right = is_right(timed, demand, found);
    const double time_us = right ? found.schedule->ticks * timed.tick_s * 1e6 : 0;
    bar.value = right ? fmt::format("{:.1f} us", time_us) : "none";
    bar.reached = right && time_us < target_us + 1e-6 && (chunks == 3 || found.optimal());
    bar.proof = found.optimal()
                    ? found.reason
                    : fmt::format("at least {} ticks: {}", found.lower_bound, found.reason);
    print_bar(bar);
  }
}

void ndv2_x2(bool quick) {
  ndv2_bar(2, 35, 15);
  const std::string name = "NDv2 x2: 34 epochs refuted by search";
  if (quick) return leave_out(name);
  const Ndv2 ndv2 = ndv2_epochs(2);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "cclgym-bench-ndv2.drat";
  Bar bar{.name = name, .target = "UNSAT with a DRAT proof", .limit_s = 15};
  const TimedResult result = measured(
      bar, [&] { return solve_ticks(ndv2.timed, ndv2.demand, 34, {.proof_path = path.string()}); });
  const std::string proof = file_bytes(path);
  const double begin_s = processor_seconds();
  const std::string problem = result.status == SatResult::Unsatisfiable
                                  ? check_rup(result.formula, proof)
                                  : "no refutation";
  const double check_s = processor_seconds() - begin_s;
  std::filesystem::remove(path);
  bar.value = problem.empty() ? "UNSAT, proof checked" : problem;
  bar.reached = problem.empty();
  bar.proof = fmt::format("DRAT of {:.1f} MB, checked by RUP in {:.1f} s",
                          static_cast<double>(proof.size()) / 1e6, check_s);
  print_bar(bar);
}

void ndv2_x4() { ndv2_bar(4, 99, 1); }

void teccl_table4(bool quick) {
  const auto bar_of = [quick](const std::string& name, const SwitchedInstance& fabric) {
    const std::string title =
        fmt::format("{}, {} GPUs, AllGather of 25 KB chunks", name, fabric.gpus);
    if (quick && fabric.gpus > 16) return leave_out(title);
    const TimedInstance timed = make_timed_instance(fabric.instance, 25e3);
    const Demand demand =
        make_demand(CollectiveKind::AllGather, fabric.instance.ranks, 1, 0, fabric.gpu_ranks());
    Bar bar{
        .name = title,
        .target = "a proven optimum",
        .peer = paper_peer("TE-CCL Table 4", name == "Internal 1-like" ? "internal1" : "internal2",
                           "allgather", std::to_string(fabric.gpus))};
    const MinimumTicks found = measured(bar, [&] {
      return minimum_ticks(
          timed, demand,
          {.deadline = Deadline(60), .group = largest_gpu_group(fabric), .prove = false});
    });
    const bool right = is_right(timed, demand, found);
    bar.value = right ? fmt::format("{:.2f} us, bound {:.2f} us",
                                    found.schedule->ticks * timed.tick_s * 1e6,
                                    found.lower_bound * timed.tick_s * 1e6)
                      : "none";
    bar.reached = right && found.optimal();
    bar.proof = found.reason;
    print_bar(bar);
  };
  bar_of("Internal 1-like", teccl_internal1(4));
  bar_of("Internal 1-like", teccl_internal1(16));
}

}  // namespace cclgym::bench
