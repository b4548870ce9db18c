// Cases of the bench of schedule synthesis: a target, and the value and time that were measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cclgym::bench {

/// Processor time of this process, user and system, s.
[[nodiscard]] double processor_seconds();

/// One case of the table.
struct Bar {
  std::string name{};
  std::string target{};    ///< value to reach
  std::string value{};     ///< value that was found
  bool reached = false;    ///< the value meets the target and passed every check
  std::string proof{};     ///< reason why no better value exists; empty: none claimed
  double limit_s = 0;      ///< processor time to stay within, s; 0: none
  double processor_s = 0;  ///< median over `runs`
  int runs = 0;            ///< 0: not timed
  std::string peer{};      ///< key of the figure to compare with (tool_peer, paper_peer)
};

/// Key of rows of experiments/published/synthesis-public-tools.csv. Fields are as in the file.
[[nodiscard]] std::string tool_peer(const std::string& test_case, const std::string& topology,
                                    const std::string& collective, const std::string& chunks = "",
                                    const std::string& steps = "", const std::string& rounds = "");
/// Key of rows of experiments/published/synthesis-papers.csv.
[[nodiscard]] std::string paper_peer(const std::string& place, const std::string& topology,
                                     const std::string& collective, const std::string& test_case);

/// Number of runs of a case whose first run took so long: 5 below 1 s, 3 below 5 s, else 1.
[[nodiscard]] int runs_after(double first_s);
void set_time(Bar& bar, std::vector<double> seconds);

/// Runs a case several times (runs_after), sets the time of the bar and returns the first result.
template <class Run>
auto measured(Bar& bar, const Run& run) {
  double begin_s = processor_seconds();
  auto result = run();
  std::vector<double> seconds{processor_seconds() - begin_s};
  const int runs = runs_after(seconds.front());
  while (static_cast<int>(seconds.size()) < runs) {
    begin_s = processor_seconds();
    (void)run();
    seconds.push_back(processor_seconds() - begin_s);
  }
  set_time(bar, std::move(seconds));
  return result;
}

/// Prints a bar as one line: the fields of Bar with tabs in between, after the name of its row.
void print_bar(const Bar& bar);
/// Name of the row to which the bars belong that are printed from now on.
void begin_row(const std::string& row);

/// Says on the standard error stream that a case was left out.
void leave_out(const std::string& name);

/// Sum of the times of bars, as a bar of its own.
[[nodiscard]] Bar sum_of(const std::vector<Bar>& bars, const std::string& name, double limit_s);

}  // namespace cclgym::bench
