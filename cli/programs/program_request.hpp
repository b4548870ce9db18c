// Arguments that ask the algorithm library for a program.
#pragma once

#include <memory>
#include <string>

#include "cli/support/command.hpp"
#include "collectives/ir.hpp"

namespace cclgym {

/// Declares --collective, --gpus, --nodes, --channels, --instances, --policy and --root.
void add_program_request(ArgumentReader& reader);

/// Throws UserError if one of these options is given, for a program that is read from a file.
void refuse_program_request(const Arguments& arguments);

/// The program of the algorithm that argument `name` names, or whose parameters it spells, compiled
/// as it is deployed, for connections of `slots` messages. Throws UserError for a request that the
/// algorithm cannot serve.
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> requested_program(
    const Arguments& arguments, const std::string& name, int slots);

}  // namespace cclgym
