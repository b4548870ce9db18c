// Writes a size-dispatch table as the CSV of NCCL's example tuner.
#pragma once

#include <string>
#include <vector>

#include "agents/export/tuner_csv.hpp"
#include "sim/tuners/dispatch_table.hpp"

namespace cclgym {

/// Lines for the blocks of the machines that `labels` name (named_machines; empty: all); a
/// range ends at the first byte of the next range. If the fallback is a configuration, it becomes
/// the last lines of the collectives it supports; NCCL's own choice needs no line. Collectives that
/// NCCL does not pass to its tuner are counted as left out.
///
/// Throws UserError for a configuration that a line cannot express, a label that is not in the
/// table, a machine that does not exist, or two machines with equal numbers of ranks and nodes.
[[nodiscard]] TunerCsv dispatch_csv(const DispatchTable& table,
                                    const std::vector<std::string>& labels, bool pat);

}  // namespace cclgym
