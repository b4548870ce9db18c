#include "experiments/run/run_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <vector>

#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "experiments/sweep/load_experiment.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kExperimentFile = "experiment.yaml";
constexpr std::string_view kOrigin = "# cclgym run of ";
constexpr std::string_view kEngine = "# engine ";
constexpr std::size_t kLargestFile = std::size_t{16} << 20;

std::string in_folder(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

// Removes the first line from `text` and returns its part after `mark`. Throws UserError if the
// line has no mark.
std::string take_line(std::string_view& text, std::string_view mark, const std::string& path) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(mark) || end == std::string_view::npos) {
    throw UserError(quoted(path, 200) + ": not written by cclgym run; expected a line '" +
                    std::string(mark) + "…'");
  }
  std::string rest(text.substr(mark.size(), end - mark.size()));
  text.remove_prefix(end + 1);
  return rest;
}

// True for a file from which a run can go on: one of them is there from its first moment.
bool is_begun_run(const std::string& name) {
  return name == kExperimentFile || name == shard_file_name({}) || shard_of_file_name(name);
}

// Refuses a folder that has files, but no run. Hidden files, such as those of an interrupted write,
// do not count.
void refuse_foreign_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw UserError(quoted(folder, 200) + " is a file; expected a folder for the results");
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_begun_run(name)) return;
    if (!name.starts_with('.')) names.push_back(name);
  }
  if (names.empty()) return;
  const std::string& first = *std::ranges::min_element(names);
  throw UserError(fmt::format(
      "{}: has {}{}, but no results of cclgym run; expected the folder of a run, an empty one or a "
      "new one; choose another folder",
      quoted(folder, 200), quoted(first, 200),
      names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1)));
}

// Text of experiment.yaml after the line with its origin.
std::string saved_text(const Experiment& experiment) {
  return fmt::format("{}{}\n{}", kEngine, experiment.engine, experiment.text);
}

}  // namespace

std::string default_run_folder(const Experiment& experiment) {
  return in_folder("results", experiment.name);
}

std::string results_path(const std::string& folder, const Shard& shard) {
  return in_folder(folder, shard_file_name(shard));
}

std::string published_path(const std::string& folder) { return in_folder(folder, "published.csv"); }

std::string timeline_path(const std::string& folder, const std::string& cell_key) {
  std::string name = cell_key;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '=';
        return !plain;
      },
      '-');
  return (std::filesystem::path(folder) / "timelines" / (name + ".json")).string();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw UserError(
        fmt::format("{}: the folder cannot be made: {}", quoted(folder, 200), error.message()));
  }
}

void check_run_folder(const std::string& folder) {
  std::error_code error;
  OwnFiles files{.writer = "cclgym run",
                 .mark = std::string(kExperimentFile),
                 .mark_begins = std::string(kOrigin)};
  // Results name their experiment themselves, and may be the only file that a killed run left.
  if (!std::filesystem::exists(results_path(folder), error)) {
    files.others = {"report.html", "published.csv", "timelines"};
  }
  refuse_foreign_files(folder, files);
  refuse_foreign_folder(folder);
}

void refuse_file_of_run(const std::string& path, const std::string& folder,
                        const SourceLocation& where) {
  std::error_code error;
  for (const std::string& own : {in_folder(folder, kExperimentFile), results_path(folder)}) {
    if (!std::filesystem::equivalent(path, own, error)) continue;
    throw UserError(where, quoted(path, 200) + " is a file of the run itself; choose another");
  }
}

void save_run_experiment(const Experiment& experiment, const std::string& folder) {
  const std::string origin = std::filesystem::absolute(experiment.path).lexically_normal().string();
  write_text_file(in_folder(folder, kExperimentFile),
                  fmt::format("{}{}\n{}", kOrigin, origin, saved_text(experiment)));
}

void check_shard_folder(const Experiment& experiment, const Shard& shard,
                        const std::string& folder) {
  const std::string advice = "; choose another folder with --out, or start over with --fresh";
  std::error_code error;
  bool shards = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto other = shard_of_file_name(entry.path().filename().string());
    if (!other) continue;
    shards = true;
    if (other->count == shard.count) continue;
    throw UserError(fmt::format("{}: has shards of {}, this is one of {}{}", quoted(folder, 200),
                                other->count, shard.count, advice));
  }
  const std::string path = in_folder(folder, kExperimentFile);
  if (!shards || !std::filesystem::exists(path, error)) return;
  const std::string file = read_text_file(path, kLargestFile);
  std::string_view text = file;
  static_cast<void>(take_line(text, kOrigin, path));
  if (text != saved_text(experiment)) {
    throw UserError(quoted(folder, 200) + ": has shards of another experiment" + advice);
  }
}

Experiment load_run_experiment(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw UserError(
        quoted(folder, 200) +
        (std::filesystem::exists(folder, error) ? " is not a folder" : " does not exist") +
        "; expected the folder of a run");
  }
  const std::string path = in_folder(folder, kExperimentFile);
  const std::string file = read_text_file(path, kLargestFile);
  std::string_view text = file;
  const std::string origin = take_line(text, kOrigin, path);
  const std::string engine = take_line(text, kEngine, path);
  Experiment experiment = parse_experiment(text, origin);
  experiment.engine = engine;
  return experiment;
}

ResultTable read_run_results(const Experiment& experiment, const std::string& folder) {
  const std::string path = results_path(folder);
  ResultTable results = read_results(path);
  const std::string hash = experiment.hash();
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const ResultRow& row = results.rows[i];
    if (row.experiment_hash == hash) continue;
    throw UserError(
        {path, i + 2, 1},
        fmt::format("a result of experiment {} by cclgym {}; expected {}, the hash of the "
                    "experiment.yaml beside it with its programs and tables as they are now, in "
                    "this version; run it again: cclgym run {} --out {} --fresh",
                    quoted(row.experiment_hash), row.version, hash, experiment.path, folder));
  }
  return results;
}

}  // namespace cclgym
