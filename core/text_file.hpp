// Reading and writing files that a user named.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cclgym {

/// The whole contents of a file. A pipe is read to its end, which may have to be waited for: a
/// shell's
/// <(…) is one. Throws UserError "PATH: …" if there is no such file, it is a folder, it cannot be
/// read, or it has more than `max_bytes` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t max_bytes);

/// The same for who must never wait, as a plugin in a job that starts: what is no regular file
/// (a pipe, a device, a socket) is refused before it is opened, and no more is read than the size
/// that the file system tells. Files that tell none, those of /proc among them, are empty here.
[[nodiscard]] std::string read_regular_file(const std::string& path, std::size_t max_bytes);

/// Writes a file whole or not at all: into a temporary file of a new name beside it, which then
/// replaces it and has the permissions of the old file, or those of any new file. A symbolic link
/// is followed: the file that it leads to is replaced. What is no regular file (a device, a pipe)
/// is written to directly. Throws UserError "PATH: …" if it cannot be written.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace cclgym
