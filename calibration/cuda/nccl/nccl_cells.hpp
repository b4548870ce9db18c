// What the backend `nccl` measures, and how its worker is told (docs/calibration-gpu.md).
#pragma once

#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "core/options/option.hpp"

namespace cclgym {

/// Collectives, sizes, algorithms, protocols, channels, placement.
[[nodiscard]] const std::vector<OptionSpec>& nccl_cell_options();

/// The cells, with the columns collective, size_bytes (as nccl-tests count), algorithm, protocol,
/// channels, in_place (0, 1). algorithm "default" is NCCL's own choice and "policy" that of the
/// file which the worker was given; both have protocol "default" and channels 0. Tree is for
/// AllReduce alone, as in NCCL. channels 0 leaves their number to NCCL. Throws UserError.
[[nodiscard]] CellTable nccl_cells(const OptionTexts& texts = {});

/// How the ranks lie: ranks, mode, nccl, tuner, policy, log, communicators, timeout.
[[nodiscard]] const std::vector<OptionSpec>& nccl_worker_options();

/// Arguments of cclgym-nccl-worker: "--name=value" for what is set. Throws UserError at an option
/// that cannot be read.
[[nodiscard]] std::vector<std::string> nccl_worker_arguments(const OptionTexts& texts);

/// The way back, in the worker: every option by name, with its default.
[[nodiscard]] OptionTexts read_nccl_worker_arguments(const std::vector<std::string>& arguments);

/// The CSV by which the tuner plugin gives all calls this algorithm, protocol and number of
/// channels (0: NCCL's).
[[nodiscard]] std::string tuner_csv_for(const std::string& algorithm, const std::string& protocol,
                                        int channels);

/// busbw / algbw of nccl-tests. Throws std::logic_error for a collective that NCCL does not tune.
[[nodiscard]] double bus_factor(const std::string& collective, int ranks);

}  // namespace cclgym
