// Runs every command with closed or full standard streams. It must end with an exit code that the
// help lists, and write the same files as an undisturbed run.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"
#include "support/thorough.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

// Commands listed by the program's help.
std::vector<std::string> command_table() {
  std::istringstream help(run_program({"--help"}).out);
  std::vector<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(help, line);) {
    if (inside && line.empty()) break;
    if (inside) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    inside = inside || line == "Commands:";
  }
  return names;
}

const std::string kMpiWorker = build_path("cclgym-mpi-worker");

struct WorkingCall {
  std::vector<std::string> args;
  /// Files that differ between two undisturbed calls, because they hold measured times.
  std::set<std::string> changing{};
  bool needs_torch = false;
  bool needs_mpi = false;
};

// A working call of each command, in the folder of prepare().
const std::map<std::string, WorkingCall>& working_calls() {
  const std::string worker = build_path("tests/calibration/acting_worker");
  static const std::map<std::string, WorkingCall> calls{
      {"run", {.args = {"run", "e.yaml", "--out", "o", "--jobs", "2"}}},
      {"merge", {.args = {"merge", "parts", "--out", "o"}}},
      {"report", {.args = {"report", "done"}}},
      {"simulate",
       {.args = {"simulate", "--fabric", "dgx1", "--collective", "allreduce", "--algorithm", "ring",
                 "--size", "64KiB", "--timeline", "o.json"}}},
      {"workload",
       {.args = {"workload", "job.yaml", "--fabric", "ring", "--gpus", "4", "--report", "o.html"}}},
      {"describe", {.args = {"describe", "fabric", "dgx1", "--dot", "o.dot"}}},
      {"list", {.args = {"list", "fabrics"}}},
      {"compile",
       {.args = {"compile", "ring", "--collective", "allreduce", "--gpus", "4", "--out", "o.xml"}}},
      {"verify", {.args = {"verify", "ring.xml"}}},
      {"synthesize",
       {.args = {"synthesize", "--fabric", "z52", "--collective", "allgather", "--no-sweep", "-o",
                 "o"}}},
      {"check-certificate",
       {.args = {"check-certificate", "made/certificates/allgather-distance.json"}}},
      {"tune-dispatch", {.args = {"tune-dispatch", "done", "-o", "o.yaml"}}},
      {"fit",
       {.args = {"fit", "--measured", "m.csv", "--fabric", "dgx1", "--nccl", "2.18", "--start",
                 "v100", "--parameters", "kernel_launch", "--evaluations", "10", "-o", "o.yaml"}}},
      {"compare",
       {.args = {"compare", "--measured", "m.csv", "--fabric", "dgx1", "--nccl", "2.18", "-o",
                 "o"}}},
      {"calibrate",
       {.args = {"calibrate", "mpi", "--launch", worker, "--sizes", "64B,128B", "--collective",
                 "allreduce", "--algorithm", "ring", "--repeats", "3", "-o", "o.csv"},
        .changing = {"o.csv"},
        .needs_mpi = true}},
      {"train",
       {.args = {"train", "t.yaml", "--out", "o"},
        .changing = {"o/report.html", "o/seed-1/checkpoint.bin", "o/seed-1/metrics.csv"},
        .needs_torch = true}},
      {"evaluate",
       {.args = {"evaluate", "environment.yaml", "--against", "table,oracle", "--seeds", "1",
                 "--out", "o"},
        .changing = {"o/report.html"}}},
      {"validate",
       {.args = {"validate", "trained", "--launch", worker, "--rounds", "2", "--repeats", "3",
                 "--sizes", "64B,128B", "--out", "o"},
        .changing = {"o/all.rows.csv"},
        .needs_torch = true,
        .needs_mpi = true}},
      {"loop",
       {.args = {"loop", "--show", source_path("calibration/results/netlab/loop"), "-o", "o"}}},
      {"export", {.args = {"export", "trained", "--to", "o.policy"}, .needs_torch = true}},
      {"deploy",
       {.args = {"deploy", "--constants", "--machine", "dgx1", "--for", "nccl-2.28", "-o", "o"}}}};
  return calls;
}

const char* const kSmallEnvironment =
    "{fabric: {name: ethernet, servers: 2, gpus_per_server: 2}, actions: openmpi, oracle: true,\n"
    " workload: {name: sweep, collectives: [allreduce], sizes: 64B..128B x2}}\n";

// Runs a command that makes an input.
void make_input(const TemporaryFolder& folder, const std::vector<std::string>& args) {
  const Ended ended = run_program(args, folder.path());
  INFO(args[0] << ": " << ended.err);
  REQUIRE((ended.code == 0 || ended.err.find("cannot train") != std::string::npos));
}

// Writes the inputs of the call of `run`, and its results into the folder "done".
void prepare_run(const TemporaryFolder& folder) {
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring, tree]\n"
             "protocols: [LL, Simple]\nchannels: [1, 2]\nsizes: 1KiB..64KiB x4\n"
             "timeline: [{algorithm: ring, size: 64KiB}]\n");
  make_input(folder, {"run", "e.yaml", "--out", "done", "--quiet"});
}

// Writes the inputs of the calls.
void prepare(const TemporaryFolder& folder) {
  prepare_run(folder);
  write_file(folder / "m.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,all_reduce,1024,30\n"
             "lab,8,1,all_reduce,65536,40\nlab,8,1,all_reduce,1048576,90\n");
  write_file(folder / "environment.yaml", kSmallEnvironment);
  write_file(folder / "job.yaml",
             "ranks: 2\ncommunicators: {dp: {groups: [[0, 1]]}}\nprograms:\n  - ranks: 0..1\n"
             "    ops: [{compute: 1ms}, {allreduce: 1MiB, on: dp}]\n");
  write_file(folder / "t.yaml",
             std::string("name: t\ntrain:\n  - options: ") + kSmallEnvironment +
                 "evaluate:\n  - label: all\n    options: " + kSmallEnvironment +
                 "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\nwarm_start: {iterations: 1}\n"
                 "ppo: {iterations: 1, environments: 4, steps: 16, sequence: 8}\nseeds: [1]\n");
  for (const char* shard : {"1/2", "2/2"}) {
    make_input(folder, {"run", "e.yaml", "--shard", shard, "--out", "parts", "--quiet"});
  }
  make_input(folder,
             {"compile", "ring", "--collective", "allreduce", "--gpus", "4", "--out", "ring.xml"});
  make_input(folder, {"synthesize", "--fabric", "z52", "--collective", "allgather", "--pareto",
                      "--no-sweep", "--quiet", "-o", "made"});
  make_input(folder, {"train", "t.yaml", "--out", "trained", "--quiet"});
}

// Names and contents of all files of a folder.
std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  }
  return files;
}

struct Disturbed {
  std::string what;
  std::array<Stream, 3> streams;
};

const std::vector<Disturbed>& disturbances() {
  using enum Stream;
  static const std::vector<Disturbed> all{
      {"0 closed", {Closed, Kept, Kept}},       {"1 closed", {Kept, Closed, Kept}},
      {"2 closed", {Kept, Kept, Closed}},       {"0 and 1 closed", {Closed, Closed, Kept}},
      {"all closed", {Closed, Closed, Closed}}, {"1 full", {Kept, Full, Kept}},
      {"2 full", {Kept, Kept, Full}},           {"1 and 2 full", {Kept, Full, Full}}};
  return all;
}

// Runs a call in copies of a folder, with undisturbed streams and a sample of the disturbed ones,
// and compares the files.
void check_call(const WorkingCall& call, const std::string& prepared, int code, Sample& sample) {
  const auto in_copy = [&](const std::array<Stream, 3>& streams,
                           std::map<std::string, std::string>& files) {
    // The path is always the same, because some files contain it.
    const std::string work = prepared + "-work";
    fs::copy(prepared, work, fs::copy_options::recursive);
    const Ended ended = run_with_streams(call.args, work, streams);
    files = files_below(work);
    fs::remove_all(work);
    return ended;
  };
  std::map<std::string, std::string> expected;
  const Ended whole = in_copy({Stream::Kept, Stream::Kept, Stream::Kept}, expected);
  INFO("undisturbed, standard error: " << whole.err);
  CHECK(whole.code == code);
  for (const Disturbed& disturbed : disturbances()) {
    if (sample.skips()) continue;
    INFO(disturbed.what);
    std::map<std::string, std::string> files;
    const Ended ended = in_copy(disturbed.streams, files);
    INFO("standard error: " << ended.err);
    const bool lost = disturbed.streams[1] != Stream::Kept && !whole.out.empty();
    CHECK(ended.code == (lost && whole.code == 0 ? 1 : whole.code));
    if (lost && disturbed.streams[2] == Stream::Kept) {
      CHECK(ended.err.ends_with("error: standard output cannot be written\n"));
    }
    if (disturbed.streams[1] == Stream::Kept && call.changing.empty()) {
      CHECK(ended.out == whole.out);
    }
    REQUIRE(files.size() == expected.size());
    for (const auto& [name, contents] : expected) {
      INFO(name);
      REQUIRE(files.contains(name));
      if (!call.changing.contains(name)) CHECK((files[name] == contents));
    }
  }
}

TEST_CASE("the calls of this test match the table of commands", "[cli][streams]") {
  std::vector<std::string> names;
  for (const auto& [name, call] : working_calls()) names.push_back(name);
  std::vector<std::string> table = command_table();
  std::ranges::sort(table);
  CHECK(table == names);
}

TEST_CASE("every command ends properly with closed or full streams, and loses nothing",
          "[cli][streams][thorough]") {
  SKIP_UNLESS(fs::is_character_file("/dev/full"), kNeedsDevFull);
  Sample sample(4);
  const TemporaryFolder folder;
  prepare(folder);
  const bool trained = fs::exists(folder / "trained");
  const bool mpi = fs::exists(kMpiWorker);
  if (!trained) say_not_run(kNeedsTorch);
  if (!mpi) say_not_run(kNeedsMpi);
  for (const auto& [name, call] : working_calls()) {
    INFO(name);
    const bool works = (trained || !call.needs_torch) && (mpi || !call.needs_mpi);
    check_call(call, folder.path(), works ? 0 : 2, sample);
  }
}

TEST_CASE("with --json, every command prints one JSON value and nothing else",
          "[cli][json][streams]") {
  const TemporaryFolder folder;
  prepare(folder);
  const bool trained = fs::exists(folder / "trained");
  const bool mpi = fs::exists(kMpiWorker);
  for (const auto& [name, call] : working_calls()) {
    if ((call.needs_torch && !trained) || (call.needs_mpi && !mpi)) continue;
    std::vector<std::string> args = call.args;
    args.emplace_back("--json");
    const Ended ended = run_program(args, folder.path());
    INFO(name << ": " << ended.out << "\n" << ended.err);
    CHECK(ended.code == 0);
    const nlohmann::json value = nlohmann::json::parse(ended.out, nullptr, false);
    CHECK((value.is_object() || value.is_array()));
    fs::remove_all(folder / "o");  // commands refuse each other's folders
  }
}

TEST_CASE("so do help, version and mistakes", "[cli][streams][thorough]") {
  SKIP_UNLESS(fs::is_character_file("/dev/full"), kNeedsDevFull);
  Sample sample(6);
  const TemporaryFolder folder;
  std::vector<std::vector<std::string>> calls{{}, {"--help"}, {"--version"}, {"no-such-command"}};
  for (const std::string& name : command_table()) {
    calls.push_back({name, "--help"});
    calls.push_back({name});
  }
  for (const auto& args : calls) {
    INFO((args.empty() ? "no arguments" : args.front()) << (args.size() > 1 ? " --help" : ""));
    const bool mistake = args.empty() || !args.back().starts_with("--");
    check_call({.args = args}, folder.path(), mistake ? 2 : 0, sample);
  }
}

TEST_CASE("with standard output closed, a command says that its output is lost", "[cli][streams]") {
  const TemporaryFolder folder;
  const Ended ended = run_with_streams({"list", "fabrics"}, folder.path(),
                                       {Stream::Kept, Stream::Closed, Stream::Kept});
  CHECK(ended.code == 1);
  CHECK(ended.err == "error: standard output cannot be written\n");
}

TEST_CASE("with standard error closed, results contain nothing else", "[cli][streams]") {
  const TemporaryFolder folder;
  prepare_run(folder);
  const Ended ended = run_with_streams({"run", "e.yaml", "--out", "o"}, folder.path(),
                                       {Stream::Kept, Stream::Kept, Stream::Closed});
  CHECK(ended.code == 0);
  CHECK(read_file(folder / "o/results.csv") == read_file(folder / "done/results.csv"));
}

TEST_CASE("a command whose readers went away finishes its work and its files", "[cli][streams]") {
  const TemporaryFolder folder;
  prepare_run(folder);
  const Ended errors = run_with_streams({"run", "e.yaml", "--out", "o"}, folder.path(),
                                        {Stream::Kept, Stream::Kept, Stream::Unread});
  CHECK(errors.code == 0);
  CHECK(read_file(folder / "o/results.csv") == read_file(folder / "done/results.csv"));
  CHECK(fs::exists(folder / "o/report.html"));
  const Ended output = run_with_streams({"run", "e.yaml", "--out", "p"}, folder.path(),
                                        {Stream::Kept, Stream::Unread, Stream::Kept});
  CHECK(output.code == 1);
  CHECK(output.err.find("error") == std::string::npos);
  CHECK(fs::exists(folder / "p/report.html"));
}

// With a full output, a worker's exit code may differ from a command's, because the driver notices
// the worker's end.
TEST_CASE("the workers guard their streams, too", "[cli][streams]") {
  struct Worker {
    std::string program;
    std::vector<std::string> args;
    const char* needs;
  };
  const std::string folder = build_path("");
  // The MPI worker's input is empty, so it prints its name and ends.
  for (const Worker& worker : {Worker{kMpiWorker, {}, kNeedsMpi},
                               Worker{folder + "cclgym-cuda-worker", {"--version"}, kNeedsCuda},
                               Worker{folder + "cclgym-nccl-worker", {"--version"}, kNeedsCuda}}) {
    INFO(worker.program);
    if (!fs::exists(worker.program)) {
      say_not_run(worker.needs);
      continue;
    }
    // OpenMPI does not free all of its memory, which a sanitizer reports by the exit code.
    if (kSanitized && worker.program == kMpiWorker) continue;
    for (const Disturbed& disturbed : disturbances()) {
      INFO(disturbed.what);
      CHECK(run_with_streams(worker.args, ".", disturbed.streams, worker.program).code == 0);
    }
  }
}

}  // namespace
}  // namespace cclgym::test
