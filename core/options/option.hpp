// One record for each option that a user can set. YAML validation, command line help and the
// generated reference pages are made from these records, so that they always agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

enum class OptionKind : std::uint8_t {
  Flag,     ///< true or false
  Integer,  ///< a whole number
  Real,     ///< a number without a unit
  Bytes,    ///< "64KiB"
  Time,     ///< "1.5us"
  Rate,     ///< "25 GB/s"
  Text,     ///< any text
  Choice,   ///< one of `choices`
  Mapping,  ///< key: value pairs described by other records
};

enum class OptionShape : std::uint8_t {
  One,        ///< a single value
  List,       ///< a list of at least one value
  OneOrList,  ///< either; a single value is a list of one
};

/// All members have defaults. Write records with designated initialisers:
/// `OptionSpec{.name = "channels", .kind = OptionKind::Integer, .description = "…", .min = 1}`.
struct OptionSpec {
  std::string name{};
  OptionKind kind = OptionKind::Text;
  OptionShape shape = OptionShape::One;
  std::string description{};
  /// Shown in the documentation; left empty for Bytes, Time and Rate (their kind says it).
  std::string unit{};
  /// Bounds of each value, in SI units for quantities (s, B, B/s). Quantities are never negative.
  std::optional<double> min{};
  std::optional<double> max{};
  bool exclusive_min = false;    ///< the value must be > min, not >= min
  std::int64_t multiple_of = 1;  ///< for Integer: each value is a multiple of this
  bool required = false;         ///< check_keys refuses a mapping without this key
  /// The default as the user would write it in YAML, e.g. "64KiB" or "[1, 2]"; empty: no default.
  std::string default_text{};
  std::vector<std::string> choices{};  ///< for Choice: the valid names
  std::vector<std::string> aliases{};  ///< older names of the key, which keep working
};

/// True if `key` is the record's name or one of its aliases.
[[nodiscard]] bool is_called(const OptionSpec& spec, std::string_view key);
/// The record of a key; nullptr if there is none.
[[nodiscard]] const OptionSpec* try_find_option(const std::vector<OptionSpec>& specs,
                                                std::string_view key);
/// The record of a key that exists. Throws std::logic_error if there is none.
[[nodiscard]] const OptionSpec& find_option(const std::vector<OptionSpec>& specs,
                                            std::string_view key);

// Range-checked reads of one value from the text of a YAML scalar or a command line. The function
// must match the record's kind. Each throws UserError at `where` with the value that was
// found and the values that are valid.
[[nodiscard]] bool read_flag(std::string_view text, const OptionSpec& spec,
                             const SourceLocation& where = {});
[[nodiscard]] std::int64_t read_integer(std::string_view text, const OptionSpec& spec,
                                        const SourceLocation& where = {});
[[nodiscard]] double read_real(std::string_view text, const OptionSpec& spec,
                               const SourceLocation& where = {});
[[nodiscard]] std::uint64_t read_bytes(std::string_view text, const OptionSpec& spec,
                                       const SourceLocation& where = {});
[[nodiscard]] double read_time_s(std::string_view text, const OptionSpec& spec,
                                 const SourceLocation& where = {});
[[nodiscard]] double read_rate_Bps(std::string_view text, const OptionSpec& spec,
                                   const SourceLocation& where = {});
/// The text itself. Throws if it is empty.
[[nodiscard]] std::string read_text(std::string_view text, const OptionSpec& spec,
                                    const SourceLocation& where = {});
/// Index into spec.choices; the message of a wrong name gives the nearest one.
[[nodiscard]] std::size_t read_choice(std::string_view text, const OptionSpec& spec,
                                      const SourceLocation& where = {});

/// Value of one option. Flag: bool; Integer: int64; Bytes (B) and Choice (index into the choices):
/// uint64; Real, Time (s) and Rate (B/s): double; Text: string.
using OptionValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

/// Reads a value with the function of the record's kind, above. Throws std::logic_error for a
/// Mapping.
[[nodiscard]] OptionValue read_option(std::string_view text, const OptionSpec& spec,
                                      const SourceLocation& where = {});
/// Throws UserError if a value is not one that read_option would return for the record.
void check_option(const OptionValue& value, const OptionSpec& spec,
                  const SourceLocation& where = {});
/// The text that read_option reads back as the same value: "8", "64KiB", "7e-07 s", "minimal".
[[nodiscard]] std::string option_text(const OptionValue& value, const OptionSpec& spec);
/// The value as a number: exact for integers up to 2^53. Throws std::logic_error for a text.
[[nodiscard]] double option_number(const OptionValue& value);

/// A value or a range of values: "A..B xF" (A, A*F, A*F*F, … up to B), "A..B +S" (A, A+S, … up to
/// B), for Integer also "A..B" (step 1). Each value is range-checked; at most 10,000 values.
[[nodiscard]] std::vector<std::uint64_t> read_bytes_range(std::string_view text,
                                                          const OptionSpec& spec,
                                                          const SourceLocation& where = {});
[[nodiscard]] std::vector<std::int64_t> read_integer_range(std::string_view text,
                                                           const OptionSpec& spec,
                                                           const SourceLocation& where = {});

/// Type of a value in words: "whole number", "time", "list of sizes", ….
[[nodiscard]] std::string type_text(const OptionSpec& spec);
/// Valid values in words: ">= 1", "> 0 s", "one of a, b"; empty if there is no restriction.
[[nodiscard]] std::string range_text(const OptionSpec& spec);
/// Description with range and default, for a line of command line help.
[[nodiscard]] std::string help_text(const OptionSpec& spec);
/// A Markdown table `| key | type | unit | default | range | description |` of the records, in
/// order, for the reference pages.
[[nodiscard]] std::string markdown_table(const std::vector<OptionSpec>& specs);

}  // namespace cclgym
