// The options by which a command is told which collectives of MPI are meant, and where they run.
#pragma once

#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --launch and --system.
void add_launch_options(ArgumentReader& reader);
/// What --system says. Throws UserError on a name that no field of a CSV file can be.
[[nodiscard]] std::string system_option(const Arguments& arguments, const std::string& otherwise);

/// Declares --launch, --system, --label, --collective, --sizes, --segments and --algorithm.
void add_mpi_options(ArgumentReader& reader);
/// What they ask for. Throws UserError on an unknown name or a wrong size.
[[nodiscard]] MpiSweep mpi_sweep(const Arguments& arguments);
/// The words of --launch, as a shell splits them.
[[nodiscard]] std::vector<std::string> mpi_launch(const Arguments& arguments);

}  // namespace cclgym
