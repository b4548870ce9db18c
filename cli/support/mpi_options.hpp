// Command-line options that select collectives of MPI and their launcher.
#pragma once

#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --launch and --system.
void add_launch_options(ArgumentReader& reader);
/// Value of --system. Throws UserError for a name that cannot be a field of a CSV file.
[[nodiscard]] std::string system_option(const Arguments& arguments, const std::string& otherwise);

/// Declares --label, the text of the column config.
void add_label_option(ArgumentReader& reader);
/// Value of --label; empty if it is not given. Throws UserError as system_option.
[[nodiscard]] std::string label_option(const Arguments& arguments);

/// Declares --launch, --system, --label, --collective, --sizes, --segments and --algorithm.
void add_mpi_options(ArgumentReader& reader);
/// Values of these options. Throws UserError for an unknown name or an invalid size.
[[nodiscard]] MpiSweep mpi_sweep(const Arguments& arguments);
/// The words of --launch, split as in a shell.
[[nodiscard]] std::vector<std::string> mpi_launch(const Arguments& arguments);

}  // namespace cclgym
