// Parser of the output of the OSU Micro-Benchmarks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// True if a line of the log is the title of a benchmark: "# OSU NCCL-CUDA Allreduce Latency Test
/// v7.3", "# OSU MPI Allgather Latency Test".
[[nodiscard]] bool is_osu_text(std::string_view text);

/// Reads a log with the output of osu_allreduce, osu_xccl_allgather, … (blocking collectives):
/// under the title and the heading "# Size Avg Latency(us) …" a line per size. OSU counts the bytes
/// that a rank sends; those of AllGather, AllToAll, Gather and Scatter are multiplied by the ranks,
/// as nccl-tests counts them. Launchers' additions are dropped (log_lines.hpp). The number of ranks
/// and nodes must be in the context. Times of MPI have a note: a simulation is of NCCL's choice,
/// unless a tuner is named.
///
/// Throws UserError at the place of the error: another benchmark than those of blocking
/// collectives, a line of results without its numbers, a time that is not > 0, or no line at all.
[[nodiscard]] std::vector<Measurement> read_osu_text(std::string_view text, const std::string& file,
                                                     const MeasuredFileContext& context);

}  // namespace cclgym
