#include "cli/training/train_progress.hpp"

#include <cmath>
#include <cstdio>
#include <fmt/core.h>

#include "cli/support/print.hpp"
#include "core/progress.hpp"

namespace cclgym {

TrainProgress::TrainProgress(const TrainConfig& config, std::uint64_t seed, bool quiet)
    : config_(config), seed_(seed), quiet_(quiet), terminal_(standard_error_redraws()) {}

void TrainProgress::notice(const std::string& text) const {
  if (!quiet_) print_error("seed {}: {}\n", seed_, text);
}

void TrainProgress::begin(int iteration) {
  first_ = iteration;
  start_s_ = steady_now_s();
}

void TrainProgress::update(const IterationReport& report) {
  if (quiet_) return;
  if (!first_) begin(report.iteration);
  const double now = steady_now_s();
  const bool last = report.iteration == config_.iterations();
  if (!report.evaluation.empty()) measured_ = report.evaluation;
  const double every_s = terminal_ ? 0.2 : 5;
  if (!last && report.evaluation.empty() && now - shown_s_ < every_s) return;
  shown_s_ = now;
  std::string line =
      fmt::format("seed {}  {}/{} {}  reward {:.3f}", seed_, report.iteration, config_.iterations(),
                  report.warm_start ? "warm start" : config_.algorithm_name(), report.mean_reward);
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    const PolicyMeasure& one = measured_[i];
    line +=
        std::isnan(one.oracle_ratio)
            ? fmt::format("  {} {:.3f}", config_.evaluation[i].label, one.mean_reward)
            : fmt::format("  {} {:.3f} x oracle", config_.evaluation[i].label, one.oracle_ratio);
  }
  const int done = report.iteration - *first_;
  if (done > 0 && !last) {
    const double left_s = (now - start_s_) / done * (config_.iterations() - report.iteration);
    line += fmt::format("  {:.0f} s left", left_s);
  }
  print_error("{}{}{}", terminal_ ? "\r\x1b[K" : "", line, !terminal_ || last ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace cclgym
