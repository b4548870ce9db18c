// Standard input, output and error, which may be closed or full.
#pragma once

#include <string_view>

namespace cclgym {

/// Opens /dev/null for each of the descriptors 0 to 2 that is closed. Otherwise the next file that
/// the program opens would get its number, and output for a standard stream would end up in the
/// file. Output to a closed standard output is lost (standard_output_lost). Each main() calls it
/// first.
void open_closed_standard_streams() noexcept;

/// Makes writes to a pipe without a reader fail instead of ending the program, so that it finishes
/// its work and its files. Child processes get the system's default again.
void keep_running_without_readers() noexcept;

/// Writes text to standard output. Text that cannot be written is dropped, so that a command
/// finishes its work and its files; see standard_output_lost().
void write_to_standard_output(std::string_view text) noexcept;
/// Writes text to standard error; text that cannot be written is dropped.
void write_to_standard_error(std::string_view text) noexcept;

/// True if standard output is a pipe whose reader has closed it, as `head` does.
[[nodiscard]] bool standard_output_unread() noexcept;
/// Flushes standard output. Returns true if any output so far could not be written, whether by
/// these functions, by stdio or by std::cout.
[[nodiscard]] bool standard_output_lost() noexcept;

/// True if standard error is a terminal on which a line can be redrawn. False with TERM=dumb.
[[nodiscard]] bool standard_error_redraws();

}  // namespace cclgym
