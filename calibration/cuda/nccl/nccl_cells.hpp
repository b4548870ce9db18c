// Cells of the backend `nccl` and options of its worker (docs/calibration-gpu.md).
#pragma once

#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "core/options/option.hpp"

namespace cclgym {

/// Options of the cells: collectives, sizes, algorithms, protocols, channels, placement.
[[nodiscard]] const std::vector<OptionSpec>& nccl_cell_options();

/// The cells, with the columns collective, size_bytes (as counted by nccl-tests), algorithm,
/// protocol, channels, in_place (0, 1). algorithm "default" is NCCL's own choice, and "policy" the
/// choice of the worker's policy file; both have protocol "default" and channels 0. Tree is for
/// AllReduce only, as in NCCL. channels 0 leaves the number to NCCL. Throws UserError.
[[nodiscard]] CellTable nccl_cells(const OptionTexts& texts = {});

/// Options of the ranks: ranks, mode, nccl, tuner, policy, log, communicators, timeout.
[[nodiscard]] const std::vector<OptionSpec>& nccl_worker_options();

/// Arguments of cclgym-nccl-worker: "--name=value" for each option that is set. Throws UserError at
/// an option that cannot be read.
[[nodiscard]] std::vector<std::string> nccl_worker_arguments(const OptionTexts& texts);

/// The inverse, in the worker: every option by name, with its default.
[[nodiscard]] OptionTexts read_nccl_worker_arguments(const std::vector<std::string>& arguments);

/// CSV for the tuner plugin that chooses this algorithm, protocol and number of channels (0:
/// NCCL's) for all calls.
[[nodiscard]] std::string tuner_csv_for(const std::string& algorithm, const std::string& protocol,
                                        int channels);

/// busbw / algbw of nccl-tests. Throws std::logic_error for a collective that NCCL does not tune.
[[nodiscard]] double bus_factor(const std::string& collective, int ranks);

}  // namespace cclgym
