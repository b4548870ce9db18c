// Layout of a command's help: names in one column, their explanations beside them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cclgym {

/// Max characters of a line of help.
inline constexpr std::size_t kHelpColumns = 100;

/// A name as the user types it, and its explanation.
struct HelpEntry {
  std::string name;
  std::string text;
};

/// Column at which the explanations of the entries start, from 0.
[[nodiscard]] std::size_t help_column(const std::vector<HelpEntry>& entries);

/// Lines of the entries, with explanations from `column` on. Explanations are broken between words
/// so that no line has more than kHelpColumns characters (of UTF-8), unless a word is longer. A
/// bound stays on the line of its comparison (">= 1"). An entry whose name does not fit before the
/// column has its explanation on the lines below.
[[nodiscard]] std::string help_lines(const std::vector<HelpEntry>& entries, std::size_t column);

}  // namespace cclgym
