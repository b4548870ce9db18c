// Measured times of collectives: from CSV, or as nccl-tests print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// One measured time.
struct Measurement {
  std::string system;        ///< "Polaris"; empty: not said
  int ranks = 0;             ///< >= 2
  int nodes = 1;             ///< servers that they are on, 1 to ranks
  std::string nccl_version;  ///< "2.18"; empty: not said
  std::string config;        ///< what distinguishes the run; may be empty
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;  ///< as nccl-tests counts, > 0
  double time_s = 0;        ///< median, out of place, > 0
  std::string source;       ///< who measured; may be empty
  /// How the call was carried out, if the row says so; tile_bytes: the segments of MPI, 0: whole.
  std::optional<Config> named{};
  std::string tuner;  ///< "openmpi-default": who chose, if it was not NCCL; may be empty
  SourceLocation where;
};

/// What is known of a file from elsewhere, for what it does not say itself.
struct MeasuredFileContext {
  std::optional<std::string> system{};
  std::optional<CollectiveKind> collective{};
  std::optional<int> ranks{};
  std::optional<int> nodes{};
  std::optional<std::string> nccl_version{};
};

/// "all_reduce", "allreduce", "AllReduce", "all_reduce_perf", "sendrecv" (each rank sends to the
/// next): the collective that nccl-tests mean. nullopt for others.
[[nodiscard]] std::optional<CollectiveKind> measured_collective(std::string_view name);

/// Reads a file of either kind.
///
/// CSV has a header line with the columns ranks, collective, size_bytes and time_us_median, and
/// may have system, gpu, gpus_per_node, nodes, nccl_version, config, time_us_min, time_us_max,
/// samples, source, algorithm (of the library, "openmpi-default" or nothing), protocol, channels,
/// segment_bytes and the other columns of `cclgym calibrate` (sweep.hpp), in any order. Rows whose
/// status is not "ok", that are in place, or for which a policy chose are left out. Sizes are in
/// bytes, times in microseconds, both plain numbers. Lines that begin with # are comments. Anything
/// else is taken for the output of nccl-tests (nccl_tests_text.hpp).
///
/// Throws UserError at the place of what is wrong: a column that is missing, unknown or there
/// twice; a number with a unit, or that is none, not finite, zero or negative; ranks that do not
/// fill nodes; no row at all; ranks, nodes or a release in `context` that every row says
/// otherwise.
[[nodiscard]] std::vector<Measurement> read_measured_file(const std::string& path,
                                                          const MeasuredFileContext& context = {});

}  // namespace cclgym
