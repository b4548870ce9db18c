#include "calibration/cuda/cuda_fit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "calibration/cuda/line_fit.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_writer.hpp"
#include "cost_models/parameters/value_source.hpp"

namespace cclgym {

namespace {

using Rows = std::vector<CudaRow>;

Rows rows_where(const Rows& rows, const std::function<bool(const CudaRow&)>& wanted) {
  Rows result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result), wanted);
  return result;
}

Rows of_benchmark(const Rows& rows, std::string_view benchmark) {
  return rows_where(rows, [&](const CudaRow& row) { return row.benchmark == benchmark; });
}

// Rows with one number of threads: `full`, otherwise the next larger number, otherwise the largest.
Rows of_full_threads(const Rows& rows, int full) {
  std::set<int> counts;
  for (const CudaRow& row : rows) counts.insert(row.threads);
  if (counts.empty()) return {};
  const auto at = counts.lower_bound(full);
  const int threads = at == counts.end() ? *counts.rbegin() : *at;
  return rows_where(rows, [&](const CudaRow& row) { return row.threads == threads; });
}

// Rows with the chunk that was measured at the largest number of sizes.
Rows of_main_chunk(const Rows& rows) {
  std::map<std::uint64_t, std::set<std::uint64_t>> sizes;
  for (const CudaRow& row : rows) sizes[row.chunk_bytes].insert(row.bytes);
  if (sizes.empty()) return {};
  const auto most = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  return rows_where(rows, [&](const CudaRow& row) { return row.chunk_bytes == most->first; });
}

LineFit line_of(const Rows& rows, const std::function<double(const CudaRow&)>& x,
                const std::function<double(const CudaRow&)>& y, const std::string& what) {
  std::vector<double> at;
  std::vector<double> times;
  for (const CudaRow& row : rows) {
    at.push_back(x(row));
    times.push_back(y(row));
  }
  if (at.empty()) throw UserError(what + ": no rows");
  return fit_line(at, times, what.c_str());
}

double bytes_of(const CudaRow& row) { return static_cast<double>(row.bytes); }
double time_of(const CudaRow& row) { return row.time_s; }

double median_s(const Rows& rows) {
  std::vector<double> times;
  for (const CudaRow& row : rows) times.push_back(row.time_s);
  return upper_median(std::move(times));
}

// 1 / x for an interval of x > 0.
Interval inverse(const Interval& interval) {
  return {1 / interval.most,
          interval.least > 0 ? 1 / interval.least : std::numeric_limits<double>::infinity()};
}

class Fitter {
 public:
  Fitter(const CudaMeasurements& measured, const CostModel& start)
      : rows_(measured.rows), start_(start), sms_(measured.sms) {}

  CudaFit run() {
    attempt("kernel_launch", [&] { launch(); });
    for (const Protocol protocol : all_protocols()) by_protocol(protocol);
    attempt("half_rate_threads", [&] { threads(); });
    attempt("local_copy_rate", [&] { local_rate("copy_block", "local_copy_rate"); });
    attempt("local_reduce_rate", [&] { local_rate("reduce_block", "local_reduce_rate"); });
    attempt("copy_knee_blocks", [&] { knee(); });
    if (sms_ > 0) {
      const auto sms = static_cast<double>(sms_);
      add("max_thread_blocks", sms, {sms, sms}, rows_.size(), "SMs of the device");
    } else {
      fit_.missing.emplace_back("max_thread_blocks: the rows do not state the number of SMs");
    }
    return std::move(fit_);
  }

 private:
  void attempt(const std::string& name, const std::function<void()>& estimate) {
    try {
      estimate();
    } catch (const UserError& why) {
      fit_.missing.push_back(fmt::format("{}: {}", name, why.what()));
    }
  }

  void add(const std::string& name, double value, const Interval& interval, std::size_t rows,
           const std::string& how) {
    fit_.parameters.push_back({name, value, interval, rows, how});
  }

  void launch() {
    const Rows rows = of_benchmark(rows_, "launch_first");
    const LineFit line = line_of(
        rows, [](const CudaRow& row) { return static_cast<double>(row.blocks); }, time_of,
        "launch_first");
    const Rows flags = of_benchmark(rows_, "host_flag");
    const double way_s = flags.empty() ? 0 : median_s(flags) / 2;
    const Interval interval = line.intercept_interval();
    add("kernel_launch", line.intercept - way_s, {interval.least - way_s, interval.most - way_s},
        rows.size(),
        flags.empty() ? "launch until the host sees the first store, including the flag's transfer"
                      : "launch until the host sees the first store, less the flag's transfer");
  }

  void by_protocol(Protocol protocol) {
    const std::string prefix = fmt::format("protocols.{}.", to_string(protocol));
    const auto rows_of = [&](std::string_view benchmark) {
      return of_main_chunk(of_full_threads(rows_where(rows_,
                                                      [&](const CudaRow& row) {
                                                        return row.benchmark == benchmark &&
                                                               row.flags == "gpu" &&
                                                               row.protocol == to_string(protocol);
                                                      }),
                                           start_.full_threads));
    };
    attempt(prefix + "step_latency", [&] {
      const Rows rows = rows_of("flag_step");
      const LineFit line = line_of(rows, bytes_of, time_of, "flag_step");
      add(prefix + "step_latency", line.intercept, line.intercept_interval(), rows.size(),
          "half a round trip between thread blocks on two SMs, at 0 B");
    });
    attempt(prefix + "thread_block_rate", [&] {
      const Rows rows = rows_of("pipe_copy");
      const LineFit line = line_of(rows, bytes_of, time_of, "pipe_copy");
      const double efficiency = start_.protocols[static_cast<std::size_t>(protocol)].efficiency;
      const Interval payload = inverse(line.slope_interval());
      expect_rate(line);
      add(prefix + "thread_block_rate", 1 / line.slope / efficiency,
          {payload.least / efficiency, payload.most / efficiency}, rows.size(),
          "slope of a stream from one thread block to another");
    });
    attempt(prefix + "reduce_rate", [&] {
      const Rows rows = rows_of("pipe_reduce");
      const LineFit line = line_of(rows, bytes_of, time_of, "pipe_reduce");
      expect_rate(line);
      add(prefix + "reduce_rate", 1 / line.slope, inverse(line.slope_interval()), rows.size(),
          "slope of a stream through a thread block that adds and forwards");
    });
  }

  static void expect_rate(const LineFit& line) {
    if (!(line.slope > 0)) throw UserError("times do not grow with the size");
  }

  // Time per byte against 1 / threads, at the largest size: t / (t + h) is linear there.
  struct ByThreads {
    LineFit line;
    std::size_t rows;
  };
  [[nodiscard]] ByThreads by_threads(const std::string& benchmark) const {
    Rows rows = of_benchmark(rows_, benchmark);
    std::uint64_t largest = 0;
    for (const CudaRow& row : rows) largest = std::max(largest, row.bytes);
    rows = rows_where(rows, [&](const CudaRow& row) { return row.bytes == largest; });
    const LineFit line = line_of(
        rows, [](const CudaRow& row) { return 1.0 / row.threads; },
        [](const CudaRow& row) { return row.time_s / static_cast<double>(row.bytes); }, benchmark);
    return {line, rows.size()};
  }

  void threads() {
    const auto [line, rows] = by_threads("copy_block");
    if (!(line.intercept > 0)) {
      throw UserError("the rate grows up to the max number of threads: no half-rate count");
    }
    const double ratio = std::max(0.0, line.slope / line.intercept);
    const double a = line.intercept_error / line.intercept;
    const double b = line.slope_error;
    const double variance = b * b / (line.intercept * line.intercept) + ratio * ratio * a * a -
                            2 * ratio * line.covariance / (line.intercept * line.intercept);
    const double half = student_t(line.freedom) * std::sqrt(std::max(0.0, variance));
    add("half_rate_threads", std::round(ratio), {std::max(0.0, ratio - half), ratio + half}, rows,
        "copy by one thread block against its threads");
  }

  void local_rate(const std::string& benchmark, const std::string& name) {
    const auto [line, rows] = by_threads(benchmark);
    const double x = 1.0 / start_.full_threads;
    const double a_byte_s = line.intercept + line.slope * x;
    const double variance = line.intercept_error * line.intercept_error +
                            x * x * line.slope_error * line.slope_error + 2 * x * line.covariance;
    const double half = student_t(line.freedom) * std::sqrt(std::max(0.0, variance));
    add(name, 1 / a_byte_s, inverse({a_byte_s - half, a_byte_s + half}), rows,
        fmt::format("one thread block of {} threads, 16-byte accesses", start_.full_threads));
  }

  // Fits rates that grow with the number of blocks up to a knee and are constant beyond it. The
  // best knee minimises the squared errors of the logarithms.
  void knee() {
    Rows rows = of_benchmark(rows_, "copy_blocks");
    std::sort(rows.begin(), rows.end(),
              [](const CudaRow& a, const CudaRow& b) { return a.blocks < b.blocks; });
    if (rows.size() < 4) throw UserError("copy_blocks: a knee needs four rows");
    struct Part {
      double mean = 0;
      double squares = 0;
      std::size_t rows = 0;
    };
    const auto part = [&](std::size_t begin, std::size_t end, bool a_block) {
      Part found{.rows = end - begin};
      const auto value = [&](std::size_t i) {
        const double rate_Bps = bytes_of(rows[i]) / rows[i].time_s;
        return std::log(a_block ? rate_Bps / rows[i].blocks : rate_Bps);
      };
      for (std::size_t i = begin; i < end; ++i) found.mean += value(i);
      found.mean /= static_cast<double>(found.rows);
      for (std::size_t i = begin; i < end; ++i) {
        found.squares += (value(i) - found.mean) * (value(i) - found.mean);
      }
      return found;
    };
    double least = std::numeric_limits<double>::infinity();
    Part growing;
    Part level;
    for (std::size_t split = 2; split + 2 <= rows.size(); ++split) {
      const Part before = part(0, split, true);
      const Part behind = part(split, rows.size(), false);
      if (before.squares + behind.squares < least) {
        least = before.squares + behind.squares;
        growing = before;
        level = behind;
      }
    }
    const auto n = static_cast<int>(rows.size());
    const double variance = least / std::max(1, n - 2);
    const double t = student_t(std::max(1, n - 2));
    const double level_half = t * std::sqrt(variance / static_cast<double>(level.rows));
    const double knee_half = t * std::sqrt(variance / static_cast<double>(level.rows) +
                                           variance / static_cast<double>(growing.rows));
    const double log_knee = level.mean - growing.mean;
    fit_.others.push_back({"copy_knee_blocks",
                           std::exp(log_knee),
                           {std::exp(log_knee - knee_half), std::exp(log_knee + knee_half)},
                           rows.size(),
                           "number of thread blocks beyond which the copy gets no faster"});
    fit_.others.push_back({"copy_rate_all",
                           std::exp(level.mean),
                           {std::exp(level.mean - level_half), std::exp(level.mean + level_half)},
                           rows.size(),
                           "copy rate beyond that number of thread blocks"});
  }

  const Rows& rows_;
  const CostModel& start_;
  int sms_;
  CudaFit fit_;
};

std::string interval_text(const CudaEstimate& estimate) {
  if (estimate.name == "copy_knee_blocks") {
    return fmt::format("{:.1f} to {:.1f}", estimate.interval.least, estimate.interval.most);
  }
  if (estimate.name == "copy_rate_all") {
    return fmt::format("{} to {}", format_rate(estimate.interval.least),
                       format_rate(estimate.interval.most));
  }
  const CostParameter& parameter = cost_parameter(estimate.name);
  return fmt::format("{} to {}", parameter_text(parameter, estimate.interval.least),
                     std::isfinite(estimate.interval.most)
                         ? parameter_text(parameter, estimate.interval.most)
                         : "any");
}

std::string value_text(const CudaEstimate& estimate) {
  if (estimate.name == "copy_knee_blocks") return fmt::format("{:.1f}", estimate.value);
  if (estimate.name == "copy_rate_all") return format_rate(estimate.value);
  return parameter_text(cost_parameter(estimate.name), estimate.value);
}

}  // namespace

const CudaEstimate& CudaFit::at(std::string_view name) const {
  for (const std::vector<CudaEstimate>* list : {&parameters, &others}) {
    for (const CudaEstimate& estimate : *list) {
      if (estimate.name == name) return estimate;
    }
  }
  throw std::out_of_range("no estimate of " + std::string(name));
}

CudaFit fit_cuda(const CudaMeasurements& measured, const CostModel& start) {
  return Fitter(measured, start).run();
}

std::string cuda_set_yaml(const CudaFit& fit, const CudaMeasurements& measured,
                          const ParameterSet& start, const std::string& name) {
  // These measurements are not rows of collectives, so fitted_to keeps the rows of the start set
  // only.
  ParameterSet set{.model = start.model,
                   .fitted_to = start.fitted_to,
                   .library = start.library,
                   .unmeasured = start.unmeasured};
  for (const CostParameter& parameter : cost_parameters()) {
    set.sources[parameter.name] =
        taken_over_source(start.model.name, start.source_of(parameter.name));
  }
  const std::string device = measured.device.empty() ? "a GPU" : measured.device;
  std::string versions;
  if (!measured.driver.empty()) versions += fmt::format(", driver {}", measured.driver);
  if (!measured.cuda_runtime.empty()) versions += fmt::format(", CUDA {}", measured.cuda_runtime);
  for (const CudaEstimate& estimate : fit.parameters) {
    cost_parameter(estimate.name).set(set.model, estimate.value);
    set.sources[estimate.name] =
        fmt::format("measured: {}{}, single GPU, {} rows, {}; 95 %: {}", device, versions,
                    estimate.rows, estimate.how, interval_text(estimate));
  }
  set.model.name = name;
  set.model.description =
      fmt::format("{}, measured on one GPU by itself; links as in {}", device, start.model.name);
  std::string comment = fmt::format(
      "From {} measurements on {}{}. Links, networks and switches are those of the set "
      "{}.",
      measured.rows.size(), device, versions, start.model.name);
  for (const CudaEstimate& other : fit.others) {
    comment += fmt::format("\n{}: {} ({}); 95 %: {}", other.name, value_text(other), other.how,
                           interval_text(other));
  }
  for (const std::string& missing : fit.missing) comment += "\nNot determined: " + missing;
  return to_yaml(set, comment);
}

std::string cuda_fit_text(const CudaFit& fit) {
  std::string text;
  for (const std::vector<CudaEstimate>* list : {&fit.parameters, &fit.others}) {
    for (const CudaEstimate& estimate : *list) {
      text += fmt::format("{:36} {:>14}   95 %: {:28} {} rows\n", estimate.name,
                          value_text(estimate), interval_text(estimate), estimate.rows);
    }
  }
  for (const std::string& missing : fit.missing) text += "not determined: " + missing + "\n";
  return text;
}

}  // namespace cclgym
