// Tests of the exact texts of the table.
#include <algorithm>
#include <sstream>

#include "experiments/measured/measured_rows.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/summary/measured_speedup.hpp"
#include "experiments/summary/table.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::measured;
using test::row;

std::vector<ResultRow> sample_rows() {
  return {row("ring", "Simple", 4, 1024, 40),           row("all-pairs", "LL", 1, 1024, 9.125),
          row("ring", "Simple", 4, 65536, 60),          row("ring", "LL128", 8, 65536, 33.5),
          row("ring", "Simple", 24, 1 << 28, 2345.678), row("ring", "Simple", 4, 1 << 28, 9000)};
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

TEST_CASE("table without measurements and baseline", "[experiments][report-table]") {
  const std::vector<ResultRow> rows = sample_rows();
  CHECK(table_text(experiment_of(rows, false), rows, {}) ==
        R"(sample: best configuration by size, engine flow

ndv4, allreduce: 8 ranks on 1 node, cost model a100
    size  algorithm  protocol  ch     time    algbw    busbw
                                        us     GB/s     GB/s
    1KiB  all-pairs  LL         1     9.12    0.112    0.196
   64KiB  ring       LL128      8    33.50    1.956    3.424
  256MiB  ring       Simple    24  2345.68  114.438  200.267
)");
}

TEST_CASE("table with baseline and one measured configuration", "[experiments][report-table]") {
  const std::vector<ResultRow> rows = sample_rows();
  const std::vector<MeasuredRow> beside{measured("nccl", 1024, 17.34),
                                        measured("nccl", 65536, 36.43)};
  CHECK(table_text(experiment_of(rows), rows, beside) ==
        R"(sample: best configuration by size, engine flow
speedup over the fastest of ring, Simple

ndv4, allreduce: 8 ranks on 1 node, cost model a100
    size  algorithm  protocol  ch  baseline     time    algbw    busbw  speedup   nccl  sim/
                                         us       us     GB/s     GB/s        x     us  meas
    1KiB  all-pairs  LL         1     40.00     9.12    0.112    0.196     4.38  17.34  0.53
   64KiB  ring       LL128      8     60.00    33.50    1.956    3.424     1.79  36.43  0.92
  256MiB  ring       Simple    24   2345.68  2345.68  114.438  200.267     1.00      -     -
  beside times measured on Azure-NDv4

geometric-mean error against measured times, exp(mean |ln(simulated/measured)|) - 1
  fabric  collective  measured                   best ring          best of all
  ndv4    allreduce   Azure-NDv4 nccl  58.4 % over 2 sizes  43.8 % over 2 sizes
)");
}

TEST_CASE("measurements that do not fit beside go below; nothing is wider than 100 columns",
          "[experiments][report-table]") {
  const std::vector<ResultRow> rows = sample_rows();
  std::vector<MeasuredRow> beside;
  for (const std::string config : {"nccl", "msccl", "msccl-inplace"}) {
    beside.push_back(measured(config, 1024, 17.34));
    beside.push_back(measured(config, 1 << 28, 2000));
  }
  const std::string text = table_text(experiment_of(rows), rows, beside);
  CHECK(widest(text) <= 100);
  CHECK(text == R"(sample: best configuration by size, engine flow
speedup over the fastest of ring, Simple

ndv4, allreduce: 8 ranks on 1 node, cost model a100
    size  algorithm  protocol  ch  baseline     time    algbw    busbw  speedup
                                         us       us     GB/s     GB/s        x
    1KiB  all-pairs  LL         1     40.00     9.12    0.112    0.196     4.38
   64KiB  ring       LL128      8     60.00    33.50    1.956    3.424     1.79
  256MiB  ring       Simple    24   2345.68  2345.68  114.438  200.267     1.00

  beside times measured on Azure-NDv4
    size     best     nccl  sim/    msccl  sim/  msccl-inplace  sim/
               us       us  meas       us  meas             us  meas
    1KiB     9.12    17.34  0.53    17.34  0.53          17.34  0.53
   64KiB    33.50        -     -        -     -              -     -
  256MiB  2345.68  2000.00  1.17  2000.00  1.17        2000.00  1.17

geometric-mean error against measured times, exp(mean |ln(simulated/measured)|) - 1
  fabric  collective  measured                            best ring          best of all
  ndv4    allreduce   Azure-NDv4 nccl           64.5 % over 2 sizes  49.3 % over 2 sizes
  ndv4    allreduce   Azure-NDv4 msccl          64.5 % over 2 sizes  49.3 % over 2 sizes
  ndv4    allreduce   Azure-NDv4 msccl-inplace  64.5 % over 2 sizes  49.3 % over 2 sizes
)");
  for (int i = 0; i < 12; ++i) beside.push_back(measured("run " + std::to_string(i), 65536, 30));
  CHECK(widest(table_text(experiment_of(rows), rows, beside)) <= 100);
}

TEST_CASE("measured speedups beside the simulated ones", "[experiments][report-table]") {
  // The baseline is not a candidate, even if it is the fastest. Sizes without both measurements are
  // left out.
  const std::vector<ResultRow> rows{
      row("ring", "Simple", 4, 1024, 20),    row("all-pairs", "LL", 1, 1024, 10),
      row("ring", "LL", 1, 1024, 16),        row("ring", "Simple", 4, 65536, 30),
      row("all-pairs", "LL", 1, 65536, 40),  row("ring", "LL", 1, 65536, 32),
      row("ring", "Simple", 4, 1 << 20, 90), row("all-pairs", "LL", 1, 1 << 20, 45)};
  Experiment experiment = experiment_of(rows);
  experiment.measured_speedup = MeasuredSpeedupChoice{.of = "msccl", .over = "nccl"};
  const std::vector<MeasuredRow> beside{measured("nccl", 1024, 18), measured("msccl", 1024, 12),
                                        measured("nccl", 65536, 35), measured("msccl", 65536, 35),
                                        measured("nccl", 1 << 20, 90)};
  const std::string text = table_text(experiment, rows, beside);
  const std::size_t at = text.find("\nndv4, allreduce: speedup of");
  REQUIRE(at != std::string::npos);
  CHECK(text.substr(at) == R"(
ndv4, allreduce: speedup of msccl over nccl measured on Azure-NDv4, and simulated over ring, Simple
   size  measured  simulated  sim/  by
                x          x  meas
   1KiB      1.50       2.00  1.33  all-pairs LL c1 r1
  64KiB      1.00       0.94  0.94  ring LL c1 r1
  mean |ln(simulated/measured)| 0.176 (19.3 %) over 2 sizes
)");
  experiment.measured_speedup->of = "mscl";
  experiment.measured_speedup->of_where = {"e.yaml", 3, 4};
  try {
    check_measured_speedup(experiment, beside);
    FAIL("not refused");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "e.yaml:3:4: unknown measured config 'mscl'; expected one of nccl, msccl (did you mean "
          "'msccl'?)");
  }
}

TEST_CASE("an incomplete run and several seeds are mentioned", "[experiments][report-table]") {
  std::vector<ResultRow> rows{row("ring", "LL", 1, 1024, 10, 1), row("ring", "LL", 1, 1024, 20, 2)};
  const Experiment experiment = experiment_of(rows, false);
  CHECK(table_text(experiment, rows, {}) ==
        R"(sample: best configuration by size, engine flow, median of 2 seeds

ndv4, allreduce: 8 ranks on 1 node, cost model a100
  size  algorithm  protocol  ch   time  algbw  busbw
                                    us   GB/s   GB/s
  1KiB  ring       LL         1  15.00  0.077  0.134
)");
  rows.pop_back();
  const std::string text = table_text(experiment, rows, {});
  CHECK(text.find("\n1 of 2 cells have no result yet\n") != std::string::npos);
  rows.clear();
  CHECK(table_text(experiment, rows, {}) ==
        "sample: best configuration by size, engine flow\n2 of 2 cells have no result yet\n");
}

}  // namespace
}  // namespace cclgym
