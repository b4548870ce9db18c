// Measured times of collectives, from CSV, JSON or the output of nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// The call's columns as nccl-tests prints them in a row of results.
struct PrintedCall {
  std::uint64_t count = 0;    ///< elements of one rank's part; 0: not stated
  std::string type;           ///< "float"; empty: not stated
  std::string redop;          ///< "sum", or "none"; empty: not stated
  std::optional<int> root{};  ///< -1 without a root; nullopt: not stated
};

/// One measured time.
struct Measurement {
  std::string system;         ///< "Polaris"; empty: not stated
  int ranks = 0;              ///< >= 2
  int nodes = 1;              ///< number of nodes, 1 to ranks
  bool nodes_stated = false;  ///< false: `nodes` is that of the context, or 1
  std::string fabric{};       ///< label of the fabric, "ndv4 nodes=2"; empty: not stated
  std::string nccl_version;   ///< "2.18"; empty: not stated
  std::string config;         ///< distinguishes the run; may be empty
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;          ///< as counted by nccl-tests, > 0
  double time_s = 0;                ///< median, out of place, > 0
  double time_us = 0;               ///< the same with the digits of the file
  PrintedCall printed{};            ///< empty for CSV
  std::vector<double> samples_s{};  ///< single times, if the row has them
  std::string source;               ///< origin of the measurement; may be empty
  /// The call's configuration, if the row states it; tile_bytes is the size of MPI's segments, 0
  /// for none.
  std::optional<Config> named{};
  bool channels_stated = true;  ///< false: `named` has one channel because none is stated
  std::string tuner;  ///< the tuner that chose, if not NCCL: "openmpi-default"; may be empty
  /// The protocol and the algorithm that the run's environment allowed NCCL, as the tuner
  /// nccl-default takes them behind the release: ":Simple", "::tree", ":Simple:tree"; empty: all.
  std::string allowed{};
  /// The run's variables that the simulation leaves out: "NCCL_MAX_NCHANNELS=4"; empty: none.
  std::string settings{};
  /// What NCCL_CROSS_NIC allowed its rings (FabricSpec::cross_nic); nullopt: not stated.
  std::optional<bool> cross_nic{};
  std::optional<NetworkKind> network{};  ///< that the log names; nullopt: none
  std::string gpu{};                 ///< model of the GPUs, "NVIDIA H100 80GB HBM3"; may be empty
  std::vector<std::string> notes{};  ///< facts of the run that a simulation of the row leaves out
  SourceLocation where;
};

/// Facts about a file from elsewhere, for values that the file does not state.
struct MeasuredFileContext {
  std::optional<std::string> system{};
  std::optional<CollectiveKind> collective{};
  std::optional<int> ranks{};
  std::optional<int> nodes{};
  std::optional<std::string> nccl_version{};
};

/// The collective with one of the names of nccl-tests: "all_reduce", "allreduce", "AllReduce",
/// "all_reduce_perf", "sendrecv" (each rank sends to the next). nullopt for other names.
[[nodiscard]] std::optional<CollectiveKind> measured_collective(std::string_view name);

/// Reads a file of either kind.
///
/// CSV has a header line with the columns ranks, collective, size_bytes and time_us_median (or
/// time_us), and may have system, fabric (its label in an experiment), gpu, gpus_per_node, nodes,
/// nccl_version, config, time_us_min, time_us_max, samples, source, algorithm (the library's,
/// "openmpi-default" or empty), protocol, channels, segment_bytes and the other columns of `cclgym
/// calibrate` (measured_columns.hpp) and `validate` (round, role), in any order. Rows whose status
/// is not "ok" or that are in place are left out. A row in which a policy chose ("policy") has the
/// configuration that NCCL logged (used_algorithm, used_protocol and used_channels in the column
/// extra), and is left out without it. A row of a named algorithm has the channels that NCCL
/// logged, which can be fewer than those asked for. Sizes are in bytes, times in microseconds, both
/// plain numbers. Lines that start with # are comments. The CSV of rccl-tests (-Z csv) has names of
/// its own for these columns. JSON is read as measured_json.hpp says, any other file as the output
/// of the OSU Micro-Benchmarks (osu_text.hpp) or nccl-tests (nccl_tests_text.hpp).
///
/// Throws UserError at the place of the error: a column that is missing, unknown or repeated; a
/// number with a unit, or one that is invalid, not finite, zero or negative; ranks that do not fill
/// the nodes; no row at all; ranks, nodes or a release in `context` that every row contradicts.
[[nodiscard]] std::vector<Measurement> read_measured_file(const std::string& path,
                                                          const MeasuredFileContext& context = {});

}  // namespace cclgym
