#include "bench/synthesis/bars.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>

#include "core/statistics.hpp"

namespace cclgym::bench {

namespace {

std::string& current_row() {
  static std::string row;
  return row;
}

}  // namespace

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string tool_peer(const std::string& test_case, const std::string& topology,
                      const std::string& collective, const std::string& chunks,
                      const std::string& steps, const std::string& rounds) {
  return fmt::format("tool|{}|{}|{}|{}|{}|{}", test_case, topology, collective, chunks, steps,
                     rounds);
}

std::string paper_peer(const std::string& place, const std::string& topology,
                       const std::string& collective, const std::string& test_case) {
  return fmt::format("paper|{}|{}|{}|{}", place, topology, collective, test_case);
}

int runs_after(double first_s) {
  if (first_s < 1) return 5;
  return first_s < 5 ? 3 : 1;
}

void set_time(Bar& bar, std::vector<double> seconds) {
  bar.runs = static_cast<int>(seconds.size());
  bar.processor_s = median(std::move(seconds));
}

void begin_row(const std::string& row) { current_row() = row; }

void print_bar(const Bar& bar) {
  fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.6f}\t{}\t{}\n", current_row(), bar.name, bar.target,
             bar.value, bar.reached ? 1 : 0, bar.proof, bar.limit_s, bar.processor_s, bar.runs,
             bar.peer);
  std::fflush(stdout);
}

void leave_out(const std::string& name) { fmt::print(stderr, "left out: {}\n", name); }

Bar sum_of(const std::vector<Bar>& bars, const std::string& name, double limit_s) {
  Bar sum{.name = name, .limit_s = limit_s};
  int reached = 0;
  for (const Bar& bar : bars) {
    sum.processor_s += bar.processor_s;
    sum.runs = sum.runs == 0 ? bar.runs : std::min(sum.runs, bar.runs);
    reached += bar.reached ? 1 : 0;
  }
  sum.target = fmt::format("all {}", bars.size());
  sum.value = fmt::format("{} of {}", reached, bars.size());
  sum.reached = reached == static_cast<int>(bars.size());
  return sum;
}

}  // namespace cclgym::bench
