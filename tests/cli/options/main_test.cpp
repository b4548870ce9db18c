// The command line: help, version, mistakes, exit codes.
#include <algorithm>
#include <sstream>

#include "cli/program.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "sim/engine/engine.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names{"run",           "merge", "report",  "simulate",
                                              "describe",      "list",  "compile", "verify",
                                              "tune-dispatch", "fit",   "compare"};
  return names;
}

TEST_CASE("--help names every command, and each command explains itself with examples",
          "[cli][main]") {
  const Ended help = run_program({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  for (const std::string& name : command_names()) {
    INFO(name);
    CHECK(help.out.find("\n  " + name + " ") != std::string::npos);
    const Ended own = run_program({name, "--help"});
    CHECK(own.code == 0);
    CHECK(own.err.empty());
    CHECK(own.out.find("Usage: cclgym " + name + " ") != std::string::npos);
    CHECK(own.out.find("\nExamples:\n  cclgym " + name + " ") != std::string::npos);
    CHECK(own.out.find("--help") != std::string::npos);
  }
}

TEST_CASE("no line of help has more than 100 characters", "[cli][main]") {
  std::vector<std::vector<std::string>> calls{{"--help"}};
  for (const std::string& name : command_names()) calls.push_back({name, "--help"});
  for (const char* name : {"train", "evaluate", "validate", "export", "deploy"}) {
    calls.push_back({name, "--help"});
  }
  for (const char* backend : {"mpi", "cuda", "nccl"}) {
    calls.push_back({"calibrate", backend, "--help"});
  }
  for (const std::vector<std::string>& call : calls) {
    std::istringstream help(run_program(call).out);
    for (std::string line; std::getline(help, line);) {
      INFO(call.front() << ": " << line);
      CHECK(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <= 100);
    }
  }
}

TEST_CASE("help names both forms of an option and never breaks a word", "[cli][main]") {
  const std::string help = run_program({"fit", "--help"}).out;
  CHECK(help.find("\n  -o, --out FILE ") != std::string::npos);
  CHECK(help.find("protocols.LL.step_latency") != std::string::npos);
  CHECK(help.find("\n  --hold-out ranks=N,…|sizes=B,…\n    ") != std::string::npos);
}

TEST_CASE("--version prints the version and the built-in libraries", "[cli][main]") {
  const Ended version = run_program({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("cclgym 0."));
  for (const EngineInfo& engine : engine_infos()) {
    CHECK(version.out.find("\nengine " + engine.name + ": ") != std::string::npos);
  }
  CHECK(version.out.find("\nlibraries: SimGrid ") != std::string::npos);
  CHECK(version.out.find("\ncompiler: ") != std::string::npos);
  CHECK(version.out.find("\nbuild type: ") != std::string::npos);
}

TEST_CASE("mistakes on the command line: a message, exit code 2", "[cli][main]") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{"rnu"},
       "unknown command 'rnu'; expected one of run, merge, report, simulate, workload, describe, "
       "list, "
       "compile, "
       "verify, synthesize, check-certificate, tune-dispatch, fit, compare, calibrate, train, "
       "evaluate, validate, loop, export, deploy "
       "(did you mean 'run'?)"},
      {{"--vresion"},
       "unknown option '--vresion'; expected one of --help, --version (did you mean '--version'?)"},
      {{"run", "--jbos", "2", "x.yaml"},
       "unknown option '--jbos'; expected one of --out, --engine, --jobs, --shard, --cell-timeout, "
       "--peer-timeout, --fresh, --dry-run, --quiet, --json, --help (did you mean '--jobs'?)"},
      {{"run"},
       "missing FILE; expected: cclgym run FILE [--out DIR] [--jobs N] [--shard I/N] [--fresh] "
       "[--quiet] [options]"},
      {{"run", "a", "b"},
       "too many arguments; expected: cclgym run FILE [--out DIR] [--jobs N] [--shard I/N] "
       "[--fresh] [--quiet] [options]"},
      {{"run", "a", "--jobs"}, "the required argument for option '--jobs' is missing"},
      {{"run", "a", "--jobs", "1", "--jobs", "2"}, "--jobs is given more than once"},
      {{"run", "--FILE", "a"},
       "unknown option '--FILE'; expected one of --out, --engine, --jobs, --shard, --cell-timeout, "
       "--peer-timeout, --fresh, --dry-run, --quiet, --json, --help (did you mean '--help'?)"},
      {{"run", "gone.yaml"}, "'gone.yaml' does not exist"},
      {{"run", "/tmp"}, "'/tmp' is a folder; expected a file"}};
  for (const auto& [args, message] : mistakes) {
    const Ended ended = run_program(args);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK(ended.err == "error: " + message + "\n");
  }
  const Ended nothing = run_program({});
  CHECK(nothing.code == 2);
  CHECK(nothing.err.find("Usage: cclgym COMMAND") != std::string::npos);
}

TEST_CASE("lost output is not success", "[cli][main]") {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--help"}, {"list", "fabrics"}, {"describe", "fabric", "dgx1"}}) {
    const Ended ended = run_program(args, ".", "/dev/full");
    CHECK(ended.code == 1);
    CHECK(ended.err == "error: standard output cannot be written\n");
  }
}

TEST_CASE("a bad experiment: its message on standard error, exit code 2, nothing written",
          "[cli][main]") {
  const TemporaryFolder folder;
  for (const BadExperiment& bad : bad_experiments()) {
    INFO(bad.what);
    write_file(folder / "bad.yaml", bad.text);
    const Ended ended = run_program({"run", "bad.yaml"}, folder.path());
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK(ended.err == "error: bad.yaml" + bad.message + "\n");
  }
  CHECK_FALSE(std::filesystem::exists(folder / "results"));
}

TEST_CASE("options of run are checked like the experiment's keys", "[cli][main]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({}));
  const auto message = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "e.yaml"});
    const Ended ended = run_program(more, folder.path());
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK(message({"--engine", "simgird"}) ==
        "error: --engine: unknown engine 'simgird'; expected one of flow, simgrid (did you mean "
        "'simgrid'?)\n");
  CHECK(message({"--jobs", "0"}) == "error: --jobs: jobs is '0'; expected >= 1, <= 1024\n");
  CHECK(message({"--jobs", "many"}).starts_with("error: --jobs: jobs "));
  CHECK_FALSE(std::filesystem::exists(folder / "results"));
}

}  // namespace
}  // namespace cclgym::test
