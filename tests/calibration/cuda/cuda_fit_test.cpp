#include "calibration/cuda/cuda_fit.hpp"

#include <cmath>
#include <fmt/core.h>

#include "calibration/cuda/cuda_cells.hpp"
#include "calibration/cuda/cuda_testing.hpp"
#include "calibration/cuda/line_fit.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "cost_models/parameters/check_sources.hpp"
#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"

namespace cclgym {

namespace {

// A device with known parameters.
constexpr double kLaunch_s = 4.5e-6;
constexpr double kBlockLaunch_s = 0.03e-6;
constexpr double kFlagWay_s = 0.8e-6;
constexpr double kHalfRate = 180;
constexpr double kBestRate_Bps = 60e9;
constexpr double kAllRate_Bps = 2.1e12;
constexpr double kBlockRate_Bps = 44e9;  ///< rate per block with many blocks

double step_s(const std::string& protocol) {
  return protocol == "LL" ? 0.7e-6 : (protocol == "LL128" ? 0.9e-6 : 1.6e-6);
}
double pipe_Bps(const std::string& protocol, bool reduces) {
  const double rate_Bps = protocol == "LL" ? 8e9 : (protocol == "LL128" ? 19e9 : 32e9);
  return reduces ? 0.8 * rate_Bps : rate_Bps;
}
// The set's half_rate_threads is a quarter of this constant.
double copy_Bps(double threads) { return kBestRate_Bps * threads / (threads + kHalfRate); }

double true_time_s(const CalibrationCell& cell) {
  const std::string& benchmark = cell.at("benchmark");
  const std::string& protocol = cell.at("protocol");
  const double bytes = std::stod(cell.at("bytes"));
  const double blocks = std::stod(cell.at("blocks"));
  const double threads = std::stod(cell.at("threads"));
  if (benchmark == "launch_first") return kLaunch_s + kFlagWay_s + blocks * kBlockLaunch_s;
  if (benchmark == "host_flag") return 2 * kFlagWay_s;
  // Steps through host memory take ten times as long. The fit must ignore their rows.
  if (benchmark == "flag_step" && cell.at("flags") == "host") return 10 * step_s(protocol);
  if (benchmark == "flag_step") return step_s(protocol) + bytes / 5e9;
  // Other chunk sizes are slower. The fit must ignore them, too.
  const double chunk = std::stod(cell.at("chunk_bytes"));
  const double waste = chunk == static_cast<double>(default_chunk_bytes(protocol)) ? 1 : 2;
  if (benchmark == "pipe_copy") return 3e-6 + waste * bytes / pipe_Bps(protocol, false);
  if (benchmark == "pipe_reduce") return 3e-6 + waste * bytes / pipe_Bps(protocol, true);
  if (benchmark == "copy_block") return bytes / copy_Bps(threads);
  if (benchmark == "reduce_block") return bytes / (0.7 * copy_Bps(threads));
  if (benchmark == "copy_blocks") {
    return bytes / std::min(blocks * kBlockRate_Bps, kAllRate_Bps);
  }
  return 1e-6;
}

std::string measurements(double noise, std::uint64_t seed) {
  Random random = Random::stream(seed, {});
  const CellTable table = cuda_cells();
  std::string text = "# of a made-up device\nid";
  for (const std::string& column : table.columns) text += "," + column;
  text += ",device,driver,cuda_runtime,sms,time_us_median\n";
  int id = 0;
  for (const CalibrationCell& cell : table.cells) {
    text += std::to_string(++id);
    for (const std::string& column : table.columns) text += "," + cell.at(column);
    const double factor = std::exp(noise * (2 * random.uniform() - 1));
    text += fmt::format(",Device 1,580.1,13.0,132,{:.9g}\n", true_time_s(cell) * 1e6 * factor);
  }
  return text;
}

void check_near(const CudaFit& fit, const std::string& name, double expected, double tolerance) {
  INFO(name);
  const CudaEstimate& estimate = fit.at(name);
  CHECK(estimate.value == Approx(expected).epsilon(tolerance));
  CHECK(estimate.interval.least <= estimate.value * (1 + 1e-6));
  CHECK(estimate.interval.most >= estimate.value * (1 - 1e-6));
}

void check_all(const CudaFit& fit, double tolerance) {
  const CostModel start = shipped_cost_model("h100");
  check_near(fit, "kernel_launch", kLaunch_s, tolerance);
  for (const std::string protocol : {"LL", "LL128", "Simple"}) {
    const double efficiency =
        start.protocols[static_cast<std::size_t>(*parse_protocol(protocol))].efficiency;
    check_near(fit, "protocols." + protocol + ".step_latency", step_s(protocol), tolerance);
    check_near(fit, "protocols." + protocol + ".thread_block_rate",
               pipe_Bps(protocol, false) / efficiency, tolerance);
    check_near(fit, "protocols." + protocol + ".reduce_rate", pipe_Bps(protocol, true), tolerance);
  }
  check_near(fit, "local_copy_rate", copy_Bps(512), tolerance);
  check_near(fit, "local_reduce_rate", 0.7 * copy_Bps(512), tolerance);
  check_near(fit, "half_rate_threads", kHalfRate, std::max(0.01, 3 * tolerance));
  check_near(fit, "copy_knee_blocks", kAllRate_Bps / kBlockRate_Bps, std::max(1e-6, tolerance));
  check_near(fit, "copy_rate_all", kAllRate_Bps, tolerance);
  check_near(fit, "max_thread_blocks", 132, 0);
  CHECK(fit.missing.empty());
}

}  // namespace

TEST_CASE("the parameters of a device come back from its times", "[calibration][cuda-fit]") {
  const CostModel start = shipped_cost_model("h100");
  check_all(fit_cuda(parse_cuda_measurements(measurements(0, 1), "m.csv"), start), 1e-6);
  check_all(fit_cuda(parse_cuda_measurements(measurements(0.02, 2), "m.csv"), start), 0.05);
}

TEST_CASE("intervals of 95 % hold the truth about as often as they say",
          "[calibration][cuda-fit]") {
  // A line with normally distributed errors, as the intervals assume.
  int held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random = Random::stream(static_cast<std::uint64_t>(trial), {});
    std::vector<double> x;
    std::vector<double> y;
    for (int i = 1; i <= 8; ++i) {
      double sum = 0;  // sum of 12 uniform numbers: almost normal
      for (int k = 0; k < 12; ++k) sum += random.uniform();
      x.push_back(1000.0 * i);
      y.push_back((5e-6 + 1e-9 * x.back()) * (1 + 0.02 * (sum - 6)));
    }
    const Interval interval = fit_line(x, y, "a line").intercept_interval();
    held += interval.least <= 5e-6 && 5e-6 <= interval.most ? 1 : 0;
  }
  CHECK(held >= kTrials * 92 / 100);
  CHECK(held <= kTrials * 98 / 100);
}

TEST_CASE("Student's quantiles are those of the tables", "[calibration][cuda-fit]") {
  CHECK(student_t(1) == Approx(12.706));
  CHECK(student_t(7) == Approx(2.365).epsilon(0.005));
  CHECK(student_t(10) == Approx(2.228).epsilon(0.003));
  CHECK(student_t(30) == Approx(2.042).epsilon(0.001));
  CHECK(student_t(100000) == Approx(1.960).epsilon(0.001));
}

TEST_CASE("the set states the source of each parameter, and reads back",
          "[calibration][cuda-fit]") {
  const CudaMeasurements measured = parse_cuda_measurements(measurements(0.01, 3), "m.csv");
  const ParameterSet start_set = shipped_parameter_set("h100");
  const CostModel& start = start_set.model;
  const CudaFit fit = fit_cuda(measured, start);
  const std::string yaml = cuda_set_yaml(fit, measured, start_set, "device-1");
  using test::has_text;
  CHECK_THAT(yaml, has_text("measured: Device 1, driver 580.1, CUDA 13.0, single GPU"));
  CHECK_THAT(yaml, has_text("taken over from set h100: fitted to 284 rows of H100"));
  CHECK_NOTHROW(test::check_sources(parse_yaml(yaml, "set.yaml")));
  CHECK_THAT(yaml, has_text("# copy_knee_blocks: "));
  const CostModel read = read_cost_model(parse_yaml(yaml, "set.yaml"));
  CHECK(read.name == "device-1");
  CHECK(read.kernel_launch_s == Approx(kLaunch_s).epsilon(0.05));
  CHECK(read.alpha_s == start.alpha_s);
  CHECK(read.protocols[0].network_rate_Bps == start.protocols[0].network_rate_Bps);
  CHECK_THAT(cuda_fit_text(fit), has_text("protocols.LL128.step_latency"));
}

TEST_CASE("parameters that the rows do not determine keep their values and are reported",
          "[calibration][cuda-fit]") {
  const std::string text =
      "benchmark,protocol,flags,threads,blocks,bytes,chunk_bytes,time_us_median\n"
      "flag_step,LL,gpu,512,2,16,32768,1\n"
      "flag_step,LL,gpu,512,2,512,32768,\n"
      "flag_step,LL,gpu,512,2,1024,32768,2\n";
  const CudaMeasurements measured = parse_cuda_measurements(text, "m.csv");
  CHECK(measured.rows.size() == 2);  // the refused cell has no time
  const CudaFit fit = fit_cuda(measured, shipped_cost_model("h100"));
  CHECK(fit.parameters.empty());
  const std::string words = cuda_fit_text(fit);
  using test::has_text;
  CHECK_THAT(words, has_text("protocols.LL.step_latency: flag_step: 2 rows; a line needs three"));
  CHECK_THAT(words, has_text("kernel_launch: launch_first: no rows"));
  CHECK_THROWS_AS(fit.at("kernel_launch"), std::out_of_range);
}

TEST_CASE("a file of measurements that cannot be read is refused with its place",
          "[calibration][cuda-fit]") {
  const std::string header =
      "benchmark,protocol,flags,threads,blocks,bytes,chunk_bytes,time_us_median,device\n";
  using test::has_text;
  CHECK_THROWS_WITH(parse_cuda_measurements("benchmark,protocol\n", "m.csv"),
                    has_text("m.csv:1:1") && has_text("no column 'flags'"));
  CHECK_THROWS_WITH(parse_cuda_measurements(header, "m.csv"), has_text("no row with a time"));
  CHECK_THROWS_WITH(parse_cuda_measurements(header + "b,LL,gpu,512,2,16,16,0,D\n", "m.csv"),
                    has_text("m.csv:2:") && has_text("> 0"));
  CHECK_THROWS_WITH(parse_cuda_measurements(header + "b,LL,gpu,many,2,16,16,1,D\n", "m.csv"),
                    has_text("m.csv:2:10: threads is 'many'"));
  CHECK_THROWS_WITH(parse_cuda_measurements(header + "b,LL,gpu,1,2,16\n", "m.csv"),
                    has_text("found 6 fields; expected 9"));
  CHECK_THROWS_WITH(
      parse_cuda_measurements(header + "b,LL,gpu,1,2,16,16,1,D\nb,LL,gpu,1,2,16,16,1,E\n", "m.csv"),
      has_text("m.csv:3:") && has_text("rows before on 'D'"));
}

}  // namespace cclgym
