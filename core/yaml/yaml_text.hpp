// Checks of a text before the YAML parser reads it. Private to core.
#pragma once

#include <string>
#include <string_view>

#include "core/yaml/yaml.hpp"

namespace cclgym {

/// Throws UserError with the place if a text is too large, is not UTF-8, has control characters or
/// overlong lines, or is indented with tabs.
void check_yaml_text(std::string_view text, const std::string& file_name, const YamlLimits& limits);

/// True if a quoted scalar starts at byte `begin` of a YAML text, after tags and anchors, and no
/// quote closes it. Sets `begin` to the place of its opening quote.
[[nodiscard]] bool unclosed_quote(std::string_view text, std::size_t& begin);

}  // namespace cclgym
