// The cells of a sweep, and how a user's lists of sizes, threads and names become them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/options/option.hpp"

namespace cclgym {

/// What is measured at once: column -> value, as it stands in the measurements.
using CalibrationCell = std::map<std::string, std::string>;

struct CellTable {
  std::vector<std::string> columns;    ///< in the order in which they are written
  std::vector<CalibrationCell> cells;  ///< each has every column
};

/// What a user set, by the name of the option: texts as written on a command line.
using OptionTexts = std::map<std::string, std::string>;

/// The option's list: values or ranges with commas between them ("1KiB,64KiB..1MiB x4"). The
/// default of the record if it was not set. Throws UserError at "--name".
[[nodiscard]] std::vector<std::uint64_t> listed_bytes(const OptionTexts& texts,
                                                      const OptionSpec& spec);
[[nodiscard]] std::vector<std::int64_t> listed_integers(const OptionTexts& texts,
                                                        const OptionSpec& spec);
/// Names among the record's choices.
[[nodiscard]] std::vector<std::string> listed_choices(const OptionTexts& texts,
                                                      const OptionSpec& spec);
/// The text of a single value, or the record's default.
[[nodiscard]] std::string option_text(const OptionTexts& texts, const OptionSpec& spec);

/// Throws UserError if a text belongs to none of the records, naming the nearest.
void check_option_texts(const OptionTexts& texts, const std::vector<OptionSpec>& specs);

/// The record of a name. Throws std::logic_error if there is none.
[[nodiscard]] const OptionSpec& option_named(const std::vector<OptionSpec>& specs,
                                             std::string_view name);

}  // namespace cclgym
