// The option --programs: programs in MSCCL XML under names of their own.
#pragma once

#include "cli/support/command.hpp"
#include "collectives/library/algorithm_library.hpp"

namespace cclgym {

/// Declares --programs NAME=FILE,….
void add_programs_option(ArgumentReader& reader);
/// The shipped algorithms and these programs. Throws UserError.
[[nodiscard]] AlgorithmLibrary library_of(const Arguments& arguments);

}  // namespace cclgym
