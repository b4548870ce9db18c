// Reading and writing files that a user named.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cclgym {

/// The whole contents of a file. Throws UserError "PATH: …" if there is no such file, it is a
/// folder, it cannot be read, or it has more than `max_bytes` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t max_bytes);

/// Writes a file whole or not at all: into a temporary file of a new name beside it, which then
/// replaces it and has the permissions of the old file, or those of any new file. A symbolic link
/// is followed: the file that it leads to is replaced. What is no regular file (a device, a pipe)
/// is written to directly. Throws UserError "PATH: …" if it cannot be written.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace cclgym
