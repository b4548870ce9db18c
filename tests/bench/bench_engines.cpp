// Cost of a simulated collective in each engine: ring AllReduce of 1 MiB, alpha 0.7 us, links of 25
// GB/s, one flow per step and peer, on one core. See docs/performance.md.
//
// Times are medians of processor times over rounds that visit all cases in turn, so that a slow
// period of the computer affects all of them equally. Memory is the growth of a forked child from
// its start.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "bench/ring_graph.hpp"
#include "core/statistics.hpp"
#include "sim/engine/engine.hpp"

namespace cclgym::bench {
namespace {

constexpr double kBytes = 1024.0 * 1024.0;
constexpr double kAlpha_s = 0.7e-6;
constexpr double kBandwidth_Bps = 25e9;

/// Processor time of this thread. Nothing here waits, so it equals wall-clock time on an idle core
/// and is less disturbed by other programs.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_since(double begin_s) { return processor_seconds() - begin_s; }

std::shared_ptr<const TransferGraph> ring(std::int32_t ranks, bool folded) {
  return ring_allreduce_graph(ranks, kBytes, kAlpha_s, kBandwidth_Bps, folded);
}

double closed_form_s(std::int32_t ranks) {
  return 2.0 * (ranks - 1) * (kAlpha_s + kBytes / ranks / kBandwidth_Bps);
}

void check_makespan(double makespan_s, double expected_s) {
  if (std::abs(makespan_s / expected_s - 1) > 1e-9) {
    fmt::print(stderr, "wrong time: {} s instead of {} s\n", makespan_s, expected_s);
    std::exit(1);
  }
}

// --- many collectives back to back, graph loaded once ---

struct ThroughputCase {
  std::string engine;
  std::string what;
  std::shared_ptr<const TransferGraph> graph;
  double expected_s;              ///< closed form; 0 if there is none
  int runs;                       ///< collectives per round
  std::vector<double> seconds{};  ///< per collective, by round
};

/// A new engine per round, as only one engine `simgrid` may exist at a time. Loading is not timed.
void run_round(ThroughputCase& item) {
  const auto engine = make_engine(item.engine);
  engine->load(item.graph);
  const double makespan_s = engine->run().makespan_s;
  check_makespan(makespan_s, item.expected_s > 0 ? item.expected_s : makespan_s);
  const auto begin = processor_seconds();
  for (int i = 0; i < item.runs; ++i) {
    engine->run();
  }
  item.seconds.push_back(seconds_since(begin) / item.runs);
}

void print_throughput(const ThroughputCase& item) {
  const double seconds = upper_median(item.seconds);
  const auto flows = static_cast<double>(item.graph->flow_firings());
  const auto [least, most] = std::minmax_element(item.seconds.begin(), item.seconds.end());
  fmt::print("{:8} {:36} {:10.1f} collectives/s {:7.1f} ns per flow (rounds {:.1f} .. {:.1f})\n",
             item.engine, item.what, 1 / seconds, seconds / flows * 1e9, *least / flows * 1e9,
             *most / flows * 1e9);
}

/// Runs one case per engine and graph, and prints the ratio of the engines.
void throughput(int rounds) {
  std::vector<ThroughputCase> cases;
  const auto add = [&](const std::string& what, const std::shared_ptr<const TransferGraph>& graph,
                       double expected_s) {
    // A round takes about 30 ms with each engine.
    const auto flows = static_cast<double>(graph->flow_firings());
    for (const EngineInfo& info : engine_infos()) {
      const double ns_a_flow = info.name == "flow" ? 40 : 900;
      const int runs = std::max(1, static_cast<int>(3e7 / (flows * ns_a_flow)));
      cases.push_back({info.name, what, graph, expected_s, runs});
    }
  };
  for (const std::int32_t ranks : {8, 64}) {
    for (const bool folded : {false, true}) {
      add(fmt::format("{} ranks, {}", ranks, folded ? "folded" : "unfolded"), ring(ranks, folded),
          closed_form_s(ranks));
    }
  }
  for (const std::int32_t ranks : {8, 64}) {
    for (const std::int32_t channels : {1, 8}) {
      add(fmt::format("{} ranks, {} channels, jittered", ranks, channels),
          jittered_ring_graph(ranks, channels, kBytes, kAlpha_s, kBandwidth_Bps), 0);
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (ThroughputCase& item : cases) {
      run_round(item);
    }
  }
  const std::size_t engines = engine_infos().size();
  for (std::size_t first = 0; first < cases.size(); first += engines) {
    for (std::size_t i = 0; i < engines; ++i) {
      print_throughput(cases[first + i]);
    }
    if (engines == 2) {
      fmt::print("  {} / {}: {:.1f}x\n", cases[first + 1].engine, cases[first].engine,
                 upper_median(cases[first].seconds) / upper_median(cases[first + 1].seconds));
    }
  }
}

// --- one large collective from scratch, in its own process ---

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
    const auto begin = processor_seconds();
    const auto graph = ring(ranks, folded);
    const double built_s = seconds_since(begin);
    const auto engine = make_engine(engine_name);
    engine->load(graph);
    const double loaded_s = seconds_since(begin);
    const double makespan_s = engine->run().makespan_s;
    const double done_s = seconds_since(begin);
    const double above_bytes = peak_bytes() - base_bytes;
    check_makespan(makespan_s, closed_form_s(ranks));
    const auto again = processor_seconds();
    engine->run();
    const double second_s = seconds_since(again);
    fmt::print(
        "{:8} {:5} ranks {:8}  first run {:7.4f} s (graph {:.4f}, load {:.4f}, run {:.4f}), "
        "second run {:7.4f} s = {:5.1f} ns per flow, {:7.2f} MB above base\n",
        engine_name, ranks, folded ? "folded" : "unfolded", done_s, built_s, loaded_s - built_s,
        done_s - loaded_s, second_s, second_s / static_cast<double>(graph->flow_firings()) * 1e9,
        above_bytes / 1e6);
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
