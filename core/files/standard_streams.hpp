// Standard input, output and error, where they may be closed or full.
#pragma once

#include <string_view>

namespace cclgym {

/// Opens /dev/null for each of the descriptors 0 to 2 that is closed. Without it the next file that
/// a program opens gets such a number, and what is meant for a standard stream ends up in that
/// file. Each main() calls it first.
void open_closed_standard_streams() noexcept;

/// Lets writes to a pipe that nobody reads fail, instead of ending the program: work and files are
/// finished whoever stops listening. Programs that are started get the system's default again.
void keep_running_without_readers() noexcept;

/// Writes text to standard output. What cannot be written is dropped, so that a command finishes
/// its work and its files; standard_output_lost() tells.
void write_to_standard_output(std::string_view text) noexcept;
/// Writes text to standard error; what cannot be written is dropped.
void write_to_standard_error(std::string_view text) noexcept;

/// Is standard output a pipe whose reader has gone, as `head` does when it has seen enough?
[[nodiscard]] bool standard_output_unread() noexcept;
/// Writes what standard output still holds back. True if a part of the output, now or before, could
/// not be written: of these functions, of stdio's and of std::cout.
[[nodiscard]] bool standard_output_lost() noexcept;

}  // namespace cclgym
