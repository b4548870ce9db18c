// Tests of cclgym deploy as a process, and of export's protection of existing files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "agents/export/policy_export.hpp"
#include "agents/training/training_environment.hpp"
#include "cli/deployment/deploy_policy.hpp"
#include "cli/program.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"
#include "deploy/nccl_plugin/tuner_constants.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "deploy/sample_policy.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

std::vector<std::string> deploy(const std::vector<std::string>& more) {
  std::vector<std::string> args{"deploy"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST_CASE("a policy becomes a folder that a job can use", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "p.policy", policy_for("{name: ring, gpus: 4}", "stock-nccl", 1));
  const auto args = deploy({"--policy", "p.policy", "--for", "2.28.9", "-o", "it's here"});
  const Ended ended = run_program(args, folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "ring gpus=4: ranks 4, nodes 1"));
  const std::string out = folder / "it's here";
  const PolicyFile file = parse_policy(read_file(out + "/tuner.policy"), "p");
  const PolicyChoices policy(file, "p", 4, 1);
  CHECK(policy.machine() == "ring gpus=4");
  const RowChoices rows(read_file(out + "/tuner.csv"), "c", 4, 1);
  for (const std::uint64_t bytes : deployed_sizes()) {
    const auto wanted = policy.wanted(CCLGYM_NCCL_ALLREDUCE, bytes, 1);
    const auto line = rows.wanted(CCLGYM_NCCL_ALLREDUCE, bytes, 1);
    REQUIRE_FALSE(wanted.empty());
    if (wanted.front().algorithm < 0) {
      CHECK(line.empty());
    } else {
      REQUIRE_FALSE(line.empty());
      CHECK(line.front() == wanted.front());
    }
  }
  CHECK(contains(read_file(out + "/README.md"),
                 "\n. '" + folder.path() + "/it'\\''s here/env.sh'\n"));
  // A shell can read the environment file.
  const std::string shell = "sh -c \". \\\"" + out +
                            "/env.sh\\\" && test -x \\\"\\$NCCL_TUNER_PLUGIN\\\" && test -s "
                            "\\\"\\$CCLGYM_POLICY\\\" && test -z \\\"\\$CCLGYM_TUNER_CSV\\\"\"";
  CHECK(std::system(shell.c_str()) == 0);
  CHECK(contains(read_file(out + "/env.sh"), "# export NCCL_PROFILER_PLUGIN="));
  // bash finds a folder that was moved; other shells are told where it is, and say so if it is not.
  const std::string moved = folder / "moved it";
  std::filesystem::copy(out, moved);
  const auto sourced = [&](const std::string& text) {
    write_file(folder / "sourced.sh", text);
    return std::system(
        ("cd / && CDPATH=/tmp bash -euo pipefail '" + folder / "sourced.sh" + "'").c_str());
  };
  CHECK(sourced(". '" + moved + "/env.sh'\ntest \"$NCCL_TUNER_PLUGIN\" = '" + moved +
                "/libnccl-tuner-cclgym.so'\ntest -z \"${CCLGYM_DEPLOYED:-}\"\n") == 0);
  CHECK(sourced("CCLGYM_DEPLOYED='" + moved + "' sh -euc \". '" + moved +
                "/env.sh'; test \\\"\\$CCLGYM_POLICY\\\" = '" + moved + "/tuner.policy'\"\n") == 0);
  CHECK(sourced("export CCLGYM_DEPLOYED=/nowhere\n. '" + moved + "/env.sh' 2> '" + moved +
                "/said'\ntest -z \"${NCCL_TUNER_PLUGIN:-}\"\n") == 0);
  CHECK(read_file(moved + "/said") ==
        "cclgym: /nowhere is not a deployed folder, so NCCL decides alone; set CCLGYM_DEPLOYED to "
        "its path\n");

  std::filesystem::remove_all(moved);
  std::filesystem::remove(folder / "sourced.sh");

  // A second call rewrites the files of deploy and keeps other files in the folder.
  write_file(out + "/times.csv", "mine");
  write_file(out + "/constants.csv", "old");
  CHECK(run_program(args, folder.path()).code == 0);
  CHECK(read_file(out + "/times.csv") == "mine");
  CHECK_FALSE(std::filesystem::exists(out + "/constants.csv"));
  // The recorded times change the policy's observations.
  const std::string plain = read_file(out + "/tuner.policy");
  std::string times =
      "communicator,rank,ranks,nodes,sequence,collective,bytes,algorithm,protocol,channels,warps,"
      "start_ns,time_us\n";
  int sequence = 0;
  for (const char* algorithm : {"ring", "tree"}) {
    for (const char* protocol : {"ll", "ll128", "simple"}) {
      for (const std::uint64_t bytes : deployed_sizes()) {
        ++sequence;
        times += "aa,0,4,1," + std::to_string(sequence) + ",allreduce," + std::to_string(bytes) +
                 "," + algorithm + "," + protocol + ",4,16,1," +
                 std::to_string(200 + 100 * (sequence % 3)) + "\n";
      }
    }
  }
  write_file(folder / "t.csv", times);
  auto timed = args;
  timed.insert(timed.end(), {"--times", "t.csv"});
  const Ended with_times = run_program(timed, folder.path());
  INFO(with_times.err);
  CHECK(with_times.code == 0);
  CHECK(contains(with_times.out, "; 750 recorded calls, which gave "));
  CHECK(read_file(out + "/tuner.policy") != plain);
  const auto only = std::filesystem::directory_iterator(folder.path());
  CHECK(std::distance(begin(only), end(only)) == 3);  // nothing half-written is left
}

TEST_CASE("deploy names the collectives about which NCCL asks no tuner", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "p.policy",
             policy_for("ndv4", "stock-nccl, legal: nccl", 1, {}, "allreduce, alltoall"));
  const Ended ended = run_program(
      deploy({"--policy", "p.policy", "--for", "nccl-2.30", "-o", "out"}), folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out,
                 "ndv4: the policy's choices for alltoall are not deployed: NCCL asks no tuner"));
  CHECK_FALSE(contains(ended.out, "first choice"));
}

TEST_CASE("deploy refuses invalid requests, and then writes nothing", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "p.policy", policy_for("{name: ring, gpus: 4}", "stock-nccl", 1));
  write_file(folder / "chunks.policy", policy_for("ndv4", "nccl-2.30", 2, {"ring", "32KiB"}));
  write_file(folder / "all.policy", policy_for("{name: ring, gpus: 4}", "offline", 3, {"ring"}));
  const auto refused = [&](const std::vector<std::string>& args, const std::string& part) {
    const Ended ended = run_program(deploy(args), folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  };
  refused({}, "--for is missing");
  refused({"--for", "nccl-2.28"}, "--out is missing");
  refused({"--for", "nccl-2.28", "-o", "out"}, "--policy, --dispatch or --constants is missing");
  refused({"--policy", "p.policy", "--for", "ncl-2.28", "-o", "out"}, "did you mean 'nccl-2.28'?");
  refused({"--policy", "p.policy", "--for", "nccl-2.28a", "-o", "out"},
          "unknown release 'nccl-2.28a'; expected one of nccl-2.21, ");
  refused({"--policy", "p.policy", "--for", "2.20.5", "-o", "out"},
          "nccl-2.20 asks for no tuner that the plugin has; expected nccl-2.21 or newer");
  refused({"--policy", "p.policy", "--for", "nccl-2.99", "-o", "out"},
          "nccl-2.99 is newer than the releases that are known; the newest is nccl-2.32, with "
          "version 6 of the tuner's interface");
  refused({"--policy", "none", "--for", "nccl-2.28", "-o", "out"}, "'none' does not exist");
  refused({"--policy", "p.policy", "--for", "nccl-2.28", "-o", "out", "--machine", "ring gpus=8"},
          "--machine: unknown machine 'ring gpus=8'; expected one of ring gpus=4");
  refused({"--policy", "p.policy", "--for", "nccl-2.28", "-o", "out", "--seed", "1"}, "--seed");
  refused({"--policy", "p.policy", "--dispatch", "d", "--for", "nccl-2.28", "-o", "out"},
          "exclude each other");
  refused({"--policy", "chunks.policy", "--for", "nccl-2.28", "-o", "out"},
          "chunks.policy: ndv4 allreduce from 8B: 'ring ");
  refused({"--policy", "all.policy", "--for", "nccl-2.30", "-o", "out"}, "knob '");
  refused({"--constants", "--machine", "ring gpus=4", "--for", "nccl-2.27", "-o", "out"},
          "nccl-2.28 does");
  refused({"--constants", "--for", "nccl-2.28", "-o", "out"}, "name it with --machine");
  std::filesystem::create_directory(folder / "other");
  write_file(folder / "other/mine", "mine");
  const std::vector<std::string> other{"--policy", "p.policy", "--for", "nccl-2.30", "-o", "other"};
  refused(other, "a folder with other files");
  auto forced = other;
  forced.emplace_back("--force");
  CHECK(run_program(deploy(forced), folder.path()).code == 0);
  CHECK(read_file(folder / "other/mine") == "mine");
  CHECK(run_program(deploy(other), folder.path()).code ==
        0);  // now it is a folder that deploy wrote
  refused({"--policy", "p.policy", "--for", "nccl-2.28", "-o", "p.policy"}, "not a folder");
  CHECK(run_program(deploy({"--policy", "chunks.policy", "--for", "nccl-2.30", "-o", "new"}),
                    folder.path())
            .code == 0);
}

TEST_CASE("a dispatch table becomes lines", "[cli][deploy]") {
  const TemporaryFolder folder;
  const std::string head = "description: a test\ntables:\n  - fabric: ndv4 nodes=2\n";
  write_file(folder / "d.yaml",
             head +
                 "    collective: allreduce\n    ranges:\n"
                 "      - {sizes: ..64KiB, algorithm: tree, protocol: LL, channels: 2}\n"
                 "      - {sizes: 64KiB.., algorithm: ring, protocol: Simple, channels: 8}\n");
  const Ended ended = run_program(
      deploy({"--dispatch", "d.yaml", "--for", "nccl-2.24", "-o", "out"}), folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const std::string csv = read_file(folder / "out/tuner.csv");
  REQUIRE(run_program(deploy({"--dispatch", "d.yaml", "--machine", "ndv4 nodes=2", "--for",
                              "nccl-2.24", "-o", "same"}),
                      folder.path())
              .code == 0);
  CHECK(read_file(folder / "same/tuner.csv") == csv);
  CHECK(contains(csv, "\nallreduce,0,65535,tree,ll,2,2,16\n"));
  CHECK(contains(csv, "\nallreduce,65536,1099511627776,ring,simple,8,2,16\n"));
  CHECK(contains(read_file(folder / "out/env.sh"), "\nexport CCLGYM_TUNER_CSV="));
  write_file(folder / "d.yaml",
             head +
                 "    collective: allreduce\n    ranges:\n"
                 "      - {sizes: 0B.., algorithm: all-pairs, protocol: LL, channels: 2}\n");
  const Ended refused = run_program(
      deploy({"--dispatch", "d.yaml", "--for", "nccl-2.24", "-o", "out"}), folder.path());
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "d.yaml:6:"));
  CHECK(contains(refused.err, "algorithm 'all-pairs' does not exist in this release of NCCL"));
  CHECK(contains(read_file(folder / "out/tuner.csv"), "tree,ll"));  // unchanged
}

TEST_CASE("the table of a sweep with NCCL's own choice is deployable: NCCL sets its own tiles",
          "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "s.yaml",
             "name: s\nfabrics: {name: hgx-h100, nodes: 2}\ncollectives: [allreduce]\n"
             "algorithms: [nccl-default, tree]\nprotocols: [LL]\nchannels: [1]\n"
             "sizes: 64KiB..256MiB x4\nengine: flow\n");
  const Ended tuned = run_program({"tune-dispatch", "s.yaml", "-o", "t.yaml"}, folder.path());
  INFO(tuned.err);
  REQUIRE(tuned.code == 0);
  const std::string table = read_file(folder / "t.yaml");
  INFO(table);
  REQUIRE(contains(table, "tile: "));
  CHECK(contains(table, "tiles_by: nccl}\n"));
  const auto deployed = [&] {
    return run_program(deploy({"--dispatch", "t.yaml", "--for", "nccl-2.30", "-o", "out"}),
                       folder.path());
  };
  const Ended ended = deployed();
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(read_file(folder / "out/tuner.csv"), "\nallreduce,0,"));
  // Without the mark, the tile is the user's, which no tuner can set.
  std::string own = table;
  for (std::size_t at = own.find(", tiles_by: nccl"); at != std::string::npos;
       at = own.find(", tiles_by: nccl")) {
    own.erase(at, std::string_view(", tiles_by: nccl").size());
  }
  write_file(folder / "t.yaml", own);
  const Ended refused = deployed();
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "a tuner of NCCL cannot set a tile size"));
}

// A user's fabric in a folder of its own.
void write_fabric(const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder / "fabrics of mine");
  write_file(folder / "fabrics of mine/file.yaml",
             "name: duo\ngpu_model: V100\nnodes: [{name: gpu0..3}]\n"
             "links: [{mesh: gpu0..3, kind: nvlink, bandwidth: 25 GB/s, latency: 0.7us}]\n");
}

TEST_CASE("a table tuned under noise on a user's fabric file is simulated and deployed",
          "[cli][deploy]") {
  const TemporaryFolder folder;
  write_fabric(folder);
  const std::string sweep =
      "name: s\nfabrics: ['fabrics of mine/file.yaml']\nnoise: NOISE\nseeds: 1..2\n"
      "collectives: [allreduce]\nalgorithms: [ring, tree]\nprotocols: [LL, Simple]\n"
      "channels: [2]\nsizes: [1KiB, 1MiB]\nengine: flow\n";
  const auto sweep_with = [&](const std::string& noise) {
    std::string text = sweep;
    write_file(folder / "s.yaml", text.replace(text.find("NOISE"), 5, noise));
  };
  const auto run = [&](const std::vector<std::string>& args) {
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    return ended;
  };
  sweep_with("cloud-ib");
  CHECK(contains(run({"tune-dispatch", "s.yaml", "-o", "t.yaml"}).out, "duo noise=cloud-ib, allr"));
  CHECK(contains(read_file(folder / "t.yaml"), "fabric: \"duo\"\n"));
  CHECK(contains(run({"simulate", "--fabric", "fabrics of mine/file.yaml", "--collective",
                      "allreduce", "--size", "1KiB", "--algorithm", "dispatch:t.yaml"})
                     .out,
                 "LL"));
  (void)run(deploy({"--dispatch", "t.yaml", "--machine", "fabrics of mine/file.yaml", "--for",
                    "nccl-2.28", "-o", "out"}));
  CHECK(contains(read_file(folder / "out/tuner.csv"), "# duo\nallreduce,0,"));
  CHECK(contains(read_file(folder / "out/tuner.csv"), ",1,4\n"));
  // The table has the fabric's name, which says nothing about the file.
  const Ended unnamed = run_program(
      deploy({"--dispatch", "t.yaml", "--for", "nccl-2.28", "-o", "other"}), folder.path());
  CHECK(unnamed.code == 2);
  CHECK(contains(unnamed.err, "unknown fabric 'duo'"));
  CHECK(contains(unnamed.err, "give the file as --machine FILE.yaml"));
  const Ended wrong = run_program(
      deploy({"--dispatch", "t.yaml", "--machine", "s.yaml", "--for", "nccl-2.28", "-o", "other"}),
      folder.path());
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "s.yaml:"));

  // One fabric with and without noise would be two tables of it.
  sweep_with("[none, cloud-ib]");
  std::filesystem::remove_all(folder / "results");
  const Ended both = run_program({"tune-dispatch", "s.yaml", "-o", "u.yaml"}, folder.path());
  CHECK(both.code == 2);
  CHECK(contains(both.err, "s.yaml: the sweep has 'duo' and 'duo noise=cloud-ib', which are one"));
  CHECK_FALSE(std::filesystem::exists(folder / "u.yaml"));
}

TEST_CASE("a policy for a user's fabric file is deployed by the file, and has its name",
          "[cli][deploy]") {
  const TemporaryFolder folder;
  write_fabric(folder);
  const std::string file = folder / "fabrics of mine/file.yaml";
  write_file(folder / "p.policy", policy_for("{name: '" + file + "'}", "stock-nccl", 1));
  const Ended ended =
      run_program(deploy({"--policy", "p.policy", "--machine", "fabrics of mine/file.yaml", "--for",
                          "nccl-2.28", "-o", "out"}),
                  folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "duo: ranks 4, nodes 1"));
  const PolicyChoices policy(parse_policy(read_file(folder / "out/tuner.policy"), "p"), "p", 4, 1);
  CHECK(policy.machine() == "duo");
  const Ended unnamed = run_program(
      deploy({"--policy", "p.policy", "--for", "nccl-2.28", "-o", "other"}), folder.path());
  CHECK(unnamed.code == 2);
  CHECK(contains(unnamed.err, "give the file as --machine FILE.yaml"));
}

TEST_CASE("an agent trained on a user's fabric file is deployed by its name", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_fabric(folder);
  const std::string options =
      "{fabric: 'fabrics of mine/file.yaml', actions: stock-nccl, legal: nccl, oracle: true,\n"
      " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..4KiB x2}}\n";
  write_file(folder / "t.yaml",
             "name: t\ntrain:\n  - options: " + options +
                 "evaluate:\n  - label: all\n    options: " + options +
                 "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\nwarm_start: {iterations: 1}\n"
                 "ppo: {iterations: 1, environments: 4, steps: 16, sequence: 8}\nseeds: [1]\n");
  const Ended trained = run_program({"train", "t.yaml", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const Ended ended = run_program(
      deploy({"--policy", "results/t", "--machine", "duo", "--for", "nccl-2.28", "-o", "out"}),
      folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "duo: ranks 4, nodes 1"));
  REQUIRE(run_program({"export", "results/t", "--to", "p.policy"}, folder.path()).code == 0);
  const Ended file =
      run_program(deploy({"--policy", "p.policy", "--machine", "fabrics of mine/file.yaml", "--for",
                          "nccl-2.28", "-o", "same"}),
                  folder.path());
  INFO(file.err);
  REQUIRE(file.code == 0);
  CHECK(read_file(folder / "same/tuner.csv") == read_file(folder / "out/tuner.csv"));
}

TEST_CASE("constants are fitted to a machine", "[cli][deploy]") {
  const TemporaryFolder folder;
  const Ended ended =
      run_program(deploy({"--constants", "--machine", "dgx1", "--for", "nccl-2.28", "-o", "out"}),
                  folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const TunerConstants constants =
      parse_tuner_constants(read_file(folder / "out/constants.csv"), "constants.csv");
  CHECK(constants.ranks == 8);
  CHECK(constants.nodes == 1);
  CHECK(constants.values.size() >= 15);
  CHECK(contains(ended.out, "constants of NCCL's model fitted to"));
  const auto number = [&](const std::string& before) {
    return std::stod(ended.out.substr(ended.out.find(before) + before.size()));
  };
  CHECK(number("simulated)| ") < number(", before "));
  CHECK(contains(read_file(folder / "out/env.sh"), "export CCLGYM_TUNER_CONSTANTS="));
}

TEST_CASE("export does not overwrite the training, nor its own other output", "[cli][deploy]") {
  const TemporaryFolder folder;
  const std::string options =
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl,\n"
      " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}}\n";
  write_file(folder / "t.yaml", "name: t\ntrain:\n  - options: " + options +
                                    "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\n"
                                    "warm_start: {iterations: 1}\nppo: {iterations: 1, "
                                    "environments: 4, steps: 16, sequence: 8}\nseeds: [1]\n");
  const Ended trained = run_program({"train", "t.yaml", "--out", "run", "--quiet"}, folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "run")) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  REQUIRE(files.size() >= 3);
  for (const std::string& file : files) {
    const std::string before = read_file(file);
    for (const char* option : {"--to", "--csv"}) {
      const Ended ended = run_program({"export", "run", option, file}, folder.path());
      INFO(file << ": " << ended.err);
      CHECK(ended.code == 2);
      CHECK(contains(ended.err, "is a file of the training itself"));
    }
    CHECK(read_file(file) == before);
  }
  const Ended same = run_program({"export", "run", "--to", "a", "--csv", "./a"}, folder.path());
  CHECK(same.code == 2);
  CHECK(contains(same.err, "is also the file of --to"));
  CHECK(run_program({"export", "run", "--to", "run/a.policy"}, folder.path()).code == 0);
  CHECK(run_program({"export", "run", "--to", "run/a.policy"}, folder.path()).code == 0);
  CHECK(run_program(deploy({"--policy", "run", "--for", "nccl-2.28", "-o", "out", "--quiet"}),
                    folder.path())
            .code == 0);
}

}  // namespace
}  // namespace cclgym::test
