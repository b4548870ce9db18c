// Reading and writing files that a user named.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cclgym {

/// Returns the whole contents of a file. A pipe, such as a shell's <(…), is read to its end, which
/// the caller may have to wait for. Throws UserError "PATH: …" if there is no such file, it is a
/// folder, it cannot be read, or it has more than `max_bytes` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t max_bytes);

/// Reads a file for a caller that must never wait, such as a plugin while a job starts. Anything
/// but a regular file (a pipe, a device, a socket) is refused before it is opened, and no more is
/// read than the size that the file system states. Files that state none, such as those of /proc,
/// read as empty.
[[nodiscard]] std::string read_regular_file(const std::string& path, std::size_t max_bytes);

/// Writes a file whole or not at all: into a temporary file of a new name beside it, which then
/// replaces it and has the permissions of the old file, or those of any new file. A symbolic link
/// is followed: the file that it leads to is replaced. What is no regular file (a device, a pipe)
/// is written to directly. Throws UserError "PATH: …" if it cannot be written.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace cclgym
