// The options by which a command is told which measured rows it is about.
#pragma once

#include <string>
#include <vector>

#include "calibration/measure/measured_cells.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --measured, --system, --fabric, --config, --collective, --nccl, --ranks, --nodes and
/// --max-ranks.
void add_measured_options(ArgumentReader& reader);

struct MeasuredRows {
  std::string path;
  std::vector<Measurement> rows;
  CellFilter filter;
};
/// Reads the file. Throws UserError if it is wrong, or --measured is missing.
[[nodiscard]] MeasuredRows measured_rows(const Command& command, const Arguments& arguments);

/// For before long work: throws UserError at --out if the file cannot be written there, because its
/// folder is not there or it is a folder itself.
void check_output_file(const Arguments& arguments);
/// The same for a folder, which may be made.
void check_output_folder(const Arguments& arguments);

/// "a,b,c" as its parts. Throws UserError at `option` if one is empty.
[[nodiscard]] std::vector<std::string> comma_list(const std::string& text,
                                                  const std::string& option);

}  // namespace cclgym
