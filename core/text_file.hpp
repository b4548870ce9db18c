// Reading a file that a user named.
#pragma once

#include <cstddef>
#include <string>

namespace cclgym {

/// The whole contents of a file. Throws UserError "PATH: …" if there is no such file, it is a
/// folder, it cannot be read, or it has more than `max_bytes` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t max_bytes);

}  // namespace cclgym
