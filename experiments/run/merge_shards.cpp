#include "experiments/run/merge_shards.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/results_file.hpp"
#include "experiments/run/run_folder.hpp"

namespace cclgym {

namespace {

// The shards in a folder, in the order of their numbers.
std::vector<ShardFile> shards_in(const std::string& folder) {
  std::error_code error;
  std::vector<ShardFile> found;
  std::filesystem::directory_iterator files(folder, error);
  if (error) throw UserError(fmt::format("{}: {}", quoted(folder, 200), error.message()));
  for (const auto& entry : files) {
    const std::optional<Shard> shard = shard_of_file_name(entry.path().filename().string());
    if (shard) found.push_back({*shard, entry.path().string()});
  }
  if (found.empty()) {
    throw UserError(quoted(folder, 200) +
                    ": has no results of a shard; expected files such as "
                    "shard-1-of-16.csv, which cclgym run FILE --shard 1/16 writes");
  }
  std::ranges::sort(found, {}, [](const ShardFile& file) {
    return std::pair(file.shard.count, file.shard.number);
  });
  return found;
}

std::string numbers_text(const std::vector<std::size_t>& numbers) {
  constexpr std::size_t kMaxShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMaxShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  }
  if (numbers.size() > kMaxShown) text += fmt::format(" and {} more", numbers.size() - kMaxShown);
  return text;
}

// Throws UserError unless each shard is there exactly once.
void check_shards(const std::vector<ShardFile>& shards) {
  const std::size_t count = shards.front().shard.count;
  std::vector<std::size_t> missing;
  std::size_t next = 1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& [shard, path] = shards[i];
    if (shard.count != count) {
      throw UserError(
          fmt::format("{} is one of {} shards, but {} is one of {}; expected shards of one number",
                      quoted(shards.front().path, 200), count, quoted(path, 200), shard.count));
    }
    if (i > 0 && shards[i - 1].shard == shard) {
      throw UserError(fmt::format("{} and {} are both shard {} of {}; expected each shard once",
                                  quoted(shards[i - 1].path, 200), quoted(path, 200), shard.number,
                                  count));
    }
    for (; next < shard.number; ++next) missing.push_back(next);
    ++next;
  }
  for (; next <= count; ++next) missing.push_back(next);
  if (missing.empty()) return;
  throw UserError(fmt::format("{} of {} shards {} missing: {}", missing.size(), count,
                              missing.size() == 1 ? "is" : "are", numbers_text(missing)));
}

// The rows of a complete shard, as lines of CSV.
std::vector<std::string> lines_of(const ShardFile& file, const Experiment& experiment) {
  const ResultTable table = read_results(file.path);
  check_rows(table.rows, experiment, file.shard, file.path,
             "merge the shards of one experiment and version");
  const std::size_t expected = file.shard.size(experiment.cells.size());
  if (table.truncated || table.rows.size() < expected) {
    throw UserError(
        fmt::format("{}: has {} of {} cells; finish it with cclgym run {} --shard {}/{} --out {}",
                    file.path, table.rows.size(), expected, experiment.path, file.shard.number,
                    file.shard.count, std::filesystem::path(file.path).parent_path().string()));
  }
  std::vector<std::string> lines;
  lines.reserve(expected);
  for (const ResultRow& row : table.rows) lines.push_back(to_csv(row));
  return lines;
}

}  // namespace

ShardedRun find_shards(const std::vector<std::string>& folders) {
  ShardedRun run;
  for (const std::string& folder : folders) {
    const std::vector<ShardFile> found = shards_in(folder);
    run.shards.insert(run.shards.end(), found.begin(), found.end());
  }
  std::ranges::stable_sort(run.shards, {}, [](const ShardFile& file) {
    return std::pair(file.shard.count, file.shard.number);
  });
  check_shards(run.shards);
  run.experiment = load_run_experiment(folders.front());
  const std::string hash = run.experiment.hash();
  for (std::size_t i = 1; i < folders.size(); ++i) {
    if (load_run_experiment(folders[i]).hash() == hash) continue;
    throw UserError(
        fmt::format("{} has shards of another experiment than {}; expected shards of "
                    "one experiment",
                    quoted(folders[i], 200), quoted(folders.front(), 200)));
  }
  return run;
}

void merge_shards(const ShardedRun& run, const std::string& folder, bool fresh) {
  std::vector<std::vector<std::string>> lines;
  for (const ShardFile& file : run.shards) lines.push_back(lines_of(file, run.experiment));
  check_run_folder(folder);
  make_folder(folder);
  ResultsFile results(results_path(folder), run.experiment, {}, fresh,
                      "choose another folder with --out, or start over with --fresh");
  save_run_experiment(run.experiment, folder);
  const std::size_t count = run.shards.size();
  for (const std::size_t cell : results.left()) {
    const TaskReply row{
        .index = cell, .outcome = Outcome::Done, .text = lines[cell % count][cell / count]};
    results.add({&row, 1});
  }
}

}  // namespace cclgym
