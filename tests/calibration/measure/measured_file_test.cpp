// Tests of valid and invalid measured CSVs.
#include "experiments/measured/measured_file.hpp"

#include <fmt/core.h>

#include "calibration/measure/measured_cells.hpp"
#include "calibration/measured_row.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

constexpr const char* kHeader = "system,ranks,nodes,collective,size_bytes,time_us_median\n";

struct File {
  TemporaryFolder folder{};
  std::string path = folder / "m.csv";
  explicit File(const std::string& text) { write_file(path, text); }
};

// The message without the folder in front of the file's name.
std::string refusal(const std::string& text) {
  const File file(text);
  const std::string message = thrown([&] { return read_measured_file(file.path); });
  const std::size_t place = message.find("m.csv");
  return place == std::string::npos ? message : message.substr(place);
}

TEST_CASE("the file that an experiment shows can be compared and fitted",
          "[calibration][measured-file]") {
  SECTION("its columns: a fabric's label and time_us") {
    const File file(
        "system,config,fabric,collective,ranks,size_bytes,time_us,source\n"
        "Mine,nccl,ndv4 nodes=2,allreduce,16,1024,17.34,me\n");
    const std::vector<Measurement> rows = read_measured_file(file.path);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].nodes == 2);
    CHECK(rows[0].time_s == Approx(17.34e-6));
    // A system without a name that is known is on the fabric of the column.
    const MeasuredCells cells = make_cells(rows, {}, file.path);
    REQUIRE(cells.cells.size() == 1);
    CHECK(cells.cells[0].system == "Mine");
    CHECK(cells.cells[0].fabric.name == "ndv4");
    CHECK(cells.cells[0].fabric.servers == 2);
  }
  SECTION("programs of MSCCL are not taken for NCCL's choice") {
    const std::string path = source_path("experiments/measured/azure-ndv4.csv");
    const MeasuredCells cells = make_cells(read_measured_file(path), {}, path);
    CHECK(cells.rows == 57);
    CHECK(cells.cells.size() == 19);
    for (const MeasuredCell& cell : cells.cells) CHECK(cell.rows == 1);
    CHECK(cells.refused.size() == 2);
  }
}

TEST_CASE("a measured CSV is read, columns in any order", "[calibration][measured-file]") {
  const File file(
      "# a comment\n"
      "time_us_median,size_bytes,collective,gpus_per_node,ranks,config,nccl_version,system,source\n"
      "12.5,64,all_reduce,4,8,quiet,2.18,Polaris,somebody/somewhere\r\n"
      "7,128,sendrecv,8,4,,,Own,\n");
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].system == "Polaris");
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].nodes == 2);
  CHECK(rows[0].nccl_version == "2.18");
  CHECK(rows[0].config == "quiet");
  CHECK(rows[0].collective == CollectiveKind::AllReduce);
  CHECK(rows[0].bytes == 64);
  CHECK(rows[0].time_s == Approx(12.5e-6));
  CHECK(rows[0].source == "somebody/somewhere");
  CHECK(rows[0].where.line == 3);
  CHECK(rows[1].collective == CollectiveKind::AllToNext);
  CHECK(rows[1].nodes == 1);
}

TEST_CASE("a row in which a policy chose has the configuration that NCCL logged",
          "[calibration][measured-file]") {
  // As cclgym calibrate nccl --algorithms default,policy writes them.
  const std::string head =
      "system,ranks,nodes,collective,size_bytes,time_us_median,algorithm,protocol,channels,extra\n";
  const auto row = [](int bytes, const std::string& algorithm, const std::string& extra) {
    return "own,8,2,all_reduce," + std::to_string(bytes) + ",20," + algorithm + ",,," + extra +
           "\n";
  };
  const File file(
      head +
      row(64, "policy", "logged_calls=70;used_algorithm=ring;used_protocol=LL;used_channels=4") +
      row(65, "policy", "used_channels=16;used_protocol=Simple;used_algorithm=nvls_tree") +
      // Rows without such an entry, and with an algorithm that the library does not have.
      row(66, "policy", "") + row(67, "policy", "used_algorithm=ring;used_protocol=LL") +
      row(68, "policy", "used_algorithm=ring;used_protocol=LL;used_channels=0") +
      row(69, "policy", "used_algorithm=mscclpp;used_protocol=LL;used_channels=4") +
      row(70, "default", "used_algorithm=ring;used_protocol=LL;used_channels=4"));
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].bytes == 64);
  CHECK(rows[0].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 4});
  CHECK(rows[1].named ==
        Config{.algorithm = "nvls-tree", .protocol = Protocol::Simple, .channels = 16});
  // NCCL's own choice is the model's to predict.
  CHECK(rows[2].bytes == 70);
  CHECK_FALSE(rows[2].named.has_value());
}

TEST_CASE("a row of a named algorithm has the channels that NCCL logged",
          "[calibration][measured-file]") {
  const std::string head =
      "system,ranks,nodes,collective,size_bytes,time_us_median,algorithm,protocol,channels,extra\n";
  const File file(head +
                  "own,8,2,all_reduce,64,20,ring,LL,4,used_algorithm=ring;used_protocol=LL;"
                  "used_channels=1\n" +
                  "own,8,2,all_reduce,64,20,ring,LL,4,\n");
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 1});
  CHECK(rows[1].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 4});
}

TEST_CASE("each fault of a measured CSV has one message with its place",
          "[calibration][measured-file]") {
  const std::string header = kHeader;
  CHECK(
      refusal("system,ranks,nodes,collective,size_bytes\nP,8,2,all_reduce,64\n")
          .starts_with("m.csv:1:1: without column 'time_us_median' (or 'time_us'); expected ranks, "
                       "collective, size_bytes, time_us_median or time_us (sizes in bytes, "
                       "times in microseconds)"));
  CHECK(refusal("system,ranks,collective,size_bytes,time_ms_median\nP,8,all_reduce,64,1\n")
            .starts_with(
                "m.csv:1:1: without column 'time_us_median' (or 'time_us'), and with unknown "
                "'time_ms_median'"));
  CHECK(refusal("ranks,ranks,collective,size_bytes,time_us_median\n8,8,all_reduce,64,1\n") ==
        "m.csv:1:1: column 'ranks' occurs twice");
  CHECK(refusal(header + "P,8,2,all_reduce,64,12us\n") ==
        "m.csv:2:21: time_us_median is '12us'; expected a number of microseconds without a unit");
  CHECK(refusal(header + "P,8,2,all_reduce,64,nan\n") ==
        "m.csv:2:21: time_us_median is 'nan'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,inf\n") ==
        "m.csv:2:21: time_us_median is 'inf'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,0\n") ==
        "m.csv:2:21: time_us_median is '0'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,-3\n") ==
        "m.csv:2:21: time_us_median is '-3'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64KiB,3\n") ==
        "m.csv:2:18: size_bytes is '64KiB'; expected a whole number of bytes > 0, without a unit");
  CHECK(refusal(header + "P,8,2,all_reduce,0,3\n") ==
        "m.csv:2:18: size_bytes is '0'; expected a whole number of bytes > 0, without a unit");
  CHECK(refusal(header + "P,9,2,all_reduce,64,3\n") ==
        "m.csv:2:3: ranks is 9, which is not a multiple of the 2 nodes");
  CHECK(refusal(header + "P,1,1,all_reduce,64,3\n") == "m.csv:2:3: ranks is 1; expected >= 2");
  CHECK(
      refusal(header + "P,8,2,all_reduse,64,3\n")
          .starts_with("m.csv:2:7: unknown collective 'all_reduse'; expected one of all_reduce, "));
  const std::string optional =
      refusal("system,ranks\nP,8\n").substr(refusal("system,ranks\nP,8\n").find("others of "));
  CHECK(
      optional.starts_with("others of system, gpu, gpus_per_node, nodes, fabric, nccl_version, "
                           "config, time_us_min, time_us_max, samples, "));
  CHECK(optional.find("size_bytes") == std::string::npos);
  CHECK(refusal("ranks,collective,size_bytes,time_us,time_us_median\n8,all_reduce,64,1,2\n") ==
        "m.csv:1:1: found the columns 'time_us_median' and 'time_us'; expected one of them, with "
        "the median time");
  const std::string extremes = "ranks,collective,size_bytes,time_us,time_us_min,time_us_max\n";
  CHECK(refusal(extremes + "8,all_reduce,64,12.5,20,30\n") ==
        "m.csv:2:22: time_us_min is 20, but time_us is 12.5; expected at most the median");
  CHECK(refusal(extremes + "8,all_reduce,64,12.5,,11\n") ==
        "m.csv:2:23: time_us_max is 11, but time_us is 12.5; expected at least the median");
  const std::string forced = "ranks,collective,size_bytes,time_us,algorithm,protocol,channels\n";
  CHECK(refusal(forced + "8,all_reduce,64,12.5,rign,LL,1\n")
            .starts_with("m.csv:2:22: unknown algorithm 'rign'; expected one of "));
  CHECK(refusal(forced + "8,all_reduce,64,12.5,ring,LL64,1\n") ==
        "m.csv:2:27: unknown protocol 'LL64'; expected one of LL, LL128, Simple (did you mean "
        "'LL'?)");
  CHECK(refusal(forced + "8,all_reduce,64,12.5,ring,LL,65\n") ==
        "m.csv:2:30: channels is 65; expected >= 1, <= 64");
  CHECK(refusal(header + "P,8,2,all_reduce,64\n") ==
        "m.csv:2:1: found 5 fields; the header line has 6");
  CHECK(refusal(header) == "m.csv: has a header line but no measurement");
  CHECK(refusal("").starts_with("m.csv: is empty; expected CSV with a header line"));
  CHECK(refusal("\n size,time\n1,2\n")
            .starts_with("m.csv:2:2: found 'size,time'; expected CSV with a header line"));
}

TEST_CASE("options that every row contradicts are refused", "[calibration][measured-file]") {
  const auto told = [](const std::string& text, const MeasuredFileContext& context) {
    const File file(text);
    const std::string message = thrown([&] { return read_measured_file(file.path, context); });
    const std::size_t place = message.find("m.csv");
    return place == std::string::npos ? message : message.substr(place);
  };
  const std::string rows =
      std::string(kHeader) + "P,4,2,all_reduce,64,10\nP,2,2,all_reduce,64,10\n";
  MeasuredFileContext context;
  context.ranks = 8;
  CHECK(told(rows, context) ==
        "m.csv:2:1: ranks is 4, but --ranks says 8, which is for rows without a value: all of "
        "these have one; leave it out");
  context = {};
  context.nodes = 1;
  CHECK(told(rows, context).starts_with("m.csv:2:1: nodes is 2, but --nodes says 1"));
  // The option applies to rows without a value, like the one added here.
  const File file(rows + "P,2,,all_reduce,128,10\n");
  const std::vector<Measurement> read = read_measured_file(file.path, context);
  CHECK(read.back().nodes == 1);
  CHECK(read.front().nodes == 2);
  context.nodes = 2;
  const File same(rows);
  CHECK(read_measured_file(same.path, context).size() == 2);
}

TEST_CASE("rows with the same question are one cell with their median",
          "[calibration][measured-file]") {
  const File file(std::string(kHeader) +
                  "Alps-GH200,8,2,all_reduce,64,10\nAlps-GH200,8,2,all_reduce,64,30\n"
                  "Alps-GH200,8,2,all_reduce,64,11\nAlps-GH200,4,1,all_reduce,64,5\n");
  const auto rows = read_measured_file(file.path);
  const MeasuredCells cells = make_cells(rows, {}, file.path);
  REQUIRE(cells.cells.size() == 2);
  CHECK(cells.rows == 4);
  CHECK(cells.cells[0].ranks == 4);
  CHECK(cells.cells[1].rows == 3);
  CHECK(cells.cells[1].time_s == Approx(11e-6));
  CHECK(cells.cells[1].least_s == Approx(10e-6));
  CHECK(cells.cells[1].most_s == Approx(30e-6));
  CHECK(cells.cells[1].nccl_version == "2.23.4");

  CellFilter few;
  few.max_ranks = 4;
  const MeasuredCells left = make_cells(rows, few, file.path);
  CHECK(left.cells.size() == 1);
  CHECK(left.left_out == 3);
}

TEST_CASE("an empty filter result reports the file's names; unknown systems get the nearest name",
          "[calibration][measured-file]") {
  const File file(std::string(kHeader) + "Polariss,8,2,all_reduce,64,10\n");
  const auto rows = read_measured_file(file.path);
  CellFilter none;
  none.configs = {"quiet"};
  CHECK(thrown([&] { return make_cells(rows, none, "m.csv"); }) ==
        "m.csv: no row of 1 is left after the filter; the file has systems 'Polariss', configs '', "
        "collectives 'allreduce', 8 to 8 ranks");
  const std::string unknown = thrown([&] { return make_cells(rows, {}, "m.csv"); });
  CHECK(unknown.find(":2:1: unknown system 'Polariss'") != std::string::npos);
  CHECK(unknown.find("did you mean 'Polaris'?") != std::string::npos);
  CellFilter own;
  own.fabric = "polaris";
  CHECK(make_cells(rows, own, "m.csv").cells.size() == 1);
}

TEST_CASE("rows of several systems are not fitted together by accident",
          "[calibration][measured-file]") {
  const File file(std::string(kHeader) +
                  "Alps-GH200,8,2,all_reduce,64,10\nPolaris,8,2,all_reduce,64,30\n");
  const auto rows = read_measured_file(file.path);
  CHECK(thrown([&] { require_one_system(make_cells(rows, {}, "m.csv"), "m.csv"); }) ==
        "m.csv: has rows of 2 systems (Alps-GH200, Polaris); choose one "
        "with --system, or several systems of the same kind");
  CellFilter one;
  one.systems = {"Polaris"};
  CHECK_NOTHROW(require_one_system(make_cells(rows, one, "m.csv"), "m.csv"));
}

TEST_CASE("the CSV of rccl-tests has other names for the columns", "[calibration][measured-file]") {
  const std::string header =
      "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,"
      "algbw,busbw,#wrong\n";
  const File file(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,0\n" +
                  "0,AllReduce,1,8,8,1,4096,float,sum,1,22.00,1,1.75,0\n" +
                  "0,AllGather,2,8,4,2,8192,float,sum,0,27.50,1,1.75,0\n");
  const auto rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].bytes == 4096);
  CHECK(rows[0].time_s == Approx(21e-6));
  CHECK(rows[1].collective == CollectiveKind::AllGather);
  CHECK(rows[1].ranks == 16);
  CHECK(rows[1].nodes == 2);
  CHECK(refusal(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,3\n") ==
        "m.csv:2:51: wrong is 3; times of a wrong run are meaningless");
  const File unchecked(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,N/A\n");
  CHECK(read_measured_file(unchecked.path).size() == 1);
}

TEST_CASE("rows are simulated as their release, their environment or the user says",
          "[calibration][measured-file]") {
  Measurement row = measured_row("2.14.3");
  row.system = "Polaris";
  row.nodes = 2;
  const auto cell_of = [](const Measurement& measured, const CellFilter& filter = {}) {
    const std::vector<Measurement> rows{measured};
    const MeasuredCells cells = make_cells(rows, filter, "m.csv");
    REQUIRE(cells.cells.size() == 1);
    return std::pair(cells.cells[0], cells.warnings);
  };
  SECTION("a release without a model is simulated as the nearest one, with a warning") {
    const auto [cell, warnings] = cell_of(row);
    CHECK(cell.nccl_version == "2.18.0");
    CHECK(warnings == std::vector<std::string>{
                          "m.csv:2:1: the choice of NCCL 2.14.3 is not modelled; its rows are "
                          "simulated as of 2.18.0, the nearest one"});
    row.nccl_version = "2.9.6";
    CHECK(cell_of(row).first.nccl_version == "2.8.4");
    row.nccl_version = "2.21.5";
    CHECK(cell_of(row).second.empty());
    row.nccl_version = "1.3.4";
    CHECK_THROWS_AS(cell_of(row), UserError);
  }
  SECTION("NCCL_ALGO and NCCL_PROTO restrict its choice") {
    row.allowed = "::tree";
    CHECK(cell_of(row).first.tuner == "nccl-default:2.18.0::tree");
    row.named = Config{.algorithm = "ring", .protocol = Protocol::LL};
    row.channels_stated = false;
    CHECK(cell_of(row).first.tuner == "nccl-default:2.18.0:LL:ring");
  }
  SECTION("a release that nothing states is the newest one, with a warning") {
    row.nccl_version.clear();
    row.allowed = "::tree";
    const CellFilter filter{.fabric = "hgx-h100"};
    row.system.clear();
    const auto [cell, warnings] = cell_of(row, filter);
    CHECK(cell.tuner == fmt::format("nccl-default:{}::tree", kNewestNccl.to_string()));
    CHECK(warnings == std::vector<std::string>{fmt::format(
                          "m.csv:2:1: the rows do not state NCCL's release; its choice is that of "
                          "{} (--nccl names another)",
                          kNewestNccl.to_string())});
  }
  SECTION("calls of one size that differ in type, operation or root are one cell, with a warning") {
    row.nccl_version = "2.21.5";
    row.printed = {.count = 1, .type = "float", .redop = "sum", .root = -1};
    Measurement other = row;
    other.printed.type = "half";
    other.time_s *= 2;
    const std::vector<Measurement> rows{row, row, other};
    const MeasuredCells cells = make_cells(rows, {}, "m.csv");
    REQUIRE(cells.cells.size() == 1);
    CHECK(cells.cells[0].time_s == Approx(row.time_s));
    CHECK(cells.warnings ==
          std::vector<std::string>{
              "m.csv:2:1: rows of one call differ in type: float and half, which "
              "the simulation leaves out; the time of each size is their median"});
  }
  SECTION(
      "runs with other variables are one cell, with a warning; those of other GPUs are refused") {
    row.nccl_version = "2.21.5";
    Measurement other = row;
    other.settings = "NCCL_NVLS_ENABLE=0";
    const std::vector<Measurement> rows{row, other};
    CHECK(make_cells(rows, {}, "m.csv").warnings ==
          std::vector<std::string>{
              "m.csv:2:1: rows of one call differ in settings: no variables and "
              "NCCL_NVLS_ENABLE=0, which the simulation leaves out; the time of each size is their "
              "median"});
    row.gpu = "NVIDIA H100 80GB HBM3";
    other.gpu = "NVIDIA A100-SXM4-40GB";
    const std::vector<Measurement> two{row, other};
    CHECK(thrown([&] { return make_cells(two, {}, "m.csv"); }) ==
          "m.csv:2:1: the run is on NVIDIA A100-SXM4-40GB, but the same call in line 2 on NVIDIA "
          "H100 80GB HBM3; give each machine a file of its own");
  }
  SECTION("the network and the rails of a log are those of the fabric, or a warning says so") {
    row.nccl_version = "2.21.5";
    row.system.clear();
    CellFilter filter{.fabric = "hgx-h100"};
    row.network = NetworkKind::InfiniBand;
    CHECK(cell_of(row, filter).second.empty());
    row.network = NetworkKind::Tcp;
    REQUIRE(cell_of(row, filter).second.size() == 1);
    CHECK(cell_of(row, filter)
              .second[0]
              .find("network tcp, but hgx-h100 is simulated on "
                    "infiniband") != std::string::npos);
    Measurement faster = row;
    faster.network = NetworkKind::InfiniBand;
    const std::vector<Measurement> networks{row, faster};
    CHECK(thrown([&] { return make_cells(networks, filter, "m.csv"); }) ==
          "m.csv:2:1: the run is over infiniband, but the same call in line 2 over tcp; give each "
          "network a file of its own");
    row.network.reset();
    row.cross_nic = false;
    CHECK(cell_of(row, filter).second.size() == 1);
    filter.fabric = "alps";
    CHECK(cell_of(row, filter).second.empty());
    CHECK(cell_of(row, filter).first.fabric.cross_nic == false);
    Measurement crossing = row;
    crossing.cross_nic = true;
    const std::vector<Measurement> rows{row, crossing};
    CHECK(make_cells(rows, filter, "m.csv").cells.size() == 2);
  }
  SECTION("AMD's GPUs run RCCL") {
    row.system.clear();
    row.nodes = 1;
    CellFilter filter{.fabric = "mi300x"};
    CHECK(cell_of(row, filter).first.tuner == "rccl-default");
    filter.nccl_version = "2.22.3";
    CHECK(cell_of(row, filter).first.tuner == "rccl-default");
    set_tuner(filter, "ring/Simple/56", {});
    CHECK(cell_of(row, filter).first.named->channels == 56);
    set_tuner(filter, "ring", {});
    const std::vector<Measurement> rows{row};
    const MeasuredCells named = make_cells(rows, filter, "m.csv");
    REQUIRE(named.refused.size() == 1);
    CHECK(named.refused[0].reason.find("name all three (--tuner ring/Simple/56)") !=
          std::string::npos);
  }
  SECTION("an option that the log overrides is named") {
    row.nccl_version = "2.21.5";
    row.allowed = "::ring";
    CellFilter filter;
    set_tuner(filter, "tree", {});
    REQUIRE(cell_of(row, filter).second.size() == 1);
    CHECK(cell_of(row, filter).second[0].find("--tuner is for rows that do not") !=
          std::string::npos);
  }
  SECTION("sendrecv_perf also sends from the last rank to the first one") {
    row.nccl_version = "2.21.5";
    row.collective = CollectiveKind::AllToNext;
    row.printed.count = 1;
    CHECK(cell_of(row).second.size() == 1);
    row.printed.count = 0;
    CHECK(cell_of(row).second.empty());
  }
  SECTION("notes of rows become warnings, each once") {
    row.notes = {"something is left out"};
    const std::vector<Measurement> rows{row, row};
    CHECK(make_cells(rows, {}, "m.csv").warnings.size() == 2);
  }
  SECTION("a tuner or a configuration is for rows that state none") {
    CellFilter filter;
    filter.tuner = "rccl-default";
    CHECK(cell_of(row, filter).first.tuner == "rccl-default");
    CHECK(cell_of(row, filter).second ==
          std::vector<std::string>{"m.csv:2:1: the choice of RCCL 2.14.3 is not modelled; its rows "
                                   "are simulated as of 2.20.5"});
    row.nccl_version = "2.20.5";
    CHECK(cell_of(row, filter).second.empty());
    row.nccl_version = "2.14.3";
    row.allowed = ":LL";
    CHECK(cell_of(row, filter).first.tuner == "nccl-default:2.18.0:LL");
    row.allowed.clear();
    filter.tuner.clear();
    filter.named = Config{.algorithm = "tree", .protocol = Protocol::LL128, .channels = 2};
    CHECK(cell_of(row, filter).first.named->algorithm == "tree");
    // NCCL chooses the channels that are not named, if its release is known.
    filter.channels_named = false;
    CHECK(cell_of(row, filter).first.tuner == "nccl-default:2.18.0:LL128:tree");
    CHECK_FALSE(cell_of(row, filter).first.named);
    // Nor is the protocol, if it is not named.
    filter = {};
    set_tuner(filter, "tree", {});
    CHECK(cell_of(row, filter).first.tuner == "nccl-default:2.18.0::tree");
    set_tuner(filter, "tree/LL128", {});
    CHECK(cell_of(row, filter).first.tuner == "nccl-default:2.18.0:LL128:tree");
    // NCCL's tuner has the release of the row, unless it names one.
    filter = {};
    set_tuner(filter, "nccl-default", {});
    row.nccl_version = "2.21.5";
    CHECK(cell_of(row, filter).first.nccl_version == "2.21.5");
    CHECK(cell_of(row, filter).first.tuner.empty());
    set_tuner(filter, "nccl-default:2.18", {});
    CHECK(cell_of(row, filter).first.nccl_version == "2.18.0");
    filter = {};
    filter.named = Config{.algorithm = "tree", .protocol = Protocol::LL128, .channels = 2};
    filter.channels_named = false;
    row.nccl_version.clear();
    row.system.clear();
    filter.fabric = "hgx-h100";
    REQUIRE(cell_of(row, filter).first.named);
    CHECK(cell_of(row, filter).first.named->channels == 2);
    REQUIRE(cell_of(row, filter).second.size() == 1);
    CHECK(cell_of(row, filter).second[0].find("tree without a number of channels") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace cclgym::test
