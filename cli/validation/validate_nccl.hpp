// Validation of a policy on NCCL.
#pragma once

#include <filesystem>
#include <vector>

#include "calibration/validate/validation.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --part, --machine and the options of backend nccl.
void add_nccl_validation_options(ArgumentReader& reader);
/// Measures the choices of the policy RUN (a training run, a policy file or a CSV of a tuner) into
/// the folder, which is made and gets a copy of the policy. Returns the parts that have rows there.
/// With --dry-run, it only prints the number of cells and an upper bound of the time, and returns
/// nothing. Throws UserError, before a worker starts, for a policy that NCCL's tuner cannot carry
/// out.
[[nodiscard]] std::vector<Validation> validate_nccl(const Arguments& arguments,
                                                    const std::filesystem::path& folder);

}  // namespace cclgym
