// Sentences about a program in the executors of MSCCL XML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/ir.hpp"
#include "collectives/msccl/msccl_xml.hpp"

namespace cclgym {

/// Warning that the program deadlocks in the executors with a protocol ("LL"); empty if it does
/// not.
[[nodiscard]] std::string hang_warning(const ThreadBlockProgram& program,
                                       std::string_view protocol);

/// Prints a note if the executor does not use the file for calls of this size.
void note_unused_size(const std::string& path, const XmlSettings& settings, std::uint64_t bytes);

}  // namespace cclgym
