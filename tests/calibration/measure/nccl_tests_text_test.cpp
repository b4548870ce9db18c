// Tests of parsing the output of nccl-tests.
#include "experiments/measured/nccl_tests_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <sstream>

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
  const auto rows = read("$ mpirun ./build/all_gather_perf -b 8\n" + kRun +
                         "# Collective test starting: reduce_scatter_perf\n" + kRun);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].collective == CollectiveKind::AllGather);
  CHECK(rows[3].collective == CollectiveKind::ReduceScatter);
  // A run that is over does not name the next one.
  const std::string over = "# Collective test starting: reduce_scatter_perf\n" + kRun +
                           "#\n# Collective test concluded: reduce_scatter_perf\n";
  CHECK(read(over).at(1).collective == CollectiveKind::ReduceScatter);
  CHECK(thrown([&] { return read(over + kRun); }).find("does not name the collective") !=
        std::string::npos);
}

TEST_CASE("in-place times are used if there are no others", "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
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

TEST_CASE("a list of devices without one of its ranks is refused",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  const std::size_t third = kRun.find("#  Rank  2");
  const std::string lost = kRun.substr(0, third) + kRun.substr(kRun.find("#  Rank  3"));
  CHECK(thrown([&] { return read(lost, context); })
            .ends_with("the list of devices has rank 3, but not rank 2; expected the lines of all "
                       "ranks"));
}

TEST_CASE("a list of devices that somebody shortened is refused",
          "[calibration][nccl-tests-text]") {
  const std::string list = changed(
      "#  Rank  3 Group  0 Pid  52632 on      nodeB device  1 [0x46]"
      " NVIDIA A100-SXM4-40GB\n",
      "#  ...\n");
  CHECK(thrown([&] {
          return read("$ ./all_reduce_perf\n" + list);
        }).find("the list of devices is cut") != std::string::npos);
}

TEST_CASE("groups of calls, CUDA graphs and bandwidths of other ranks are notes of their rows",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  CHECK(read(kRun, context)[0].notes.empty());
  const auto grouped =
      read(changed("iters: 20", "iters: 20 agg iters: 16 validation: 1 graph: 1"), context);
  REQUIRE(grouped[0].notes.size() == 2);
  CHECK(grouped[0].notes[0] ==
        "16 calls ran in a group (agg iters); the simulation is of single calls");
  CHECK(grouped[0].notes[1].starts_with("CUDA graphs launched the calls"));
  CHECK(read(changed("iters: 20", "iters: 20 agg iters: 1 graph: 0"), context)[0].notes.empty());
  // 1.5 are the bandwidths of 4 ranks, 1.75 those of 8.
  CHECK(read(changed("17.5    0.06    0.09", "17.5   59.92   89.88"), context)[1].notes.empty());
  const auto eight = read(changed("17.5    0.06    0.09", "17.5   59.92  104.86"), context);
  REQUIRE(eight[1].notes.size() == 1);
  CHECK(eight[1].notes[0] ==
        "the bandwidths of the output are not those of 4 ranks: busbw is 1.750 of algbw, expected "
        "1.500");
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

// A device of a log: its host, its number there, and its group of NCCL_TESTS_SPLIT.
struct Listed {
  std::string host;
  int device = 0;
  int group = 0;
};

std::vector<Listed> listed(const std::vector<std::string>& hosts, int each) {
  std::vector<Listed> devices;
  for (const std::string& host : hosts) {
    for (int d = 0; d < each; ++d) devices.push_back({host, d, 0});
  }
  return devices;
}

const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
    "time "
    "  algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
    "(us) "
    " (GB/s)  (GB/s)\n";
const std::string kFirstHalf = "        4096          1024     float     sum      -1";
const std::string kSecondHalf =
    "    21.00    0.20    0.34       0    21.50    0.20    0.34       0\n";

// A log of release 2.28.9, with `after` behind the list of devices.
std::string log_of(const std::vector<Listed>& devices, const std::string& after = "",
                   const std::string& program = "all_reduce_perf") {
  std::string text =
      "# nccl-tests version 2.17.8 nccl-headers=22809 nccl-library=22809\n"
      "# Collective test starting: " +
      program +
      "\n# nThread 1 nGpus 1\n#\n"
      "# Using devices\n";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    text += "#  Rank " + std::to_string(i) + " Group " + std::to_string(devices[i].group) +
            " Pid   7000 on     " + devices[i].host + " device  " +
            std::to_string(devices[i].device) + " [0000:1" + std::to_string(devices[i].device) +
            ":00] NVIDIA H100 80GB HBM3\n";
  }
  return text + "#\n" + after + kHeading + kFirstHalf + kSecondHalf +
         "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 90.0 \n#\n"
         "# Collective test concluded: " +
         program + "\n";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST_CASE("options that contradict what a row prints of its call are refused",
          "[calibration][nccl-tests-text]") {
  const std::string heading = "# size count type redop root time algbw busbw #wrong\n";
  const auto refusal = [&](const std::string& row, CollectiveKind kind, int ranks) {
    return thrown([&] {
      return read(heading + row + " 20.0 1 1 0\n",
                  {.collective = kind, .ranks = ranks, .nccl_version = "2.21"});
    });
  };
  const std::string accepted = "(nothing thrown)";
  constexpr std::array kAll{
      CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
      CollectiveKind::Broadcast, CollectiveKind::Reduce,    CollectiveKind::AllToAll,
      CollectiveKind::AllToNext, CollectiveKind::Gather,    CollectiveKind::Scatter};
  // Columns that each test of nccl-tests prints for 1024 bytes on 8 ranks.
  const std::vector<std::pair<std::string, std::vector<CollectiveKind>>> printed{
      {"1024 256 float sum -1", {CollectiveKind::AllReduce, CollectiveKind::AllToNext}},
      {"1024 256 float none 0", {CollectiveKind::Broadcast}},
      {"1024 256 float max 3", {CollectiveKind::Reduce}},
      {"1024 64 half none -1", {CollectiveKind::AllGather, CollectiveKind::AllToAll}},
      {"1024 128 int8 sum -1", {CollectiveKind::ReduceScatter}},
      {"1024 16 double none 0", {CollectiveKind::Gather, CollectiveKind::Scatter}}};
  for (const auto& [row, kinds] : printed) {
    for (const CollectiveKind kind : kAll) {
      CAPTURE(row, to_string(kind));
      const bool right = std::ranges::find(kinds, kind) != kinds.end();
      CHECK((refusal(row, kind, 8) == accepted) == right);
    }
  }
  CHECK(
      refusal("1024 256 float none 0", CollectiveKind::AllReduce, 8) ==
      "run.txt:2:1: the row (count 256, float, redop none, root 0) is not one of allreduce, which "
      "--collective says, but of broadcast; give each run a file of its own");
  CHECK(refusal("1024 32 float none -1", CollectiveKind::AllGather, 4) ==
        "run.txt:2:1: the row's count is that of 8 ranks (32 elements of float in 1024 B), but "
        "--ranks says 4");
  CHECK(thrown([&] {
          return read("# Collective test starting: hypercube_perf\n" + heading +
                      "1024 32 float none -1 20.0 1 1 0\n");
        }) ==
        "run.txt:3:1: the rows are of hypercube_perf, which is not a collective that can be "
        "simulated; leave them out");
  // A type of a newer release tells nothing.
  CHECK(refusal("1024 77 fp4 none -1", CollectiveKind::AllGather, 4) == accepted);
  CHECK(thrown([&] {
          return read(heading + "16,777,216 4,194,304 float sum -1 20.0 1 1 0\n",
                      {.collective = CollectiveKind::AllReduce, .ranks = 8});
        }) == "run.txt:2:1: size is '16,777,216'; expected a number without separators");
}

TEST_CASE("headers of rccl-tests name the release, and a GPU without a name is none",
          "[calibration][nccl-tests-text]") {
  const auto row_of = [](const std::string& front) {
    std::string log = front + "# Collective test starting: all_reduce_perf\n";
    for (int rank = 0; rank < 2; ++rank) {
      log +=
          fmt::format("# Rank {} Group 0 Pid 1 on a device {} [0000:0{}:00] AMD Radeon Graphics\n",
                      rank, rank, rank);
    }
    return read(log +
                "# size count type redop root time algbw busbw #wrong\n"
                "1024 256 float sum -1 20.0 1 1 0\n")
        .at(0);
  };
  CHECK(
      row_of("# rccl-tests version 2.17.6 rccl-headers=22707 rccl-library=22707\n").nccl_version ==
      "2.27.7");
  CHECK(row_of("RCCL version : 2.22.3-HEAD:9d0a0ac\n").nccl_version == "2.22.3");
  CHECK(row_of("RCCL version 2.18.3+hip6.0 HEAD:2f6d59e+\n").nccl_version == "2.18.3");
  CHECK(row_of("").gpu.empty());
}

TEST_CASE("a log says ranks, nodes, GPUs, the release and what NCCL may choose",
          "[calibration][nccl-tests-text]") {
  const Measurement row = read(log_of(listed({"alpha0", "alpha1"}, 8))).at(0);
  CHECK(row.ranks == 16);
  CHECK(row.nodes == 2);
  CHECK(row.nccl_version == "2.28.9");
  CHECK(row.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(row.collective == CollectiveKind::AllReduce);
  CHECK(row.allowed.empty());
  CHECK(row.notes.empty());
  CHECK(read(log_of(listed({"a"}, 8), "", "./build/all_gather_perf_mpi")).at(0).collective ==
        CollectiveKind::AllGather);
  CHECK(read(with(log_of(listed({"a"}, 8)), "=22809", "=2804")).at(0).nccl_version == "2.8.4");
  MeasuredFileContext context;
  context.nccl_version = "2.18";
  CHECK(thrown([&] {
          return read(log_of(listed({"a"}, 8)), context);
        }).find("the output is of NCCL 2.28.9, but --nccl says 2.18") != std::string::npos);
  // A release without a model of its own may be compared with the nearest one.
  const std::string older = with(log_of(listed({"a"}, 8)), "=22809", "=21403");
  CHECK(read(older).at(0).nccl_version == "2.14.3");
  CHECK(read(older, context).at(0).nccl_version == "2.18");
  context.nccl_version = "2.21";
  CHECK_THROWS_AS(read(older, context), UserError);
}

TEST_CASE("headings may have lost their #, and lines may have a prefix",
          "[calibration][nccl-tests-text]") {
  const std::string log = log_of(listed({"alpha0"}, 8));
  std::string bare;
  std::string tagged;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    tagged += "[1,0]<stdout>:" + line + "\n";
    const std::size_t start = line.find_first_not_of("# ");
    bare += (line.starts_with('#') && start != std::string::npos ? line.substr(start)
             : line.starts_with('#')                             ? ""
                                                                 : line) +
            "\n";
  }
  const auto with_prefix = [&](const std::string& prefix) {
    std::istringstream all(log);
    std::string text;
    for (std::string line; std::getline(all, line);) text += prefix + line + "\n";
    return text;
  };
  for (const std::string& text :
       {bare, tagged, with_prefix("[pod/nccl-abc/mpi] 2026-05-04T08:00:01.000000001Z "),
        with_prefix("nccl-1  | 2026-05-04T08:00:01.1Z "), with_prefix("0: 2026-05-04T08:00:01Z "),
        with_prefix("2026-05-04T08:00:01+0000 n0 nccl[7000]: ")}) {
    CAPTURE(text);
    const auto rows = read(text);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].ranks == 8);
    CHECK(rows[0].bytes == 4096);
    CHECK(rows[0].collective == CollectiveKind::AllReduce);
    CHECK(rows[0].nccl_version == "2.28.9");
  }
}

TEST_CASE("rows that output of NCCL_DEBUG cuts are put together",
          "[calibration][nccl-tests-text]") {
  const std::string info = " [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  const std::string whole = "alpha0:7001:7101" + info;
  const std::string log = log_of(listed({"alpha0"}, 8));
  const auto cut = [&](const std::string& between) {
    return with(log, kFirstHalf + kSecondHalf, kFirstHalf + between + kSecondHalf);
  };
  for (const std::string& text :
       {cut("alpha0:7000:7100" + info), cut("alpha0:7000:7100" + info + whole + whole),
        cut("     alpha0:7000:7100" + info), cut("[2026-05-04 08:00:01] alpha0:7000:7100" + info),
        with(log, kFirstHalf, "beta9:1:2" + info + kFirstHalf + "beta9:1:2" + info)}) {
    CAPTURE(text);
    const auto rows = read(text);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].bytes == 4096);
    CHECK(rows[0].time_us == Approx(21.0));
  }
  // NCCL's warnings begin with a line break, wherever the row is.
  const std::string warning =
      "\n[2026-05-04 08:00:01] alpha0:7000:7100 [3] misc/socket.cc:100 NCCL WARN Connection "
      "closed\n";
  const std::string row = kFirstHalf + kSecondHalf;
  for (std::size_t at = 1; at + 1 < row.size(); ++at) {
    const auto rows = read(with(log, row, row.substr(0, at) + warning + row.substr(at)));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].bytes == 4096);
    CHECK(rows[0].time_us == Approx(21.0));
  }
  const std::string lost =
      thrown([&] { return read(with(log, kSecondHalf, "alpha0:7000:7100" + info)); });
  CHECK(lost.find("NCCL_DEBUG_FILE") != std::string::npos);
  CHECK(thrown([&] { return read(with(log, kSecondHalf, "\n")); }).find("NCCL_DEBUG_FILE") !=
        std::string::npos);
}

TEST_CASE("a call has the ranks of a group of NCCL_TESTS_SPLIT", "[calibration][nccl-tests-text]") {
  std::vector<Listed> devices = listed({"alpha0", "alpha1"}, 8);
  for (Listed& device : devices) device.group = device.device;
  Measurement row = read(log_of(devices)).at(0);
  CHECK(row.ranks == 2);
  CHECK(row.nodes == 2);
  REQUIRE(row.notes.size() == 1);
  CHECK(row.notes[0].starts_with("8 groups of 2 ranks ran the call at once"));
  for (Listed& device : devices) device.group = device.host == "alpha0" ? 0 : 1;
  row = read(log_of(devices)).at(0);
  CHECK(row.ranks == 8);
  CHECK(row.nodes == 1);
  for (std::size_t i = 14; i < 16; ++i) devices[i].group = 2;
  CHECK(thrown([&] { return read(log_of(devices)); }).find("expected groups that are alike") !=
        std::string::npos);
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].group = static_cast<int>(i);
  CHECK(thrown([&] { return read(log_of(devices)); }).find("every group has one rank") !=
        std::string::npos);
}

TEST_CASE("hosts of one name are as many nodes as each device occurs",
          "[calibration][nccl-tests-text]") {
  const auto twice = read(log_of(listed({"worker", "worker"}, 8)));
  CHECK(twice.at(0).ranks == 16);
  CHECK(twice.at(0).nodes == 2);
  MeasuredFileContext context;
  context.nodes = 2;
  CHECK(read(log_of(listed({"worker", "worker"}, 8)), context).at(0).nodes == 2);
  CHECK(read(log_of(listed({"worker", "worker", "other", "other"}, 4))).at(0).nodes == 4);
  // Buses of their own may be those of a larger node. The user knows.
  std::string buses = log_of(listed({"worker", "worker"}, 8));
  for (std::size_t at = buses.find("[0"), k = 0; at != std::string::npos;
       at = buses.find("[0", at + 2), ++k) {
    buses[at + 1] = k < 8 ? '0' : '1';
  }
  CHECK(read(buses).at(0).nodes == 1);
  CHECK(read(buses, context).at(0).nodes == 2);
  context.nodes = 4;
  CHECK_THROWS_AS(read(buses, context), UserError);
  std::vector<Listed> uneven = listed({"worker", "worker"}, 4);
  uneven.back().device = 5;
  CHECK(thrown([&] { return read(log_of(uneven)); }).find("devices that occur up to 2 times") !=
        std::string::npos);
}

TEST_CASE("ranks that are not those of one call are refused", "[calibration][nccl-tests-text]") {
  std::vector<Listed> devices = listed({"alpha0"}, 8);
  devices.back().host = "alpha1";
  CHECK(thrown([&] {
          return read(log_of(devices));
        }).find("the ranks do not fill the nodes evenly: 7 on 'alpha0', but 1 on 'alpha1'") !=
        std::string::npos);
  // Eight processes of one rank each print their lines in turns.
  std::string log = log_of(listed({"alpha0"}, 8));
  for (int i = 1; i < 8; ++i) log = with(log, "Rank " + std::to_string(i), "Rank 0");
  CHECK(thrown([&] { return read(log); }).find("8 times rank 0, of processes that ran alone") !=
        std::string::npos);
  const std::string two =
      with(with(log_of(listed({"alpha0"}, 4)), "Rank 2", "Rank 0"), "Rank 3", "Rank 1");
  CHECK(thrown([&] { return read(two); }).find("several jobs that ran at once") !=
        std::string::npos);
}

TEST_CASE("lines of others are no part of a run", "[calibration][nccl-tests-text]") {
  const std::string others =
      "Rank 0 on cuda:0 is ready\n(base) user@alpha0:~$\nsize of the world: 8\nOut of memory\n"
      "4 GPUs were found\n";
  const std::string log = log_of(listed({"alpha0"}, 8), others);
  const auto rows =
      read(others + with(log, "# Out of", "Rank 0 on cuda:0 is ready\n(base) $\n# Out of"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].ranks == 8);
}

TEST_CASE("a log that ends inside a row has its other rows, and says so",
          "[calibration][nccl-tests-text]") {
  MeasuredFileContext context;
  context.collective = CollectiveKind::AllReduce;
  const std::string cut = kRun.substr(0, kRun.find("17.21"));
  const auto rows = read(cut, context);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].bytes == 8);
  REQUIRE(rows[0].notes.size() == 1);
  CHECK(rows[0].notes[0] == "the log ends inside a row, line 14, which is left out");
  // A short row with an end is a fault, and so is one without any other.
  CHECK(thrown([&] { return read(cut + "\n", context); }).find("found 9 fields") !=
        std::string::npos);
  CHECK(thrown([&] {
          return read(kRun.substr(0, kRun.find("14.95")), context);
        }).find("found 9 fields") != std::string::npos);
}

TEST_CASE("a run whose summary has wrong values is refused", "[calibration][nccl-tests-text]") {
  const std::string log = with(log_of(listed({"alpha0"}, 8)), "values : 0 OK", "values : 4 FAILED");
  CHECK(thrown([&] { return read(log); }).find("the summary says that 4 values were wrong") !=
        std::string::npos);
}

TEST_CASE("NCCL_ALGO and NCCL_PROTO say what NCCL may choose", "[calibration][nccl-tests-text]") {
  const auto allowed = [](const std::string& front, const std::string& inside) {
    return read(front + log_of(listed({"alpha0"}, 8), inside)).at(0);
  };
  const std::string set = "alpha0:7000:7100 [0] NCCL INFO NCCL_ALGO set by environment to ";
  CHECK(allowed("$ mpirun -np 8 -x NCCL_ALGO=Tree -x NCCL_PROTO=Simple ./all_reduce_perf\n", "")
            .allowed == ":Simple:tree");
  CHECK(allowed("", set + "Tree\n").allowed == "::tree");
  CHECK(allowed("", set + "NVLSTree\n").allowed == "::nvls-tree");
  CHECK(allowed("NCCL_PROTO=LL128 ./build/all_reduce_perf -b 8\n", "").allowed == ":LL128");
  CHECK(allowed("export NCCL_PROTO=\"Simple\"\n", set + "ring.\n").allowed == ":Simple:ring");
  const Measurement other = allowed("$ NCCL_ALGO=^Tree NCCL_P2P_DISABLE=1 ./all_reduce_perf\n", "");
  CHECK(other.allowed.empty());
  CHECK(other.notes ==
        std::vector<std::string>{
            "the run had NCCL_ALGO=^Tree, NCCL_P2P_DISABLE=1, which the simulation leaves out"});
  // A variable is that of its run.
  const auto rows = read("$ NCCL_ALGO=Tree ./all_reduce_perf\n" + log_of(listed({"alpha0"}, 8)) +
                         "$ ./all_reduce_perf\n" + log_of(listed({"alpha0"}, 8)));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].allowed == "::tree");
  CHECK(rows[1].allowed.empty());
  // A shell exports it for all later runs, not for those before.
  const auto exported =
      read(log_of(listed({"alpha0"}, 8)) + "+ export NCCL_ALGO=Ring\n+ ./all_reduce_perf\n" +
           log_of(listed({"alpha0"}, 8)) + log_of(listed({"alpha0"}, 8)));
  REQUIRE(exported.size() == 3);
  CHECK(exported[0].allowed.empty());
  CHECK(exported[1].allowed == "::ring");
  CHECK(exported[2].allowed == "::ring");
  const auto unset = read("$ export NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0\n" +
                          log_of(listed({"alpha0"}, 8)) + "+ unset NCCL_ALGO NCCL_NVLS_ENABLE\n" +
                          log_of(listed({"alpha0"}, 8)) + log_of(listed({"alpha0"}, 8)));
  REQUIRE(unset.size() == 3);
  CHECK(unset[0].allowed == "::ring");
  CHECK(unset[0].settings == "NCCL_NVLS_ENABLE=0");
  for (std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    CHECK(unset[k].allowed.empty());
    CHECK(unset[k].settings.empty());
    CHECK(unset[k].notes.empty());
  }
  // Shells separate commands; comments set nothing, and a note says so.
  const auto separated =
      read("export NCCL_ALGO=Ring; ./all_reduce_perf\n" + log_of(listed({"alpha0"}, 8)) +
           "unset NCCL_ALGO&& ./all_reduce_perf\n" + log_of(listed({"alpha0"}, 8)));
  CHECK(separated.at(0).allowed == "::ring");
  CHECK(separated.at(0).notes.empty());
  CHECK(separated.at(1).allowed.empty());
  for (const char* comment :
       {"#export NCCL_ALGO=Ring\n", "# We do not set NCCL_ALGO=Ring here\n"}) {
    CHECK(allowed(comment, "").allowed.empty());
    REQUIRE(allowed(comment, "").notes.size() == 1);
    CHECK(allowed(comment, "").notes[0].find("line 1 is a comment") == 0);
  }
  CHECK(allowed("echo NCCL_ALGO=Ring is bad\n", "").allowed.empty());
  CHECK(allowed("# NCCL_ALGO=Ring ./all_reduce_perf\n", "").allowed == "::ring");  // root's prompt
  CHECK(allowed("srun --export=ALL,NCCL_ALGO=Ring,NCCL_PROTO=LL ./all_reduce_perf\n", "").allowed ==
        ":LL:ring");
  CHECK(allowed("mpiexec -genv NCCL_ALGO Ring ./all_reduce_perf\n", "").allowed == "::ring");
  CHECK(allowed("$ NCCL_CROSS_NIC=0 ./all_reduce_perf\n", "").cross_nic == false);
  CHECK(allowed("$ NCCL_CROSS_NIC=2 ./all_reduce_perf\n", "").cross_nic == true);
  CHECK_FALSE(rows[0].cross_nic);
}

TEST_CASE("a log says its network, and its command what the output leaves out",
          "[calibration][nccl-tests-text]") {
  const auto first = [](const std::string& front, const std::string& inside) {
    return read(front + log_of(listed({"alpha0"}, 8), inside)).at(0);
  };
  const std::string info = "alpha0:7000:7100 [0] NCCL INFO ";
  CHECK(first("", info + "Using network Socket\n").network == NetworkKind::Tcp);
  CHECK(first("", info + "Using network IB\n").network == NetworkKind::InfiniBand);
  CHECK(first("", info + "NET/OFI Selected Provider is efa (found 4 nics)\n").network ==
        NetworkKind::Efa);
  CHECK(first("", info + "NET/OFI Selected Provider is cxi (found 4 nics)\n").network ==
        NetworkKind::Slingshot);
  CHECK(first("", info + "Using network FasTrak\n").network == NetworkKind::Other);
  CHECK(first("", info + "Using network GPUDirectTCPX_v7\n").network == NetworkKind::Other);
  CHECK_FALSE(first("", info + "Using network Unheard\n").network);
  CHECK(first("$ ./all_reduce_perf -b 8 -R 2\n", "").notes.size() == 1);
  CHECK(first("$ ./all_reduce_perf -b 8 -D 2\n", "").notes.size() == 1);
  CHECK(first("$ ./all_reduce_perf -b 8 -R 0 -g 8\n", "").notes.empty());
}

}  // namespace
}  // namespace cclgym::test
