#include "calibration/cuda/cuda_cells.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kMi = 1024 * kKi;
constexpr std::uint64_t kAccessBytes = 16;

// Default grid of a benchmark: the cross product of its lists.
struct Grid {
  std::string benchmark;
  bool protocols = false;
  std::string flags = "none";
  std::vector<std::int64_t> threads{0};
  std::vector<std::int64_t> blocks{1};
  std::vector<std::uint64_t> bytes{0};
  std::vector<std::uint64_t> chunks{0};  ///< 0: the protocol's own chunk, if it has one
};

const std::vector<Grid>& grids() {
  static const std::vector<std::int64_t> all_threads{64,  96,  128, 192, 256, 320,
                                                     384, 448, 512, 544, 576, 640};
  static const std::vector<std::int64_t> all_blocks{1,  2,  4,  8,  12,  16,  24,  32,
                                                    48, 64, 80, 96, 108, 120, 132, 148};
  static const std::vector<std::uint64_t> engine{4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi,
                                                 1 * kMi, 4 * kMi,  16 * kMi, 64 * kMi};
  static const std::vector<Grid> list{
      {.benchmark = "launch_first", .threads = {512}, .blocks = {1, 2, 4, 8, 16, 32}},
      {.benchmark = "launch_sync", .threads = {512}, .blocks = {1, 32}},
      {.benchmark = "launch_queue", .threads = {512}, .blocks = {1, 32}},
      {.benchmark = "graph_first", .threads = {512}, .blocks = {1, 2, 4, 8, 16, 32}},
      {.benchmark = "graph_queue", .threads = {512}, .blocks = {1, 32}},
      {.benchmark = "host_flag", .threads = {32}},
      {.benchmark = "flag_step",
       .protocols = true,
       .flags = "gpu",
       .threads = {32, 512},
       .blocks = {2},
       .bytes = {16, 512, kKi, 2 * kKi, 4 * kKi, 8 * kKi, 16 * kKi}},
      {.benchmark = "flag_step",
       .protocols = true,
       .flags = "host",
       .threads = {32, 512},
       .blocks = {2},
       .bytes = {16}},
      {.benchmark = "pipe_copy",
       .protocols = true,
       .flags = "gpu",
       .threads = {128, 256, 512, 640},
       .blocks = {2},
       .bytes = {256 * kKi, kMi, 4 * kMi, 16 * kMi}},
      {.benchmark = "pipe_reduce",
       .protocols = true,
       .flags = "gpu",
       .threads = {128, 256, 512, 640},
       .blocks = {3},
       .bytes = {256 * kKi, kMi, 4 * kMi, 16 * kMi}},
      {.benchmark = "pipe_copy",
       .protocols = true,
       .flags = "gpu",
       .threads = {512},
       .blocks = {2},
       .bytes = {4 * kMi},
       .chunks = {4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi}},
      {.benchmark = "ring_allreduce",
       .protocols = true,
       .flags = "gpu",
       .threads = {512},
       .blocks = {2, 4, 8, 16},
       .bytes = {4 * kKi, 64 * kKi, kMi, 16 * kMi}},
      {.benchmark = "ring_allreduce",
       .protocols = true,
       .flags = "gpu",
       .threads = {512},
       .blocks = {8},
       .bytes = {4 * kMi},
       .chunks = {4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi}},
      {.benchmark = "copy_block", .threads = all_threads, .bytes = {kMi, 16 * kMi}},
      {.benchmark = "reduce_block", .threads = all_threads, .bytes = {kMi, 16 * kMi}},
      {.benchmark = "copy_blocks", .threads = {512}, .blocks = all_blocks, .bytes = {256 * kMi}},
      {.benchmark = "reduce_blocks", .threads = {512}, .blocks = all_blocks, .bytes = {256 * kMi}},
      {.benchmark = "engine_d2d", .blocks = {0}, .bytes = engine},
      {.benchmark = "engine_d2h", .blocks = {0}, .bytes = engine},
      {.benchmark = "engine_h2d", .blocks = {0}, .bytes = engine},
      {.benchmark = "zero_copy_store",
       .threads = {512},
       .blocks = {1, 2, 4, 8, 16},
       .bytes = {64 * kKi, kMi, 16 * kMi}},
  };
  return list;
}

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  for (const CudaBenchmark& benchmark : cuda_benchmarks()) names.push_back(benchmark.name);
  return names;
}

std::vector<std::uint64_t> sizes_of_accesses(const OptionTexts& texts, const OptionSpec& spec) {
  std::vector<std::uint64_t> sizes = listed_bytes(texts, spec);
  for (const std::uint64_t size : sizes) {
    if (size % kAccessBytes != 0) {
      throw UserError(
          fmt::format("--{}: found {} B; expected a multiple of {} B, the size of an "
                      "access",
                      spec.name, size, kAccessBytes));
    }
  }
  return sizes;
}

// Replaces a grid's list by the user's, unless the grid's list has a single value.
template <class Value>
void choose(std::vector<Value>& list, const std::optional<std::vector<Value>>& chosen) {
  if (chosen && !(list.size() == 1 && list.front() == 0)) list = *chosen;
}

}  // namespace

const std::vector<CudaBenchmark>& cuda_benchmarks() {
  static const std::vector<CudaBenchmark> list{
      {"launch_first", "from the launch call until the host sees the last block's first store"},
      {"launch_sync", "launch of an empty kernel and synchronisation with it"},
      {"launch_queue", "one of 64 empty kernels launched back to back"},
      {"graph_first", "launch_first through a graph with this kernel"},
      {"graph_queue", "one of 64 empty kernels in sequence in a graph"},
      {"host_flag", "round trip of a flag: host to a waiting kernel, its answer to the host"},
      {"flag_step", "half a round trip of a message between thread blocks on different SMs"},
      {"pipe_copy", "one thread block sends to another through a FIFO of 8 slots"},
      {"pipe_reduce", "pipe_copy with a thread block in between that adds and forwards"},
      {"ring_allreduce", "AllReduce over a ring of thread blocks, one per rank"},
      {"copy_block", "copy by one thread block"},
      {"reduce_block", "sum of two arrays by one thread block"},
      {"copy_blocks", "copy of all bytes by several thread blocks"},
      {"reduce_blocks", "sum of two arrays by several thread blocks"},
      {"engine_d2d", "asynchronous copy inside the device"},
      {"engine_d2h", "asynchronous copy to pinned host memory"},
      {"engine_h2d", "asynchronous copy from pinned host memory"},
      {"zero_copy_store", "stores of thread blocks to pinned host memory"},
  };
  return list;
}

const std::vector<OptionSpec>& cuda_cell_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "benchmarks",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "benchmarks to run; default: all",
       .choices = benchmark_names()},
      {.name = "protocols",
       .kind = OptionKind::Choice,
       .shape = OptionShape::List,
       .description = "protocols of the benchmarks that exchange messages",
       .default_text = "LL,LL128,Simple",
       .choices = {"LL", "LL128", "Simple"}},
      {.name = "threads",
       .kind = OptionKind::Integer,
       .shape = OptionShape::List,
       .description = "threads per thread block; default: by benchmark",
       .min = 32,
       .max = 640,
       .multiple_of = 32},
      {.name = "blocks",
       .kind = OptionKind::Integer,
       .shape = OptionShape::List,
       .description =
           "numbers of thread blocks, for benchmarks that take any number; default: by benchmark",
       .min = 1,
       .max = 1024},
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::List,
       .description = "sizes of the data to move, multiples of 16 B; default: by benchmark",
       .min = 16,
       .max = 1ULL << 34},
      {.name = "chunks",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::List,
       .description = "sizes of the data in a FIFO slot, multiples of 16 B; default: NCCL's size "
                      "for the protocol, and a sweep",
       .min = 16,
       .max = 1ULL << 22},
  };
  return specs;
}

std::uint64_t default_chunk_bytes(const std::string& protocol) {
  if (protocol == "LL") return 32 * kKi;
  if (protocol == "LL128") return 576'000;
  return 512 * kKi;
}

CellTable cuda_cells(const OptionTexts& texts) {
  const std::vector<OptionSpec>& specs = cuda_cell_options();
  check_option_texts(texts, specs);
  const auto given = [&](std::string_view name) { return texts.contains(std::string(name)); };
  const auto spec = [&](std::string_view name) -> const OptionSpec& {
    return find_option(specs, name);
  };
  const std::vector<std::string> benchmarks =
      given("benchmarks") ? listed_choices(texts, spec("benchmarks")) : benchmark_names();
  const std::vector<std::string> protocols = listed_choices(texts, spec("protocols"));
  std::optional<std::vector<std::int64_t>> threads;
  std::optional<std::vector<std::int64_t>> blocks;
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::vector<std::uint64_t>> chunks;
  if (given("threads")) threads = listed_integers(texts, spec("threads"));
  if (given("blocks")) blocks = listed_integers(texts, spec("blocks"));
  if (given("sizes")) sizes = sizes_of_accesses(texts, spec("sizes"));
  if (given("chunks")) chunks = sizes_of_accesses(texts, spec("chunks"));

  CellTable table{
      .columns = {"benchmark", "protocol", "flags", "threads", "blocks", "bytes", "chunk_bytes"},
      .cells = {}};
  for (Grid grid : grids()) {
    if (std::find(benchmarks.begin(), benchmarks.end(), grid.benchmark) == benchmarks.end()) {
      continue;
    }
    const bool two_blocks = grid.benchmark == "flag_step" || grid.benchmark.starts_with("pipe_");
    const bool one_block = grid.benchmark == "host_flag" || grid.benchmark.ends_with("_block");
    choose(grid.threads, threads);
    if (!two_blocks && !one_block) choose(grid.blocks, blocks);
    choose(grid.bytes, sizes);
    const bool messages = grid.protocols;
    if (messages && chunks) grid.chunks = *chunks;
    for (const std::string& protocol : messages ? protocols : std::vector<std::string>{"none"}) {
      for (const std::int64_t thread_count : grid.threads) {
        for (const std::int64_t block_count : grid.blocks) {
          for (const std::uint64_t bytes : grid.bytes) {
            for (const std::uint64_t chunk : grid.chunks) {
              const std::uint64_t slot =
                  !messages ? 0 : (chunk == 0 ? default_chunk_bytes(protocol) : chunk);
              CalibrationCell cell{{"benchmark", grid.benchmark},
                                   {"protocol", protocol},
                                   {"flags", grid.flags},
                                   {"threads", std::to_string(thread_count)},
                                   {"blocks", std::to_string(block_count)},
                                   {"bytes", std::to_string(bytes)},
                                   {"chunk_bytes", std::to_string(slot)}};
              if (std::find(table.cells.begin(), table.cells.end(), cell) == table.cells.end()) {
                table.cells.push_back(std::move(cell));
              }
            }
          }
        }
      }
    }
  }
  return table;
}

}  // namespace cclgym
