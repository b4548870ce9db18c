// Validation of a trained agent on OpenMPI.
#pragma once

#include <filesystem>
#include <vector>

#include "calibration/validate/validation.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --part and the options of backend mpi.
void add_mpi_validation_options(ArgumentReader& reader);
/// Measures the choices of the run RUN into the folder, which is made, and returns the parts of its
/// evaluation that have rows there. With --dry-run, it only prints the number of cells and an upper
/// bound of the time, and returns nothing. Throws UserError.
[[nodiscard]] std::vector<Validation> validate_mpi(const Arguments& arguments,
                                                   const std::filesystem::path& folder);

}  // namespace cclgym
