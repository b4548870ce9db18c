// Parser of the output of nccl-tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// Reads a log with the output of all_reduce_perf and the other programs of nccl-tests, of any
/// release: the lines "size count type redop root time algbw busbw #wrong …" under a heading with
/// their names and units. Takes the out-of-place time (the in-place one if a run has no other).
///
/// The log may have lines of others: what launchers put in front (log_lines.hpp), what NCCL_DEBUG
/// prints, also in the middle of a row, and headings that lost their #. The number of ranks and
/// nodes comes from the lines "# Rank 0 … on HOST device …" (a call has the ranks of one group;
/// hosts of one name whose devices occur several times are several nodes), the collective from
/// "# Collective test starting:" or the name of the program, the release from the heading or from
/// what NCCL prints, and what NCCL may choose from NCCL_ALGO and NCCL_PROTO in the command or in
/// NCCL's lines. Values that no line states must be in the context. Several outputs may follow each
/// other. Lines of size 0 and the averages are left out.
///
/// Throws UserError at the place of the error: a heading in units other than B and us, a time that
/// is invalid, not finite, zero or negative, wrong results (#wrong, or values out of bounds), a
/// collective or a number of ranks that is stated nowhere, ranks that ran alone, nodes of unequal
/// size, and a row that is cut off.
[[nodiscard]] std::vector<Measurement> read_nccl_tests_text(std::string_view text,
                                                            const std::string& file,
                                                            const MeasuredFileContext& context);

}  // namespace cclgym
