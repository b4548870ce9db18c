// Command-line options that come from the records of the GPU workers.
#pragma once

#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"
#include "cli/support/command.hpp"
#include "core/options/option.hpp"

namespace cclgym {

/// Declares an option for each record, except --timeout, which every sweep has, and those named in
/// `besides`.
void add_record_options(ArgumentReader& reader, const std::vector<OptionSpec>& specs,
                        const std::vector<std::string>& besides = {});
/// The texts of those options that the user gave.
[[nodiscard]] OptionTexts record_texts(const Arguments& arguments,
                                       const std::vector<OptionSpec>& specs);

}  // namespace cclgym
