// Keys of an experiment's cells, in their order.
#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/experiment.hpp"

namespace cclgym {

inline std::vector<std::string> keys_of(const Experiment& experiment) {
  std::vector<std::string> keys;
  for (const Cell& cell : experiment.cells) keys.push_back(cell_key(experiment, cell));
  return keys;
}

}  // namespace cclgym
