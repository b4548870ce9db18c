// From the YAML of an experiment to its cells. docs/experiments.md describes the format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// More cells than this are an error: such a run would not end in a lifetime of patience, and a
/// slip in a range ("1B..1GiB +1B") is the likelier cause.
inline constexpr std::size_t kMostCells = 1'000'000;

/// Reads and checks an experiment file: every name, every range, every combination. Throws
/// UserError with file:line:column of what is wrong.
[[nodiscard]] Experiment load_experiment(const std::string& path);
/// The same from a text. `file_name` is used in messages, and paths in the text are seen from its
/// folder.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& file_name);

}  // namespace cclgym
