// The table, letter by letter.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "experiments/table.hpp"
#include "report_sample.hpp"

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

TEST_CASE("table without measurements and baseline") {
  const std::vector<ResultRow> rows = sample_rows();
  CHECK(table_text(experiment_of(rows, false), rows, {}) ==
        R"(sample: best configuration by size, engine flow

ndv4, allreduce: 8 ranks on 1 server, cost model a100
    size  algorithm  protocol  ch     time    algbw    busbw
                                        us     GB/s     GB/s
    1KiB  all-pairs  LL         1     9.12    0.112    0.196
   64KiB  ring       LL128      8    33.50    1.956    3.424
  256MiB  ring       Simple    24  2345.68  114.438  200.267
)");
}

TEST_CASE("table with baseline and one measured configuration") {
  const std::vector<ResultRow> rows = sample_rows();
  const std::vector<MeasuredRow> beside{measured("nccl", 1024, 17.34),
                                        measured("nccl", 65536, 36.43)};
  CHECK(table_text(experiment_of(rows), rows, beside) ==
        R"(sample: best configuration by size, engine flow
speedup over the fastest of ring, Simple

ndv4, allreduce: 8 ranks on 1 server, cost model a100
    size  algorithm  protocol  ch     time    algbw    busbw  speedup   nccl  sim/
                                        us     GB/s     GB/s        x     us  meas
    1KiB  all-pairs  LL         1     9.12    0.112    0.196     4.38  17.34  0.53
   64KiB  ring       LL128      8    33.50    1.956    3.424     1.79  36.43  0.92
  256MiB  ring       Simple    24  2345.68  114.438  200.267     1.00      -     -
  measured on Azure-NDv4

geometric-mean error against measured times, exp(mean |ln(simulated/measured)|) - 1
  fabric  collective  measured                   best ring          best of all
  ndv4    allreduce   Azure-NDv4 nccl  58.4 % over 2 sizes  43.8 % over 2 sizes
)");
}

TEST_CASE("measurements that do not fit beside go below; nothing is wider than 100 columns") {
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

ndv4, allreduce: 8 ranks on 1 server, cost model a100
    size  algorithm  protocol  ch     time    algbw    busbw  speedup
                                        us     GB/s     GB/s        x
    1KiB  all-pairs  LL         1     9.12    0.112    0.196     4.38
   64KiB  ring       LL128      8    33.50    1.956    3.424     1.79
  256MiB  ring       Simple    24  2345.68  114.438  200.267     1.00

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

TEST_CASE("an incomplete run and several seeds are said") {
  std::vector<ResultRow> rows{row("ring", "LL", 1, 1024, 10, 1), row("ring", "LL", 1, 1024, 20, 2)};
  const Experiment experiment = experiment_of(rows, false);
  CHECK(table_text(experiment, rows, {}) ==
        R"(sample: best configuration by size, engine flow, median of 2 seeds

ndv4, allreduce: 8 ranks on 1 server, cost model a100
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
