// A size-dispatch table as the CSV of NCCL's example tuner.
#pragma once

#include <string>
#include <vector>

#include "agents/export/tuner_csv.hpp"
#include "sim/tuners/dispatch_table.hpp"

namespace cclgym {

/// The lines of the blocks for the machines of these labels (empty: all of the table's), with a
/// range up to the next one's first byte. A fallback that is a configuration becomes last lines for
/// the collectives that it has; NCCL's own choice needs none. Collectives that NCCL's tuner is not
/// asked about are counted as left out.
///
/// Throws UserError at the place of a configuration that such a line cannot say, a label that the
/// table has not, a machine that there is not, or two machines of as many ranks and nodes.
[[nodiscard]] TunerCsv dispatch_csv(const DispatchTable& table,
                                    const std::vector<std::string>& labels, bool pat);

}  // namespace cclgym
