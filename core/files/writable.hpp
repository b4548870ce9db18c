// Checks of files that will be written after long work.
#pragma once

#include <string>

namespace cclgym {

/// Throws the error that write_text_file would throw now for a file in a folder that does not exist
/// or cannot be written to, or for a folder in its place. Makes a temporary file in the folder and
/// removes it; does not touch the file itself, nor open a device or a pipe.
void check_writable(const std::string& path);

/// Throws UserError "'PATH': …" if the folder does not exist and cannot be made now, with its
/// parents, or if no file can be made in it. Leaves everything as it was.
void check_writable_folder(const std::string& path);

}  // namespace cclgym
