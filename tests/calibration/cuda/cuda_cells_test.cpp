#include "calibration/cuda/cuda_cells.hpp"

#include <algorithm>
#include <set>

#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/cuda_testing.hpp"
#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "support/catch.hpp"

namespace cclgym {

namespace {

std::size_t count_of(const CellTable& table, const std::string& column, const std::string& value) {
  return static_cast<std::size_t>(
      std::count_if(table.cells.begin(), table.cells.end(),
                    [&](const CalibrationCell& cell) { return cell.at(column) == value; }));
}

std::set<std::string> values_of(const CellTable& table, const std::string& column) {
  std::set<std::string> values;
  for (const CalibrationCell& cell : table.cells) values.insert(cell.at(column));
  return values;
}

}  // namespace

TEST_CASE("every benchmark of the backend cuda has cells, all different, with every column",
          "[calibration][cuda-cells]") {
  const CellTable table = cuda_cells();
  CHECK(table.columns.size() == 7);
  for (const CudaBenchmark& benchmark : cuda_benchmarks()) {
    INFO(benchmark.name);
    CHECK(count_of(table, "benchmark", benchmark.name) >= 1);
  }
  for (const CalibrationCell& cell : table.cells) {
    CHECK(cell.size() == table.columns.size());
    for (const std::string& column : table.columns) CHECK(cell.contains(column));
  }
  CHECK(std::set<CalibrationCell>(table.cells.begin(), table.cells.end()).size() ==
        table.cells.size());
  // Blocks have 64 to 640 threads, and chunks have the size of NCCL's slots.
  const CellTable copies = cuda_cells({{"benchmarks", "copy_block"}});
  CHECK(values_of(copies, "threads").contains("64"));
  CHECK(values_of(copies, "threads").contains("640"));
  CHECK(default_chunk_bytes("LL") == 32768);
  CHECK(default_chunk_bytes("LL128") == 576000);
}

TEST_CASE("a user's lists replace the defaults of the benchmarks that use them",
          "[calibration][cuda-cells]") {
  const CellTable table = cuda_cells({{"benchmarks", "flag_step, ring_allreduce"},
                                      {"protocols", "LL"},
                                      {"threads", "64,128"},
                                      {"blocks", "4"},
                                      {"sizes", "1KiB..4KiB x2"},
                                      {"chunks", "4KiB"}});
  CHECK(values_of(table, "protocol") == std::set<std::string>{"LL"});
  CHECK(values_of(table, "bytes") == std::set<std::string>{"1024", "2048", "4096"});
  CHECK(values_of(table, "chunk_bytes") == std::set<std::string>{"4096"});
  // flag_step always has two blocks, with flags on the GPU and in host memory.
  CHECK(count_of(table, "benchmark", "flag_step") == 2 * 2 * 3);
  CHECK(count_of(table, "benchmark", "ring_allreduce") == 2 * 3);
  CHECK(values_of(table, "blocks") == std::set<std::string>{"2", "4"});
  // Launches move no bytes.
  CHECK(values_of(cuda_cells({{"benchmarks", "launch_sync"}, {"sizes", "1MiB"}}), "bytes") ==
        std::set<std::string>{"0"});
}

TEST_CASE("lists that cannot be read are refused with the option and the nearest name",
          "[calibration][cuda-cells]") {
  CHECK_THROWS_WITH(cuda_cells({{"benchmarks", "flag_stp"}}),
                    test::has_text("--benchmarks") && test::has_text("did you mean 'flag_step'?"));
  CHECK_THROWS_WITH(cuda_cells({{"thread", "64"}}), test::has_text("'threads'"));
  CHECK_THROWS_AS(cuda_cells({{"threads", "48"}}), UserError);
  CHECK_THROWS_WITH(cuda_cells({{"sizes", "24B"}}), test::has_text("multiple of 16 B"));
  CHECK_THROWS_WITH(nccl_cells({{"sizes", "6B"}}), test::has_text("multiples of 4 B"));
  CHECK_THROWS_AS(nccl_worker_arguments({{"mode", "copis"}}), UserError);
  CHECK_THROWS_AS(read_nccl_worker_arguments({"--ranks"}), UserError);
}

TEST_CASE("cells of the backend nccl leave out what NCCL does not have",
          "[calibration][cuda-cells]") {
  const CellTable table = nccl_cells({{"sizes", "1MiB"}, {"placement", "out"}, {"channels", "2"}});
  // There are five collectives with NCCL's default, five with ring and 3 protocols, and AllReduce
  // with tree and 3 protocols.
  CHECK(table.cells.size() == 5 + 5 * 3 + 3);
  for (const CalibrationCell& cell : table.cells) {
    if (cell.at("algorithm") == "tree") CHECK(cell.at("collective") == "allreduce");
    if (cell.at("algorithm") == "default") CHECK(cell.at("protocol") == "default");
  }
  const CellTable nvls = nccl_cells({{"sizes", "1MiB"}, {"algorithms", "nvls"}});
  CHECK(values_of(nvls, "protocol") == std::set<std::string>{"Simple"});
  CHECK(values_of(nvls, "collective") ==
        std::set<std::string>{"allgather", "allreduce", "reducescatter"});
  CHECK(values_of(nvls, "in_place") == std::set<std::string>{"0", "1"});
}

TEST_CASE("the worker's arguments are read back, with defaults for the rest",
          "[calibration][cuda-cells]") {
  const std::vector<std::string> arguments =
      nccl_worker_arguments({{"mode", "copies"}, {"ranks", "3"}});
  CHECK(arguments == std::vector<std::string>{"--mode=copies", "--ranks=3"});
  const OptionTexts texts = read_nccl_worker_arguments(arguments);
  CHECK(texts.at("mode") == "copies");
  CHECK(texts.at("ranks") == "3");
  CHECK(texts.at("timeout") == "30s");
  CHECK(texts.size() == nccl_worker_options().size());
}

TEST_CASE("the tuner plugin obeys the CSV of a configuration at every size",
          "[calibration][cuda-cells]") {
  const RowChoices ring(tuner_csv_for("ring", "LL128", 4), "ring", 4, 4);
  const RowChoices tree(tuner_csv_for("tree", "Simple", 0), "tree", 2, 1);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{1} << 36}) {
    for (int collective = 0; collective < 5; ++collective) {
      const auto wanted = ring.wanted(collective, bytes, 1);
      REQUIRE(wanted.size() == 1);
      CHECK(wanted.front() == TunerChoice{1, 1, 4, 0});
    }
    CHECK(tree.wanted(CCLGYM_NCCL_ALLREDUCE, bytes, 1).front() == TunerChoice{0, 2, 0, 0});
    CHECK(tree.wanted(CCLGYM_NCCL_ALLGATHER, bytes, 1).empty());
  }
}

TEST_CASE("bus bandwidth is that of nccl-tests", "[calibration][cuda-cells]") {
  CHECK(bus_factor("allreduce", 4) == Approx(1.5));
  CHECK(bus_factor("allgather", 4) == Approx(0.75));
  CHECK(bus_factor("reducescatter", 8) == Approx(0.875));
  CHECK(bus_factor("broadcast", 8) == 1);
  CHECK_THROWS(bus_factor("alltoall", 8));
}

TEST_CASE("the build reports its libraries, or the missing ones", "[calibration][cuda-cells]") {
  const CudaBuild& info = cuda_build_info();
  CHECK(info.built == info.missing.empty());
  CHECK(info.built == !info.toolkit.empty());
  if (info.built) {
    CHECK_THAT(cuda_build_text(), test::has_text("CUDA " + info.toolkit));
  } else {
    CHECK(cuda_build_text() == "without CUDA");
    CHECK_THAT(cuda_missing_message("cuda"), test::has_text(info.missing));
  }
}

}  // namespace cclgym
