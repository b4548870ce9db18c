// Options, files and output that validations of all backends share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/validate/validation.hpp"
#include "cli/support/command.hpp"
#include "core/files/own_files.hpp"

namespace cclgym {

/// Declares --agent, --out, --rounds, --measured, --within, --dry-run and --json.
void add_validation_options(ArgumentReader& reader);
/// Value of --rounds.
[[nodiscard]] int validation_rounds(const Arguments& arguments);
/// Value of --within.
[[nodiscard]] double validation_within(const Arguments& arguments);
/// Record of the option --agent, the seed of the agent.
[[nodiscard]] const OptionSpec& validated_agent_option();

/// Files of a validation's folder besides the rows.
[[nodiscard]] OwnFiles validation_files();
/// Path of a part's rows: LABEL.rows.csv.
[[nodiscard]] std::string validation_rows_path(const std::filesystem::path& folder,
                                               const std::string& label);
/// Labels of the parts whose rows are in the folder, in alphabetical order.
[[nodiscard]] std::vector<std::string> validated_labels(const std::filesystem::path& folder);
/// Prints the parts, as text or as the lines of validation.csv in JSON.
void print_validation(const std::vector<Validation>& parts, bool json);
/// Prints the parts and writes them to the folder.
void publish_validation(const std::vector<Validation>& parts, const std::filesystem::path& folder,
                        bool json);

}  // namespace cclgym
