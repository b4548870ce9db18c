// Cells of an experiment whose files only the dispatching process has: tasks get them with their
// round.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/tasks/task.hpp"

namespace cclgym {

/// An experiment with the files that it names by paths relative to its own.
struct SentExperiment {
  std::string text;                                          ///< experiment file
  std::vector<std::pair<std::string, std::string>> files{};  ///< paths and contents
  std::string hash;                                          ///< Experiment::hash()
};

/// The experiment as the text that tasks share (TaskSet::common).
[[nodiscard]] std::string sent_experiment(const SentExperiment& experiment);

/// Runs the cells of experiments that it gets by sent_experiment(); a result is a line of
/// results.csv. Writes the files to a temporary folder, loads the experiment and removes the
/// folder.
[[nodiscard]] Task sent_cells_task();

}  // namespace cclgym
