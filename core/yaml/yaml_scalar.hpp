// Texts as values of YAML and JSON.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

/// The text in double quotes, as YAML and JSON read it back. A malformed byte of UTF-8 becomes
/// U+FFFD.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace cclgym
