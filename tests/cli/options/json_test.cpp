// Options that all commands share: --json, --dry-run, -h, and the commands help and version.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "core/files/text_file.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

nlohmann::json json_of(const std::vector<std::string>& args, const std::string& folder = ".") {
  const Ended ended = run_program(args, folder);
  INFO(ended.err);
  CHECK(ended.code == 0);
  return nlohmann::json::parse(ended.out);
}

const std::string kSmall = R"(name: small
fabrics: [dgx1]
collectives: [allreduce]
algorithms: [ring, recursive-doubling]
protocols: [LL, Simple]
sizes: [1KiB, 1MiB]
)";

}  // namespace

TEST_CASE("-h, --help and help COMMAND print the same", "[cli][json]") {
  for (const std::string name : {"run", "list", "describe", "fit", "train", "loop", "validate"}) {
    const std::string help = run_program({name, "--help"}).out;
    CHECK(run_program({name, "-h"}).out == help);
    CHECK(run_program({"help", name}).out == help);
    CHECK(contains(help, "Usage: cclgym " + name));
  }
  CHECK(run_program({"help"}).out == run_program({"--help"}).out);
  CHECK(run_program({"version"}).out == run_program({"--version"}).out);
  CHECK(run_program({"help", "calibrate", "mpi"}).out ==
        run_program({"calibrate", "mpi", "--help"}).out);
  CHECK(run_program({"help", "rnu"}).err.starts_with("error: unknown command 'rnu'"));
}

TEST_CASE("JSON replaces bytes of a path that are not UTF-8", "[cli][json]") {
  const TemporaryFolder folder;
  write_file(folder / "g\xff.yaml",
             "nodes: [{name: gpu0..1}]\nlinks: [{from: gpu0, to: gpu1, bandwidth: 1 GB/s, latency: "
             "1us}]\n");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"describe", "fabric", folder / "g\xff.yaml", "--json"},
        {"simulate", "--fabric", folder / "g\xff.yaml", "--collective", "allreduce", "--algorithm",
         "ring", "--size", "1MiB", "--engine", "flow", "--json"}}) {
    const Ended ended = run_program(args);
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(contains(ended.out, "g\xEF\xBF\xBD"));
  }
}

TEST_CASE("run --json prints the rows of results.csv", "[cli][json]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", kSmall);
  const nlohmann::json rows = json_of({"run", "e.yaml", "--out", "o", "--json"}, folder.path());
  REQUIRE(rows.size() == 8);
  CHECK(rows[0]["fabric"] == "dgx1");
  CHECK(rows[0]["size_bytes"] == 1024);
  CHECK(rows[0]["time_us"].is_number());
  CHECK(rows[0]["cost_model_hash"].is_string());
  // One value per column, with the same digits as in the file.
  const std::string csv = read_text_file(folder / "o/results.csv", 1 << 20);
  for (const auto& row : rows) {
    CHECK(contains(csv, row["cell_key"].get<std::string>()));
    CHECK(contains(csv, "," + row["flows"].dump() + ","));
  }
  CHECK(json_of({"report", "o", "--json"}, folder.path()) == rows);
  const nlohmann::json table =
      json_of({"tune-dispatch", "o", "-o", "table.yaml", "--json"}, folder.path());
  REQUIRE_FALSE(table.empty());
  CHECK(table.front()["from_bytes"] == 0);
  CHECK(table.back()["to_bytes"].is_null());
}

TEST_CASE("run --dry-run counts the cells and writes nothing", "[cli][json]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", kSmall);
  const auto dry = [&] {
    return json_of({"run", "e.yaml", "--out", "o", "--dry-run", "--json"}, folder.path());
  };
  nlohmann::json planned = dry();
  CHECK(planned["cells"] == 8);
  CHECK(planned["done"] == 0);
  CHECK(planned["timed_cells"] == 8);
  CHECK(planned["estimated_s"] > 0);
  CHECK_FALSE(std::filesystem::exists(folder / "o"));
  CHECK(contains(run_program({"run", "e.yaml", "--dry-run"}, folder.path()).out,
                 "cells     8, of which 0 are done\n"));
  REQUIRE(run_program({"run", "e.yaml", "--out", "o", "--quiet"}, folder.path()).code == 0);
  planned = dry();
  CHECK(planned["done"] == 8);
  CHECK(planned["estimated_s"] == 0);
  // Results of another experiment are refused before the run is.
  write_file(folder / "e.yaml", kSmall + "repetitions: 2\n");
  CHECK(run_program({"run", "e.yaml", "--out", "o", "--dry-run"}, folder.path()).code == 2);
}

TEST_CASE("list, describe, verify and check-certificate print JSON", "[cli][json]") {
  const nlohmann::json fabrics = json_of({"list", "fabrics", "--json"});
  CHECK(std::ranges::any_of(fabrics, [](const auto& one) { return one["name"] == "dgx1"; }));
  CHECK(json_of({"list", "algorithms", "--json"}).front().contains("details"));
  const nlohmann::json dgx1 = json_of({"describe", "fabric", "dgx1", "--json"});
  CHECK(dgx1["ranks"] == 8);
  CHECK(dgx1["metrics"]["inverse_bisection"] == "7/6");
  CHECK_FALSE(dgx1["links"].empty());
  CHECK_FALSE(dgx1["facts"].empty());
  const nlohmann::json right = json_of(
      {"verify", "ring", "--collective", "allreduce", "--gpus", "4", "--execute", "--json"});
  CHECK(right["ok"] == true);
  CHECK(right["checks"][0]["interleavings"] == 16);
}

TEST_CASE("compile --json prints what the file has", "[cli][json]") {
  const TemporaryFolder folder;
  const nlohmann::json made =
      json_of({"compile", "ring", "--collective", "allreduce", "--gpus", "4", "--channels", "2",
               "--dialect", "azure", "--max-bytes", "1MiB", "--out", "ring.xml", "--json"},
              folder.path());
  CHECK(made["path"] == "ring.xml");
  CHECK(made["bytes"] == std::filesystem::file_size(folder / "ring.xml"));
  CHECK(made["program"] == "ring");
  CHECK(made["collective"] == "allreduce");
  CHECK(made["ranks"] == 4);
  CHECK(made["channels"] == 2);
  CHECK(made["thread_blocks"] == 8);
  CHECK(made["steps"].get<int>() > 8);
  CHECK(made["dialect"] == "azure");
  CHECK(made["calls"]["max_bytes"] == 1 << 20);
  const nlohmann::json again = json_of(
      {"compile", "ring.xml", "--protocol", "LL", "--out", "two.xml", "--json"}, folder.path());
  CHECK(again["protocol"] == "LL");
  CHECK(again["steps"] == made["steps"]);
}

TEST_CASE("describe cost-model prints every value with its source", "[cli][json]") {
  const nlohmann::json set = json_of({"describe", "cost-model", "h100", "--json"});
  CHECK(set["name"] == "h100");
  const auto launch = std::ranges::find_if(
      set["parameters"], [](const auto& one) { return one["name"] == "kernel_launch"; });
  REQUIRE(launch != set["parameters"].end());
  CHECK((*launch)["value"].get<double>() == Approx(19.19e-6));
  CHECK((*launch)["source"].get<std::string>().starts_with("fitted to 284 rows"));
  const std::string text = run_program({"describe", "cost-model", "h100"}).out;
  CHECK(contains(text, "kernel_launch"));
  CHECK(contains(text, "19.19us"));
  CHECK(contains(text, "GPUs: H100, H200\n"));
  CHECK(run_program({"describe", "cost-model", "h10"}).code == 2);
  CHECK(run_program({"describe", "cost-model", "h100", "--nodes", "2"}).err ==
        "error: --nodes: is for `describe fabric`; leave it out\n");
}

}  // namespace cclgym::test
