// Text for standard output and standard error. Unlike fmt::print, these functions never throw: a
// command finishes its work and its files, and main() reports that output was lost.
#pragma once

#include <fmt/core.h>
#include <utility>

#include "core/files/standard_streams.hpp"

namespace cclgym {

/// Formats a text and writes it to standard output.
template <class... Values>
void print_out(fmt::format_string<Values...> text, Values&&... values) {
  write_to_standard_output(fmt::format(text, std::forward<Values>(values)...));
}

/// Formats a text and writes it to standard error.
template <class... Values>
void print_error(fmt::format_string<Values...> text, Values&&... values) {
  write_to_standard_error(fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace cclgym
