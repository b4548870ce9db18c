// Fixed programs as entries of the algorithm library: imported from MSCCL XML, or built in C++.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectives/algorithms/algorithm_entry.hpp"
#include "collectives/ir.hpp"
#include "core/error.hpp"

namespace cclgym {

/// Fewest messages that a connection must hold for the program not to deadlock; nullopt if 8, the
/// most of any runtime, are not enough.
[[nodiscard]] std::optional<int> min_slots_of(const ThreadBlockProgram& program);

/// Entry of a program, with the program's collective, ranks, channels, root and traits, and one
/// instance. Throws UserError if the program is wrong (verify) or deadlocks with any number of
/// messages on a connection.
[[nodiscard]] AlgorithmEntry program_entry(std::string name,
                                           std::shared_ptr<const ThreadBlockProgram> program);
/// Entry of a program in an MSCCL XML file, carried out by the interpreter. Throws UserError
/// with the place in the file, or with `where` and the file if it cannot be read or the program is
/// wrong.
[[nodiscard]] AlgorithmEntry read_program_entry(std::string name, const std::string& path,
                                                const SourceLocation& where = {});

/// Reason why a fixed program cannot serve a request with these channels, instances and root;
/// nullopt if it can, and for other algorithms.
[[nodiscard]] std::optional<std::string> check_fixed_program(const AlgorithmEntry& algorithm,
                                                             int channels, int instances, int root);

/// Hash of everything that a program does and requires, without its name: 16 hex digits.
[[nodiscard]] std::string program_hash(const ThreadBlockProgram& program);

}  // namespace cclgym
