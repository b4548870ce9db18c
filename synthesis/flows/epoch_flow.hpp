// AllToAll in epochs (TE-CCL, section 4.1): the linear program over the time-expanded fabric, with
// store-and-forward buffers in GPUs, latencies, and the minimum number of epochs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/flows/alltoall.hpp"

namespace cclgym::synthesis {

/// A flow graph with times in whole epochs.
struct EpochGraph {
  FlowGraph graph{};
  double epoch_s = 1;
  Rational chunks_per_unit{1};  ///< chunks that one link unit carries per epoch
  /// Epochs until an edge's target may use what was sent, by edge: latency and transmission, >= 1.
  std::vector<int> delay{};
  /// Epochs of one transmission, by edge, >= 1: in any `window` consecutive epochs, an edge carries
  /// at most what it carries on average, so that a chunk can be sent at once.
  std::vector<int> window{};
};

/// Epochs as TE-CCL counts them: window = chunk time / epoch and latency / epoch, both rounded up,
/// and delay is their sum. `latency_s` is by edge. Throws UserError for times that are not positive
/// (latencies: negative), or if units * epoch / chunk is no fraction of denominator < 10^5.
[[nodiscard]] EpochGraph make_epoch_graph(FlowGraph graph, double chunk_bytes, double epoch_s,
                                          const std::vector<double>& latency_s);

struct EpochHop {
  int edge = 0;
  int epoch = 0;  ///< start of the send
  friend auto operator<=>(const EpochHop&, const EpochHop&) = default;
};

/// Part of the data from one rank to another, and its sends. A GPU may hold the part before it
/// sends it on; a switch sends it on at once.
struct EpochPath {
  int source = 0;
  int target = 0;
  Rational share{1};
  std::vector<EpochHop> hops{};
};

struct EpochFlow {
  int epochs = 0;                  ///< minimum number
  std::vector<EpochPath> paths{};  ///< by source, target and hops, ascending
  /// Proof that one epoch less delivers less than all: certificate of epoch_program with epochs
  /// - 1.
  DualCertificate certificate{};
};

/// The linear program for a number of epochs: it maximises the part, up to 1, of `chunks` chunks
/// per pair that every pair receives. Symmetries must also keep delays and windows.
[[nodiscard]] ExactProgram epoch_program(const EpochGraph& epochs, int chunks, int count,
                                         const AllToAllOptions& options = {});

/// Minimum number of epochs of an AllToAll of `chunks` chunks per pair that can be cut at will,
/// with a schedule, exactly. Throws UserError if a rank cannot reach another, for chunks < 1, and
/// after the deadline; the message then has the bounds reached.
[[nodiscard]] EpochFlow alltoall_epochs(const EpochGraph& epochs, int chunks,
                                        const AllToAllOptions& options = {});

/// Replays a schedule in exact arithmetic and verifies its certificate, without a solver. Returns
/// the first problem in words; empty if there is none.
[[nodiscard]] std::string check_epoch_flow(const EpochGraph& epochs, int chunks,
                                           const AllToAllOptions& options, const EpochFlow& flow);

}  // namespace cclgym::synthesis
