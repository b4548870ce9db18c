// Parser of the output of nccl-tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// Reads the output of all_reduce_perf and the other programs of nccl-tests: the lines "size count
/// type redop root time algbw busbw #wrong …" under a heading with their names and units. Takes the
/// out-of-place time (the in-place one if a run has no other). The number of ranks and nodes comes
/// from the lines "# Rank 0 … on HOST device …", the collective from "# Collective test starting:"
/// or the name of the program; values that no line states must be in the context. Several outputs
/// may follow each other. Lines of size 0 and the averages are left out.
///
/// Throws UserError at the place of the error: a heading in units other than B and us, a time that
/// is invalid, not finite, zero or negative, wrong results (#wrong), a collective or a number of
/// ranks that is stated nowhere, and a list of one rank.
[[nodiscard]] std::vector<Measurement> read_nccl_tests_text(std::string_view text,
                                                            const std::string& file,
                                                            const MeasuredFileContext& context);

}  // namespace cclgym
