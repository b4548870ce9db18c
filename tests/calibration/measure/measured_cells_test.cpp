// Tests of cells: rows that need the same simulation, and how it is chosen.
#include "calibration/measure/measured_cells.hpp"

#include <fmt/core.h>

#include "calibration/measure/csv_file.hpp"
#include "calibration/measured_row.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("rows with the same question are one cell with their median",
          "[calibration][measured-cells]") {
  const CsvFile file(std::string(kCsvHeader) +
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
          "[calibration][measured-cells]") {
  const CsvFile file(std::string(kCsvHeader) + "Polariss,8,2,all_reduce,64,10\n");
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
          "[calibration][measured-cells]") {
  const CsvFile file(std::string(kCsvHeader) +
                     "Alps-GH200,8,2,all_reduce,64,10\nPolaris,8,2,all_reduce,64,30\n");
  const auto rows = read_measured_file(file.path);
  CHECK(thrown([&] { require_one_system(make_cells(rows, {}, "m.csv"), "m.csv"); }) ==
        "m.csv: has rows of 2 systems (Alps-GH200, Polaris); choose one "
        "with --system, or several systems of the same kind");
  CellFilter one;
  one.systems = {"Polaris"};
  CHECK_NOTHROW(require_one_system(make_cells(rows, one, "m.csv"), "m.csv"));
}

TEST_CASE("rows are simulated as their release, their environment or the user says",
          "[calibration][measured-cells]") {
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
