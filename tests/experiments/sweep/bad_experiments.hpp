// Experiments that must be refused, and their complete messages.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cclgym::test {

struct BadExperiment {
  std::string what;
  std::string text;
  std::string message;  ///< from the first colon after the file's name
};

[[nodiscard]] const std::vector<BadExperiment>& bad_experiments();

/// A small valid experiment in which the line of each given key is replaced, appended if missing,
/// or left out if the value is empty.
[[nodiscard]] std::string experiment_with(
    const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace cclgym::test
