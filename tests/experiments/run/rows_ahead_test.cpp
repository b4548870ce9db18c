// Tests of the journal of rows that were computed before rows that precede them.
#include "experiments/run/rows_ahead.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "experiments/run/results.hpp"
#include "experiments/run/results_file.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

Experiment cells_of_five_sizes(const std::string& channels = "[1, 2]") {
  return parse_experiment(experiment_with({{"sizes", "[1KiB, 2KiB, 4KiB, 8KiB, 16KiB]"},
                                           {"channels", channels},
                                           {"engine", "flow"}}),
                          "e.yaml");
}

// Lines of the complete results, without the header.
std::vector<std::string> lines_of(const Experiment& experiment, const std::string& folder) {
  run_experiment(experiment, {.folder = folder});
  std::vector<std::string> lines;
  for (const ResultRow& row : read_results(results_path(folder)).rows) lines.push_back(to_csv(row));
  return lines;
}

void add(ResultsFile& file, const std::vector<std::string>& lines,
         const std::vector<std::size_t>& positions) {
  std::vector<TaskReply> rows;
  for (const std::size_t position : positions) {
    rows.push_back({.index = position, .outcome = Outcome::Done, .text = lines[position]});
  }
  file.add(rows);
}

TEST_CASE("rows in any order: each is saved at once, and the file is in order",
          "[experiments][rows-ahead]") {
  const TemporaryFolder folder;
  const Experiment experiment = cells_of_five_sizes();
  const std::vector<std::string> lines = lines_of(experiment, folder / "whole");
  REQUIRE(lines.size() == 10);
  const std::string bytes = read_file(folder / "whole/results.csv");
  const std::string path = folder / "results.csv";
  const std::string journal = path + ".ahead";
  {
    ResultsFile file(path, experiment, {}, false, "");
    add(file, lines, {0, 1});
    CHECK_FALSE(std::filesystem::exists(journal));
    add(file, lines, {7, 3});
    CHECK(file.rows() == 2);
    CHECK(file.done() == 4);
    add(file, lines, {2});
    CHECK(file.rows() == 4);
    add(file, lines, {9, 5});
  }
  {
    ResultsFile file(path, experiment, {}, false, "");
    CHECK(file.rows() == 4);
    CHECK(file.left() == std::vector<std::size_t>{4, 6, 8});
    add(file, lines, {8, 6});
    CHECK(file.rows() == 4);
    add(file, lines, {4});
    CHECK(file.rows() == 10);
  }
  CHECK(read_file(path) == bytes);
  CHECK_FALSE(std::filesystem::exists(journal));
}

TEST_CASE("a journal that was cut anywhere gives its complete rows", "[experiments][rows-ahead]") {
  const TemporaryFolder folder;
  const Experiment experiment = cells_of_five_sizes();
  const std::vector<std::string> lines = lines_of(experiment, folder / "whole");
  const std::string bytes = read_file(folder / "whole/results.csv");
  const std::string path = folder / "run/results.csv";
  const std::string journal = path + ".ahead";
  std::filesystem::create_directory(folder / "run");
  {
    ResultsFile file(path, experiment, {}, false, "");
    add(file, lines, {5, 9, 1});
  }
  const std::string whole = read_file(journal);
  const std::string header = read_file(path);
  for (std::size_t length = 0; length <= whole.size(); length += 13) {
    INFO(length);
    write_file(path, header);
    write_file(journal, whole.substr(0, length));
    const std::string kept = whole.substr(0, length);
    const auto ends = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n'));
    const std::size_t rows = ends == 0 ? 0 : ends - 1;
    {
      ResultsFile file(path, experiment, {}, false, "");
      CHECK(file.done() == rows);
      CHECK(file.left().size() == 10 - rows);
    }
    std::size_t found = 99;
    run_experiment(experiment, {.folder = folder / "run"},
                   {.on_start = [&](std::size_t done, bool) { found = done; }, .on_progress = {}});
    CHECK(found == rows);
    CHECK(read_file(path) == bytes);
    CHECK_FALSE(std::filesystem::exists(journal));
  }
  // A changed byte ends the journal: its row and those after it are computed again.
  std::string changed = whole;
  changed[whole.find(lines[9]) + lines[9].size() / 2] ^= 1;
  write_file(path, header);
  write_file(journal, changed);
  ResultsFile file(path, experiment, {}, false, "");
  CHECK(file.done() == 1);
}

TEST_CASE("a journal of another experiment is refused, and another file left alone",
          "[experiments][rows-ahead]") {
  const TemporaryFolder folder;
  const Experiment experiment = cells_of_five_sizes();
  const Experiment other = cells_of_five_sizes("[4, 8]");
  const std::vector<std::string> lines = lines_of(experiment, folder / "whole");
  const std::string path = folder / "results.csv";
  const std::string journal = path + ".ahead";
  {
    ResultsFile file(path, experiment, {}, false, "");
    add(file, lines, {5});
  }
  const auto message = [&](const Experiment& wanted, bool fresh) {
    return thrown([&] { return ResultsFile(path, wanted, {}, fresh, "choose another").done(); });
  };
  CHECK(message(other, false) ==
        fmt::format("{}: has rows of another experiment or version: it begins with 'cclgym rows "
                    "ahead of shard 1/1 of experiment {}', expected 'cclgym rows ahead of shard "
                    "1/1 of experiment {}'; choose another",
                    journal, experiment.hash(), other.hash()));
  ResultsFile(path, other, {}, true, "");
  CHECK_FALSE(std::filesystem::exists(journal));
  write_file(journal, "my precious notes\n");
  for (const bool fresh : {false, true}) {
    CHECK(message(other, fresh).find("found another file") != std::string::npos);
  }
  CHECK(read_file(journal) == "my precious notes\n");
}

}  // namespace
}  // namespace cclgym::test
