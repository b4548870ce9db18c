// Tests of shards: their cells, their names, and merging them.
#include "experiments/run/merge_shards.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

constexpr std::size_t kCells = 10;

// An experiment of ten cells.
Experiment ten_cells(const std::string& sizes = "[1KiB, 2KiB, 4KiB, 8KiB, 16KiB]") {
  return parse_experiment(experiment_with({{"fabrics", "dgx1"},
                                           {"algorithms", "[ring, tree]"},
                                           {"sizes", sizes},
                                           {"engine", "flow"}}),
                          "e.yaml");
}

void run_shard(const Experiment& experiment, const std::string& folder, const Shard& shard) {
  run_experiment(experiment, {.folder = folder, .shard = shard});
}

TEST_CASE("every cell is in exactly one shard", "[experiments][shard]") {
  for (std::size_t count = 1; count <= 13; ++count) {
    std::vector<int> seen(kCells, 0);
    for (std::size_t number = 1; number <= count; ++number) {
      const Shard shard{number, count};
      for (std::size_t i = 0; i < shard.size(kCells); ++i) ++seen.at(shard.cell(i));
    }
    CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(kCells));
  }
}

TEST_CASE("shards are read from the command line and from file names", "[experiments][shard]") {
  const SourceLocation where{.file = "--shard"};
  CHECK(read_shard("3/16", where) == Shard{3, 16});
  CHECK(read_shard("1/1", where).whole());
  for (const char* text : {"", "/", "3", "0/4", "5/4", "03/16", "3/016", "-1/4", "+1/4", "1/4 ",
                           "1/100001", "99999999999999999999/4", "a/b", "1/2/3"}) {
    CHECK(contains(thrown([&] { (void)read_shard(text, where); }), "expected NUMBER/COUNT"));
  }
  CHECK(shard_file_name({3, 16}) == "shard-3-of-16.csv");
  CHECK(shard_file_name({}) == "results.csv");
  CHECK(shard_of_file_name("shard-3-of-16.csv") == Shard{3, 16});
  for (const char* name : {"results.csv", "shard-1-of-1.csv", "shard-03-of-16.csv",
                           "shard-3-of-16.csv~", "shard--of-.csv", "shard-17-of-16.csv"}) {
    CHECK(!shard_of_file_name(name));
  }
}

TEST_CASE("a shard is refused in a folder with shards of something else", "[experiments][shard]") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  run_shard(ten_cells(), out, {1, 3});
  run_shard(ten_cells(), out, {2, 3});
  const auto refusal = [&](const Experiment& experiment, const Shard& shard) {
    return thrown([&] {
      run_shard(experiment, out, shard);
      return 0;
    });
  };
  CHECK(contains(refusal(ten_cells(), {3, 4}), "has shards of 3, this is one of 4"));
  CHECK(contains(refusal(ten_cells("[1KiB]"), {3, 3}), "has shards of another experiment"));
  CHECK(refusal(ten_cells(), {3, 3}) == "(nothing thrown)");
}

TEST_CASE("merged shards have the bytes of one run, for any number of shards and folders",
          "[experiments][shard]") {
  const TemporaryFolder folder;
  const Experiment experiment = ten_cells();
  run_experiment(experiment, {.folder = folder / "whole"});
  const std::string expected = read_file(folder / "whole/results.csv");
  for (const std::size_t count : {2U, 3U, 7U, 12U}) {
    const std::string a = folder / ("a" + std::to_string(count));
    const std::string b = folder / ("b" + std::to_string(count));
    for (std::size_t number = count; number >= 1; --number) {
      run_shard(experiment, number % 2 == 0 ? a : b, {number, count});
    }
    CHECK(!std::filesystem::exists(results_path(a)));
    const ShardedRun run = find_shards({a, b});
    CHECK(run.shards.size() == count);
    merge_shards(run, folder / "out", true);
    CHECK(read_file(folder / "out/results.csv") == expected);
  }
}

TEST_CASE("a shard continues after a cut, and a half-merged run does, too",
          "[experiments][shard]") {
  const TemporaryFolder folder;
  const Experiment experiment = ten_cells();
  const std::string path = folder / "parts";
  run_experiment(experiment, {.folder = folder / "whole"});
  const std::string expected = read_file(folder / "whole/results.csv");
  run_shard(experiment, path, {1, 2});
  run_shard(experiment, path, {2, 2});
  const std::string shard = read_file(folder / "parts/shard-2-of-2.csv");
  write_file(folder / "parts/shard-2-of-2.csv", shard.substr(0, shard.size() * 2 / 3));
  CHECK(contains(thrown([&] { merge_shards(find_shards({path}), path, false); }),
                 "of 5 cells; finish it with cclgym run"));
  CHECK(!std::filesystem::exists(folder / "parts/results.csv"));
  run_shard(experiment, path, {2, 2});
  CHECK(read_file(folder / "parts/shard-2-of-2.csv") == shard);
  write_file(folder / "parts/results.csv", expected.substr(0, expected.size() / 2));
  merge_shards(find_shards({path}), path, false);
  CHECK(read_file(folder / "parts/results.csv") == expected);
}

TEST_CASE("shards that do not fit together are refused, and nothing is written",
          "[experiments][shard]") {
  const TemporaryFolder folder;
  const Experiment experiment = ten_cells();
  const auto problem = [&](const std::vector<std::string>& folders) {
    return thrown([&] { merge_shards(find_shards(folders), folder / "out", false); });
  };
  CHECK(contains(problem({folder / "none"}), "No such file or directory"));
  run_experiment(experiment, {.folder = folder / "whole"});
  CHECK(contains(problem({folder / "whole"}), "has no results of a shard"));
  run_shard(experiment, folder / "a", {1, 3});
  CHECK(contains(problem({folder / "a"}), "2 of 3 shards are missing: 2, 3"));
  run_shard(experiment, folder / "b", {2, 3});
  CHECK(contains(problem({folder / "a", folder / "b"}), "1 of 3 shards is missing: 3"));
  run_shard(experiment, folder / "b", {1, 3});
  CHECK(contains(problem({folder / "a", folder / "b"}), "are both shard 1 of 3"));
  run_shard(experiment, folder / "c", {2, 2});
  CHECK(contains(problem({folder / "a", folder / "c"}), "expected shards of one number"));
  run_shard(ten_cells("[1KiB, 2KiB, 4KiB, 8KiB, 32KiB]"), folder / "d", {2, 2});
  run_shard(experiment, folder / "e", {1, 2});
  CHECK(contains(problem({folder / "e", folder / "d"}), "of another experiment"));
  // A shard of another experiment under the name of this one's.
  std::filesystem::copy_file(folder / "d/shard-2-of-2.csv", folder / "e/shard-2-of-2.csv");
  CHECK(contains(problem({folder / "e"}), "has results of another experiment"));
  // Rows of another shard.
  std::filesystem::copy_file(folder / "e/shard-1-of-2.csv", folder / "e/shard-2-of-2.csv",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(contains(problem({folder / "e"}), "line 2 is cell"));
  CHECK(!std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace cclgym::test
