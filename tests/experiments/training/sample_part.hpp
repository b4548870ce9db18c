// A made-up evaluation.
#pragma once

#include <string>

#include "agents/evaluation/evaluation.hpp"

namespace cclgym::test {

inline EvaluatedCell cell(std::uint64_t bytes, double ratio, const std::string& algorithm,
                          Protocol protocol, int channels) {
  EvaluatedCell cell;
  cell.collective = "allreduce";
  cell.bytes = bytes;
  cell.calls = 1;
  cell.time_us = 10 * ratio;
  cell.oracle_ratio = ratio;
  cell.default_ratio = ratio;
  cell.choice = "as it was";
  cell.config.algorithm = algorithm;
  cell.config.protocol = protocol;
  cell.config.channels = channels;
  return cell;
}

inline PolicyRun run(const std::string& policy, std::uint64_t seed,
                     std::vector<EvaluatedCell> cells) {
  const std::size_t calls = cells.size();
  return {.policy = policy,
          .seed = seed,
          .calls = calls,
          .oracle_ratio = 1.5,
          .default_ratio = 0.75,
          .cells = std::move(cells)};
}

/// An evaluation on one NDv4 node, with an agent that has two different seeds and a baseline that
/// has two equal seeds.
inline EvaluatedPart sample_part() {
  const EvaluatedCell small = cell(1024, 1, "all-pairs", Protocol::LL, 4);
  const EvaluatedCell middle = cell(11604, 1.25, "all-pairs", Protocol::LL, 4);
  EvaluatedCell large = cell(1 << 20, 2, "ring", Protocol::Simple, 24);
  large.config.tile_bytes = 2 << 20;
  return {.label = "held-out",
          .runs = {run("lstm-ppo", 1, {large, small, middle}), run("svm", 1, {small, large}),
                   run("lstm-ppo", 2, {small, large}), run("svm", 2, {small, large})},
          .fabric = "ndv4"};
}

}  // namespace cclgym::test
