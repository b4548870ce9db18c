// Command-line options that select measured rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/measure/measured_cells.hpp"
#include "cli/support/command.hpp"

namespace cclgym {

/// Declares --measured, --system, --fabric, --config, --collective, --tuner, --nccl, --ranks,
/// --nodes, --max-ranks and --max-alltoall-ranks.
void add_measured_options(ArgumentReader& reader);

struct MeasuredRows {
  std::string path;
  std::vector<Measurement> rows;
  CellFilter filter;
};
/// Reads the file. Throws UserError if it is invalid, or if --measured is missing.
[[nodiscard]] MeasuredRows measured_rows(const Arguments& arguments);

/// The reasons of refused rows, with the option that follows their advice to name an algorithm.
[[nodiscard]] std::string refusal_text(std::span<const RefusedRows> refused);

/// True if this process writes output, or serves the tasks of one that does: on ranks, only the
/// output of rank 0 has to be writable.
[[nodiscard]] bool writes_output();
/// Checks the output before long work, if this process writes it: throws UserError at --out if the
/// file cannot be written because its folder does not exist or it is a folder itself.
void check_output_file(const Arguments& arguments);
/// The same for a folder, which need not exist, but can be made.
void check_output_folder(const Arguments& arguments);

/// The parts of "a,b,c". Throws UserError at `option` if one is empty.
[[nodiscard]] std::vector<std::string> comma_list(const std::string& text,
                                                  const std::string& option);

}  // namespace cclgym
