// The cells of a sweep, made from a user's lists of sizes, threads and names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/options/option.hpp"

namespace cclgym {

/// A cell to measure: column -> value, as in the measurements file.
using CalibrationCell = std::map<std::string, std::string>;

struct CellTable {
  std::vector<std::string> columns;    ///< in the order of the file
  std::vector<CalibrationCell> cells;  ///< each has every column
};

/// Options that the user set, by name: texts as on a command line.
using OptionTexts = std::map<std::string, std::string>;

/// The option's list, values or ranges separated by commas ("1KiB,64KiB..1MiB x4"), or the record's
/// default if the option was not set. Throws UserError at "--name".
[[nodiscard]] std::vector<std::uint64_t> listed_bytes(const OptionTexts& texts,
                                                      const OptionSpec& spec);
[[nodiscard]] std::vector<std::int64_t> listed_integers(const OptionTexts& texts,
                                                        const OptionSpec& spec);
/// The option's list of names, which must be among the record's choices.
[[nodiscard]] std::vector<std::string> listed_choices(const OptionTexts& texts,
                                                      const OptionSpec& spec);
/// The text of a single value, or the record's default.
[[nodiscard]] std::string option_text(const OptionTexts& texts, const OptionSpec& spec);

/// Throws UserError with the nearest name if a text belongs to none of the records.
void check_option_texts(const OptionTexts& texts, const std::vector<OptionSpec>& specs);

}  // namespace cclgym
