// Errors that a user can cause and correct. Programming errors are assertions, not exceptions.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// A place in a text the user wrote. Lines and columns count from 1; 0 means "unknown".
struct SourceLocation {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;

  /// "file:line:column", without unknown parts.
  [[nodiscard]] std::string to_string() const;
};

/// An error in the user's input (YAML, command line, program, file system). what() is one line:
/// "file:line:column: message". The command line maps it to exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
  UserError(const SourceLocation& where, const std::string& message);
};

/// A simulation that cannot finish (deadlock, unmatched receive, dependency cycle). what() names
/// the waiting operations. The command line maps it to exit code 3.
class SimulationStalled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Work that was lost because processes died or no longer answer. what() says how to go on. The
/// command line maps it to exit code 70.
class WorkLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// quoted(text, longest = 60): the text in single quotes for a message, cut after `longest` bytes
/// (never inside a UTF-8 character); line breaks and other unprintable bytes appear as \n, \t,
/// \xNN. An object, not a function: for a std::string argument, argument-dependent lookup would
/// also find std::quoted if <iomanip> is included, and prefer it.
struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text, std::size_t longest = 60) const;
};
inline constexpr Quoted quoted{};  // NOLINT(readability-identifier-naming): used like a function

/// The candidate nearest to `found` (Damerau-Levenshtein distance, ASCII case ignored), or an empty
/// string if none is near enough to be a likely typo (distance <= 1 + length / 3).
[[nodiscard]] std::string nearest_name(std::string_view found,
                                       const std::vector<std::string>& candidates);

/// "unknown WHAT 'FOUND'; expected one of a, b, c (did you mean 'a'?)"
[[nodiscard]] std::string unknown_name_message(std::string_view what, std::string_view found,
                                               const std::vector<std::string>& candidates);

}  // namespace cclgym
