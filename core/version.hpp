// The version of the program.
#pragma once

#include <string_view>

namespace cclgym {

/// "0.1.0": in every result row and in every experiment's hash.
[[nodiscard]] std::string_view program_version();

}  // namespace cclgym
