// What nccl-tests print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/measure/measured_file.hpp"

namespace cclgym {

/// Reads the output of all_reduce_perf and its kind: the lines "size count type redop root time
/// algbw busbw #wrong …" under a heading that names them and their units, of which the out-of-place
/// time is taken (the in-place one where a run has no other). The number of ranks and nodes comes
/// from the lines "# Rank 0 … on HOST device …", the collective from "# Collective test starting:"
/// or the name of the program, where a run says them; what no line says must be in the context.
/// Several outputs may follow each other. Lines of size 0 and the averages are left out.
///
/// Throws UserError at the place of what is wrong: a heading in other units than B and us, a time
/// that is none, not finite, zero or negative, results that were wrong (#wrong), a collective or a
/// number of ranks that nobody says.
[[nodiscard]] std::vector<Measurement> read_nccl_tests_text(std::string_view text,
                                                            const std::string& file,
                                                            const MeasuredFileContext& context);

}  // namespace cclgym
