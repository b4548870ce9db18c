// Tests of cclgym evaluate and export as processes.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "agents/training/checkpoint.hpp"
#include "cli/program.hpp"
#include "core/files/folder_lock.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

const char* const kEnvironment =
    "{fabric: {name: ring, gpus: 4}, actions: stock-nccl,\n"
    " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}, oracle: true}\n";

TEST_CASE("evaluate compares baselines in an environment", "[cli][agents]") {
  const TemporaryFolder folder;
  write_file(folder / "small.yaml", kEnvironment);
  const Ended ended = run_program(
      {"evaluate", "small.yaml", "--against", "random,table,oracle", "--seeds", "2", "--out", "o"},
      folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "6 calls per seed"));
  const std::size_t oracle = ended.out.find("\noracle");
  CHECK(oracle < ended.out.find("\nrandom"));
  CHECK(contains(ended.out.substr(oracle), "1.0000 .. 1.0000"));
  const std::string csv = read_file(folder / "o/evaluation.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 3 * 2 * 6);
  const std::string choices = read_file(folder / "o/choices.txt");
  CHECK(contains(ended.out, choices));
  CHECK(contains(choices, "small on ring gpus=4, allreduce: choices by size\n  table"));
  CHECK(contains(choices, "\n  oracle  1KiB"));
  CHECK(contains(read_file(folder / "o/report.html"), "\"policy\":\"oracle\""));
}

TEST_CASE("evaluate and export refuse invalid requests", "[cli][agents]") {
  const TemporaryFolder folder;
  write_file(folder / "small.yaml", kEnvironment);
  const auto refused = [&](const std::vector<std::string>& args, const std::string& part) {
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
  };
  refused({"evaluate", "small.yaml", "--against", "oracel"}, "did you mean 'oracle'");
  refused({"evaluate", "small.yaml", "--against", "nccl-default:1.0"}, "1.0");
  refused({"evaluate", "small.yaml", "--seeds", "0"}, "--seeds");
  refused({"evaluate", "none.yaml"}, "none.yaml");
  refused({"evaluate", "."}, "not the folder of a training");
  refused({"export", "."}, "--to or --csv is missing");
  refused({"export", ".", "--format", "torchscrip", "--to", "x"}, "did you mean 'torchscript'");
  refused({"export", ".", "--format", "onnx", "--csv", "x"}, "needs --to");
  refused({"export", ".", "--format", "torchscript", "--csv", "x"}, "needs --to");
  refused({"export", ".", "--to", "x.policy"}, "not the folder of a training");
}

TEST_CASE("a trained agent is evaluated and exported", "[cli][agents]") {
  const TemporaryFolder folder;
  const std::string options = kEnvironment;
  write_file(folder / "small-train.yaml",
             "name: small\ntrain:\n  - options: " + options + "evaluate:\n  - label: all\n" +
                 "    options: " + options +
                 "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n"
                 "warm_start: {iterations: 4}\nppo: {iterations: 1, environments: 4, steps: 16, "
                 "sequence: 8}\nseeds: [1]\n");
  const Ended trained =
      run_program({"train", "small-train.yaml", "--out", "run", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const std::string curves = read_file(folder / "run/report.html");
  CHECK(contains(curves, "[1.0,\"warm-start\",64.0,"));
  CHECK(contains(curves, "\"parts\":[]"));
  const Ended ended = run_program({"evaluate", "run", "--against", "oracle"}, folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "\nlstm-ppo"));
  const std::string page = read_file(folder / "run/report.html");
  CHECK(contains(page, "[1.0,\"warm-start\",64.0,"));
  CHECK(contains(page, "\"policy\":\"lstm-ppo\""));
  // A refused command leaves a finished run unchanged.
  for (const char* from : {"run", "nowhere"}) {
    CHECK(run_program({"train", "small-train.yaml", "--out", "run", "--from", from, "--fresh"},
                      folder.path())
              .code == 2);
  }
  // Nothing is left to train, so the page with the evaluation stays.
  CHECK(run_program({"train", "small-train.yaml", "--out", "run", "--quiet"}, folder.path()).code ==
        0);
  CHECK(read_file(folder / "run/report.html") == page);
  const auto json_of_training = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "small-train.yaml", "--json", "--out"});
    const Ended said = run_program(more, folder.path());
    INFO(said.err);
    CHECK(said.code == 0);
    return nlohmann::json::parse(said.out)["trainings"][0];
  };
  const nlohmann::json planned_run = json_of_training({"new", "--dry-run"});
  CHECK(planned_run["agents"] == nlohmann::json{{{"seed", 1}, {"iterations_done", 0}}});
  CHECK(planned_run["evaluated"] == nlohmann::json{"all"});
  CHECK_FALSE(fs::exists(folder / "new"));
  const nlohmann::json fresh = json_of_training({"new"});
  CHECK(fresh["name"] == "small");
  CHECK(fresh["folder"] == "new");
  CHECK(fs::exists(folder / fresh["report"].get<std::string>()));
  CHECK(fresh["iterations"] == 5);
  const nlohmann::json& one = fresh["agents"][0];
  CHECK(one["iterations"] == 5);
  CHECK(one["trained_now"] == true);
  CHECK(one["mean_reward"].is_number());
  CHECK(fs::exists(folder / one["checkpoint"].get<std::string>()));
  REQUIRE(one["evaluation"].size() == 1);
  CHECK(one["evaluation"][0]["label"] == "all");
  CHECK(one["evaluation"][0]["oracle_ratio"].get<double>() >= 1);
  const nlohmann::json kept = json_of_training({"new", "--quiet"})["agents"][0];
  CHECK(kept["iterations"] == 5);
  CHECK(kept["trained_now"] == false);
  CHECK(kept["mean_reward"].is_null());
  const Ended exported =
      run_program({"export", "run", "--to", "a.policy", "--csv", "a.csv"}, folder.path());
  INFO(exported.err);
  REQUIRE(exported.code == 0);
  CHECK(read_file(folder / "a.policy").starts_with("CCLGYMPO"));
  CHECK(contains(read_file(folder / "a.policy"), "masks/ring gpus=4/allreduce"));
  CHECK(contains(read_file(folder / "a.csv"), "collective_type,min_bytes,max_bytes"));
  const Ended scripted =
      run_program({"export", "run", "--format", "torchscript", "--to", "a.pt"}, folder.path());
  INFO(scripted.err);
  REQUIRE(scripted.code == 0);
  CHECK(contains(scripted.out, "machines: 1"));
  CHECK(read_file(folder / "a.pt").starts_with("PK"));
  // An export may be written over, if it has the same form; other files only with --force.
  write_file(folder / "notes", "CCLGYM and I");
  fs::copy_file(folder / "a.policy", folder / "mine.pt");
  fs::copy_file(folder / "a.pt", folder / "mine.csv");
  const auto force = [&](std::vector<std::string> args, const std::string& path) {
    const std::string before = read_file(folder / path);
    const Ended refused = run_program(args, folder.path());
    INFO(path << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, ": '" + path + "' exists, but is not a "));
    CHECK(contains(refused.err, "; choose another file, or add --force to write over it\n"));
    CHECK(read_file(folder / path) == before);
    args.emplace_back("--force");
    CHECK(run_program(args, folder.path()).code == 0);
    CHECK(read_file(folder / path) != before);
    args.pop_back();
    CHECK(run_program(args, folder.path()).code == 0);
  };
  force({"export", "run", "--to", "notes"}, "notes");
  force({"export", "run", "--format", "torchscript", "--to", "mine.pt"}, "mine.pt");
  force({"export", "run", "--csv", "mine.csv"}, "mine.csv");
  write_file(folder / "notes", "");
  CHECK(run_program({"export", "run", "--to", "notes"}, folder.path()).code == 0);
  CHECK(contains(run_program({"export", "run", "--to", "run", "--dry-run"}, folder.path()).err,
                 "--to: 'run' is a folder; expected a file\n"));
  CHECK(contains(
      run_program({"export", "run", "--to", "run/train.yaml", "--force"}, folder.path()).err,
      "is a file of the training itself"));
  // A dry run names the same files as the run itself, in the same format, and writes none.
  const std::vector<std::string> both{"export", "run",   "--to",  "b.policy",
                                      "--csv",  "b.csv", "--json"};
  std::vector<std::string> dry = both;
  dry.emplace_back("--dry-run");
  const Ended planned = run_program(dry, folder.path());
  CHECK(planned.code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "b.policy"));
  nlohmann::json plan = nlohmann::json::parse(planned.out);
  CHECK(plan["written"] == false);
  const nlohmann::json done = nlohmann::json::parse(run_program(both, folder.path()).out);
  plan["written"] = true;
  CHECK(plan == done);
  CHECK(done["files"][0]["bytes"] == std::filesystem::file_size(folder / "b.policy"));
  CHECK(done["machines"] == nlohmann::json{"ring gpus=4"});
  const Ended model =
      run_program({"export", "run", "--format", "onnx", "--to", "a.onnx"}, folder.path());
  SKIP_UNLESS(!contains(model.err, "has no ONNX"), kNeedsOnnx);
  INFO(model.err);
  CHECK(model.code == 0);
  CHECK(contains(model.out, "opset 11; machines: 1"));
  CHECK(contains(read_file(folder / "a.onnx"), "rules/ring gpus=4/allreduce"));
  write_file(folder / "mine.onnx", "mine");
  force({"export", "run", "--format", "onnx", "--to", "mine.onnx"}, "mine.onnx");
}

TEST_CASE(
    "two trainings do not share a folder, and a training that has not ended is said to be one",
    "[cli][agents]") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, int iterations) {
    write_file(
        folder / name,
        "name: t\ntrain:\n  - options: " + std::string(kEnvironment) +
            "evaluate:\n  - label: all\n    options: " + kEnvironment +
            "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\nwarm_start: {iterations: 1}\n"
            "ppo: {iterations: " +
            std::to_string(iterations) +
            ", environments: 4, steps: 16, sequence: 8}\ncheckpoint_every: 1\nseeds: [1]\n");
  };
  write("t.yaml", 1);
  write("other.yaml", 2);
  const Ended trained = run_program({"train", "t.yaml", "--out", "run", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const std::string file = read_file(folder / "run/train.yaml");
  // Another seed of another training would take the file of the first.
  const Ended other =
      run_program({"train", "other.yaml", "--seed", "2", "--out", "run", "--quiet"}, folder.path());
  CHECK(other.code == 2);
  CHECK(contains(other.err, "run/seed-1/checkpoint.bin': belongs to another training"));
  {
    const FolderLock lock(folder / "run");
    const Ended second =
        run_program({"train", "t.yaml", "--seed", "2", "--out", "run", "--quiet"}, folder.path());
    CHECK(second.code == 2);
    CHECK(contains(second.err, "another command is writing there"));
  }
  CHECK(read_file(folder / "run/train.yaml") == file);
  CHECK_FALSE(std::filesystem::exists(folder / "run/seed-2"));
  const Ended whole = run_program({"export", "run", "--to", "a.policy", "--quiet"}, folder.path());
  CHECK(whole.code == 0);
  CHECK(whole.err.empty());
  CHECK(contains(read_file(folder / "a.policy"), "seed 1, iteration 2 of 2\n"));

  // The run as it is after the first of its iterations.
  Checkpoint half = load_checkpoint(folder / "run/seed-1/checkpoint.bin");
  half.iteration = 1;
  save_checkpoint(half, folder / "run/seed-1/checkpoint.bin");
  const std::string warning =
      "warning: run: the training has not ended: seed 1 has 1 of 2 iterations; cclgym train "
      "continues it\n";
  const std::vector<std::vector<std::string>> users{
      {"export", "run", "--to", "b.policy", "--quiet"},
      {"deploy", "--policy", "run", "--for", "nccl-2.30", "-o", "out", "--quiet"},
      {"evaluate", "run", "--against", "nccl-default", "--quiet"}};
  for (const auto& args : users) {
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(contains(ended.err, warning));
  }
}

TEST_CASE("a baseline of one machine is left out on others", "[cli][agents]") {
  const TemporaryFolder folder;
  const std::string rest =
      "actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..64KiB "
      "x8}, oracle: true}\n";
  const std::string ring = "{fabric: {name: ring, gpus: 4}, " + rest;
  write_file(folder / "two-train.yaml",
             "name: two\ntrain:\n  - options: " + ring +
                 "evaluate:\n  - label: of-amd\n    options: {fabric: frontier, " + rest +
                 "  - label: of-ring\n    options: " + ring +
                 "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n"
                 "warm_start: {iterations: 2}\nppo: {iterations: 1, environments: 4, steps: 16, "
                 "sequence: 8}\nseeds: [1]\n");
  const Ended trained =
      run_program({"train", "two-train.yaml", "--out", "run", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const Ended ended =
      run_program({"evaluate", "run", "--against", "oracle,rccl-default"}, folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.err, "warning: rccl-default is left out on of-ring: "));
  CHECK(contains(ended.out, "of-amd: 3 policies"));
  CHECK(contains(ended.out, "of-ring: 2 policies"));
  const std::string csv = read_file(folder / "run/evaluation.csv");
  CHECK(contains(csv, "\nof-amd,rccl-default,"));
  CHECK_FALSE(contains(csv, "\nof-ring,rccl-default,"));
  const Ended refused =
      run_program({"evaluate", "run", "--against", "pccl:none.yaml,oracle"}, folder.path());
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "--against pccl:none.yaml: "));
  CHECK(read_file(folder / "run/evaluation.csv") == csv);
}

TEST_CASE("an agent with a trigger is evaluated with it and without", "[cli][agents]") {
  const TemporaryFolder folder;
  const std::string options =
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, noise: stragglers,\n"
      " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..64KiB x8}, episode: 200}\n";
  write_file(
      folder / "small-train.yaml",
      "name: small\ntrain:\n  - options: " + options + "evaluate:\n  - label: all\n" +
          "    calls: 400\n    options: " + options +
          "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n"
          "warm_start: {iterations: 2}\nppo: {iterations: 1, environments: 4, steps: 16, "
          "sequence: 8}\ntrigger: {form: both, streams: 2, calls: 200, fit_streams: 2, epochs: 1}\n"
          "seeds: [1]\n");
  const Ended trained =
      run_program({"train", "small-train.yaml", "--out", "run", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(contains(read_file(folder / "run/seed-1/trigger.yaml"), "noise: 'stragglers'"));
  const Ended ended = run_program({"evaluate", "run", "--against", "table"}, folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "\nlstm-ppo+trigger"));
  CHECK(contains(ended.out, "\nlstm-ppo+lstm-trigger"));
  CHECK(contains(ended.out, "\ndetectors on held-out streams"));
  // The report counts two episodes of three sizes each, after 16 calls that are all decided.
  CHECK(contains(ended.out, "lstm-ppo frozen 0.095"));
  write_file(folder / "run/seed-1/trigger.yaml", "- {sigma: none}\n");
  const Ended damaged = run_program({"evaluate", "run", "--against", "table"}, folder.path());
  CHECK(damaged.code == 2);
  CHECK(contains(damaged.err, "trigger.yaml:1:"));
}

}  // namespace
}  // namespace cclgym::test
