// Tests of parsing the output of nccl-tests.
#include "experiments/measured/nccl_tests_text.hpp"

#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

const std::string kRun =
    "NCCL version 2.21.5+cuda12.4\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  52629 on      nodeA device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  1 Group  0 Pid  52630 on      nodeA device  1 [0x46] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  2 Group  0 Pid  52631 on      nodeB device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  3 Group  0 Pid  52632 on      nodeB device  1 [0x46] NVIDIA A100-SXM4-40GB\n"
    "#\n"
    "#                                                       out-of-place              in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    " "
    " algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " "
    "(GB/s)  (GB/s)\n"
    "           8             2     float     sum      -1    15.03    0.00    0.00      0    14.95 "
    " "
    "  0.00    0.00      0\n"
    "        1024           256     float     sum      -1     17.5    0.06    0.09      0    17.21 "
    " "
    "  0.06    0.09      0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.0375\n";

std::vector<Measurement> read(const std::string& text, const MeasuredFileContext& context = {}) {
  return read_nccl_tests_text(text, "run.txt", context);
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kRun;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_CASE("out-of-place times, ranks, nodes and the release are read",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  const auto rows = read(kRun, context);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].bytes == 8);
  CHECK(rows[0].time_s == Approx(15.03e-6));
  CHECK(rows[1].bytes == 1024);
  CHECK(rows[1].time_s == Approx(17.5e-6));
  CHECK(rows[1].ranks == 4);
  CHECK(rows[1].nodes == 2);
  CHECK(rows[1].nccl_version == "2.21.5");
  CHECK(rows[1].where.line == 14);
}

TEST_CASE("the name of the program gives the collective; two runs may follow each other",
          "[calibration][nccl-tests-text]") {
  const std::string second = changed("nodeB device  0", "nodeA device  2");
  const auto rows = read("$ mpirun ./build/all_gather_perf -b 8\n" + kRun +
                         "# Collective test starting: reduce_scatter_perf\n" + second);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].collective == CollectiveKind::AllGather);
  CHECK(rows[3].collective == CollectiveKind::ReduceScatter);
}

TEST_CASE("in-place times are used if there are no others", "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllToAll;
  const auto rows =
      read(changed("15.03    0.00    0.00      0", "N/A    N/A    N/A      N/A"), context);
  CHECK(rows[0].time_s == Approx(14.95e-6));
}

TEST_CASE("each fault of nccl-tests' output has one message with its place",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  const auto refusal = [&](const std::string& text) {
    return thrown([&] { return read(text, context); });
  };
  CHECK(thrown([] { return read(kRun); }) ==
        "run.txt:13:12: the output does not name the collective; give it with "
        "--collective");
  CHECK(refusal(changed("(us)", "(ms)")).find("times are in (ms); expected (us)") !=
        std::string::npos);
  CHECK(refusal(changed("(B)", "(KB)")).find("sizes are in (KB); expected (B)") !=
        std::string::npos);
  CHECK(refusal(changed("15.03", "  nan"))
            .find("time is 'nan'; expected a number of microseconds "
                  "> 0") != std::string::npos);
  CHECK(refusal(changed("15.03", "-1.00")).find("time is '-1.00'") != std::string::npos);
  CHECK(refusal(changed("15.03", " 0.00")).find("time is '0.00'") != std::string::npos);
  CHECK(refusal(changed("0.00      0    14.95", "0.00      7    14.95"))
            .find("nccl-tests found 7 wrong values") != std::string::npos);
  CHECK(refusal(kRun.substr(0, kRun.find("           8  "))) ==
        "run.txt: nccl-tests printed no line of results");
  CHECK(refusal("hello\n").starts_with("run.txt:1:1: found 'hello'; expected CSV"));
  std::string anonymous = kRun;
  for (std::size_t place = 0; (place = anonymous.find("Rank", place)) != std::string::npos;) {
    anonymous.replace(place, 4, "Rnk ");
  }
  CHECK(refusal(anonymous).find("give it with --ranks") != std::string::npos);
  context.ranks = 8;
  CHECK(read(anonymous, context).front().ranks == 8);
}

TEST_CASE("a list of one device is refused with or without --ranks",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  const std::size_t second = kRun.find("#  Rank  1");
  const std::size_t end = kRun.find("#\n#    ", second);
  const std::string alone = kRun.substr(0, second) + kRun.substr(end);
  CHECK(thrown([&] { return read(alone, context); }) ==
        "run.txt:10:12: the list of devices has 1 rank ('#  Rank  0 … on HOST'); expected at "
        "least 2 (nccl-tests built without MPI=1 runs every process alone)");
  context.ranks = 8;
  CHECK(thrown([&] { return read(alone, context); }) ==
        "run.txt:10:12: the list of devices has 1 rank ('#  Rank  0 … on HOST'), but --ranks says "
        "8; expected the lines of all 8 (nccl-tests built without MPI=1 runs every process alone)");
}

TEST_CASE("options that contradict the output are refused", "[calibration][nccl-tests-text]") {
  const auto refusal = [](auto change) {
    MeasuredFileContext context;
    context.collective = CollectiveKind::AllReduce;
    change(context);
    return thrown([&] { return read(kRun, context); });
  };
  CHECK(refusal([](MeasuredFileContext& context) { context.ranks = 8; }) ==
        "run.txt:13:12: the list of devices has 4 ranks, but --ranks says 8; leave it out");
  CHECK(refusal([](MeasuredFileContext& context) { context.nodes = 1; }) ==
        "run.txt:13:12: the list of devices has 2 nodes, but --nodes says 1; leave it out");
  CHECK(refusal([](MeasuredFileContext& context) { context.nccl_version = "2.18.3"; }) ==
        "run.txt:13:12: the output is of NCCL 2.21.5, but --nccl says 2.18.3; leave it out");
  MeasuredFileContext same;
  same.collective = CollectiveKind::AllReduce;
  same.ranks = 4;
  same.nodes = 2;
  same.nccl_version = "2.21.5";
  CHECK(read(kRun, same).size() == 2);
}

}  // namespace
}  // namespace cclgym::test
