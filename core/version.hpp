// The version of the program.
#pragma once

#include <string_view>

namespace cclgym {

/// The version ("0.1.0"), which is part of every result row and of every experiment's hash.
[[nodiscard]] std::string_view program_version();

}  // namespace cclgym
