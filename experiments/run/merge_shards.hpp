// Merging the results of shards into those of one run.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/shard.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// The results file of one shard.
struct ShardFile {
  Shard shard;
  std::string path;
};

/// Shards of one run: all of them, in the order of their numbers.
struct ShardedRun {
  Experiment experiment;
  std::vector<ShardFile> shards;
};

/// Finds the shards in the folders. Throws UserError if a folder has none, if a shard is missing or
/// there twice, if their counts differ, or if the folders are of different experiments.
[[nodiscard]] ShardedRun find_shards(const std::vector<std::string>& folders);

/// Writes DIR/results.csv, with the bytes of a run on one machine, and DIR/experiment.yaml. Throws
/// UserError if a shard is incomplete or has wrong rows; then nothing is written. Results that are
/// in the folder already must be the first rows of the same run, unless `fresh` deletes them.
void merge_shards(const ShardedRun& run, const std::string& folder, bool fresh);

}  // namespace cclgym
