// Reading and writing files that a user named.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cclgym {

/// Returns the contents of a file. A pipe, such as a shell's <(…), is read to its end; the call may
/// block until then. Throws UserError "'PATH' …" if the file does not exist, is a folder, cannot be
/// read, or has more than `max_bytes` bytes.
[[nodiscard]] std::string read_text_file(const std::string& path, std::size_t max_bytes);

/// Reads a file for a caller that must never wait, such as a plugin while a job starts. Throws
/// UserError for anything but a regular file (a pipe, a device, a socket) before it is opened.
/// Reads no more than the size in the file's status; files without one, such as those of /proc,
/// read as empty.
[[nodiscard]] std::string read_regular_file(const std::string& path, std::size_t max_bytes);

/// Writes a file completely or not at all: it writes a temporary file in the same folder, which
/// then replaces the file. The result keeps the permissions of the old file; a new file gets the
/// default ones. A symbolic link is followed: its target is replaced. A device or a pipe is written
/// to directly. Throws UserError "'PATH' …" if the file cannot be written.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace cclgym
