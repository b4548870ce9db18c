// Parallel scopes of a program, written out as operations.
#pragma once

#include <cstdint>

#include "collectives/program.hpp"

namespace cclgym {

/// The program with every chunk cut into `factor` chunks, and without operations.
[[nodiscard]] Program with_cut_chunks(const Program& program, int factor);

/// Group of an operation's instance, for an operation of `group`: each instance has its own groups.
[[nodiscard]] std::int32_t group_of_instance(std::int32_t group, int instances, int instance);

/// Cuts every chunk so that all operations of parallel scopes divide evenly, and replaces each
/// operation by its instances. Channels must be assigned; otherwise those of the result mean
/// nothing. Cost: linear in the result.
[[nodiscard]] Program expand_parallel(const Program& program);

/// True if the program has operations on some instances only, so that an operation on its own does
/// not say what it moves.
[[nodiscard]] bool has_partial_operations(const Program& program);

}  // namespace cclgym
