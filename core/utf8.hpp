// Validation of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace cclgym {

/// Number of bytes of the UTF-8 character at `i`; 0 if it is malformed (RFC 3629: no overlong
/// forms, no surrogates, nothing beyond U+10FFFF). `i` must be less than the size of the text.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t i);

}  // namespace cclgym
