// What a simulated collective costs in each engine: ring AllReduce of 1 MiB, alpha 0.7 us, links of
// 25 GB/s, one flow a step and peer, on one core. See docs/performance.md.
//
// Times are medians over rounds that visit all cases in turn, so that a slow spell of the machine
// hits all of them and ratios hold. Memory is that of a forked child above its start.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "bench/ring_graph.hpp"
#include "sim/engine.hpp"

namespace cclgym::bench {
namespace {

constexpr double kBytes = 1024.0 * 1024.0;
constexpr double kAlpha_s = 0.7e-6;
constexpr double kBandwidth_Bps = 25e9;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::shared_ptr<const TransferGraph> ring(std::int32_t ranks, bool folded) {
  return ring_allreduce_graph(ranks, kBytes, kAlpha_s, kBandwidth_Bps, folded);
}

double closed_form_s(std::int32_t ranks) {
  return 2.0 * (ranks - 1) * (kAlpha_s + kBytes / ranks / kBandwidth_Bps);
}

void check_makespan(double makespan_s, std::int32_t ranks) {
  if (std::abs(makespan_s / closed_form_s(ranks) - 1) > 1e-9) {
    fmt::print(stderr, "wrong time for {} ranks: {} s instead of {} s\n", ranks, makespan_s,
               closed_form_s(ranks));
    std::exit(1);
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// --- many collectives back to back, graph loaded once ---

struct ThroughputCase {
  std::string engine;
  std::int32_t ranks;
  bool folded;
  int runs;                       ///< collectives a round
  std::vector<double> seconds{};  ///< a collective, by round
};

/// A new engine each round: only one engine `simgrid` may be alive, and the load is not timed.
void run_round(ThroughputCase& item) {
  const auto engine = make_engine(item.engine);
  engine->load(ring(item.ranks, item.folded));
  check_makespan(engine->run().makespan_s, item.ranks);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < item.runs; ++i) {
    engine->run();
  }
  item.seconds.push_back(seconds_since(begin) / item.runs);
}

double flows_of(std::int32_t ranks) { return 2.0 * ranks * (ranks - 1); }

void print_throughput(const ThroughputCase& item) {
  const double seconds = median(item.seconds);
  const auto [least, most] = std::minmax_element(item.seconds.begin(), item.seconds.end());
  fmt::print(
      "{:8} {:5} ranks {:8}  {:10.0f} collectives/s  {:6.1f} ns a flow  (rounds {:.1f} .. "
      "{:.1f})\n",
      item.engine, item.ranks, item.folded ? "folded" : "unfolded", 1 / seconds,
      seconds / flows_of(item.ranks) * 1e9, *least / flows_of(item.ranks) * 1e9,
      *most / flows_of(item.ranks) * 1e9);
}

void throughput(int rounds) {
  const bool with_simgrid = engine_infos().front().name == "simgrid";
  std::vector<ThroughputCase> cases = {
      {"flow", 8, false, 4000},
      {"flow", 8, true, 4000},
      {"flow", 64, false, 60},
      {"flow", 64, true, 60},
  };
  if (with_simgrid) {
    cases.push_back({"simgrid", 8, false, 400});
    cases.push_back({"simgrid", 64, false, 6});
  }
  for (int round = 0; round < rounds; ++round) {
    for (ThroughputCase& item : cases) {
      run_round(item);
    }
  }
  for (const ThroughputCase& item : cases) {
    print_throughput(item);
  }
  if (with_simgrid) {
    for (std::size_t i = 0; i < 2; ++i) {
      const ThroughputCase& flow = cases[i * 2];
      const ThroughputCase& simgrid = cases[4 + i];
      fmt::print("flow / simgrid at {} ranks: {:.1f}x\n", flow.ranks,
                 median(simgrid.seconds) / median(flow.seconds));
    }
  }
}

// --- one large collective from nothing, in a process of its own ---

/// Resident memory of this process now, bytes.
double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Largest resident memory so far, bytes (VmHWM; getrusage would report the parent's after a fork).
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void large_ring(std::string_view engine_name, std::int32_t ranks, bool folded) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    reset_peak();
    const double base_bytes = resident_bytes();
    const auto begin = std::chrono::steady_clock::now();
    const auto graph = ring(ranks, folded);
    const double built_s = seconds_since(begin);
    const auto engine = make_engine(engine_name);
    engine->load(graph);
    const double loaded_s = seconds_since(begin);
    const double makespan_s = engine->run().makespan_s;
    const double done_s = seconds_since(begin);
    const double above_MB = (peak_bytes() - base_bytes) / 1e6;
    check_makespan(makespan_s, ranks);
    const auto again = std::chrono::steady_clock::now();
    engine->run();
    const double second_s = seconds_since(again);
    fmt::print(
        "{:8} {:5} ranks {:8}  first run {:7.4f} s (graph {:.4f}, load {:.4f}, run {:.4f}), "
        "second run {:7.4f} s = {:5.1f} ns a flow, {:7.2f} MB above base\n",
        engine_name, ranks, folded ? "folded" : "unfolded", done_s, built_s, loaded_s - built_s,
        done_s - loaded_s, second_s, second_s / flows_of(ranks) * 1e9, above_MB);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    fmt::print("{:8} {:5} ranks {:8}  failed (status {})\n", engine_name, ranks,
               folded ? "folded" : "unfolded", status);
  }
}

}  // namespace
}  // namespace cclgym::bench

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  try {
    using namespace cclgym::bench;
    large_ring("flow", 512, true);
    large_ring("flow", 512, false);
    large_ring("flow", 2048, true);
    if (!quick) {
      large_ring("flow", 2048, false);
    }
    throughput(quick ? 3 : 11);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
