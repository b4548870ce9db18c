// Bytes as text (RFC 4648, base64 with padding).
#pragma once

#include <string>
#include <string_view>

namespace cclgym::synthesis {

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Throws UserError for any text that to_base64() does not return.
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace cclgym::synthesis
