// Tests of cclgym synthesize as a process.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

// Runs cclgym synthesize with a time limit that no machine reaches.
Ended run_synthesis(std::vector<std::string> args, const std::string& folder) {
  args.insert(args.begin(), {"synthesize", "--time-limit", "86400"});
  return run_program(args, folder);
}

TEST_CASE("synthesize writes programs, a dispatch table and pictures, which other commands take",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const Ended made = run_synthesis({"--fabric", "dgx1", "--collective", "allgather", "--pareto",
                                    "--sizes", "[12KiB, 48MiB]", "-o", "made"},
                                   folder.path());
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(contains(made.out, "bounds: steps >= 2, rounds per chunk >= 7/6"));
  CHECK(contains(made.out, "allgather-2-2-3"));
  CHECK(contains(made.out, "\ntable     made/dispatch.yaml\n"));
  CHECK(contains(made.err, "6 chunks, 3 steps, 7 rounds; proof: cut"));
  const std::string page = read_file(folder / "made/report.html");
  CHECK(contains(page, "allgather-6-3-7"));
  CHECK(contains(page, "svg role"));
  CHECK(std::filesystem::exists(folder / "made/sweep/report.html"));

  const Ended verified =
      run_program({"verify", "made/programs/allgather-6-3-7.xml", "--execute"}, folder.path());
  CHECK(verified.code == 0);
  const Ended simulated =
      run_program({"simulate", "--fabric", "dgx1", "--collective", "allgather", "--size", "12KiB",
                   "--algorithm", "dispatch:made/dispatch.yaml"},
                  folder.path());
  INFO(simulated.err);
  CHECK(simulated.code == 0);
  const Ended by_formula = run_program({"simulate", "--fabric", "dgx1", "--collective", "allgather",
                                        "--size", "12KiB", "--algorithm", "synth:pareto"},
                                       folder.path());
  INFO(by_formula.err);
  CHECK(by_formula.code == 0);
}

TEST_CASE("programs that the table uses have its protocols and sizes", "[cli][synthesize]") {
  const TemporaryFolder folder;
  for (const std::string dialect : {"microsoft", "azure"}) {
    INFO(dialect);
    const Ended made =
        run_synthesis({"--fabric", "dgx1", "--collective", "allgather", "--pareto", "--sizes",
                       "16KiB..16MiB x8", "--dialect", dialect, "-o", "made"},
                      folder.path());
    INFO(made.err);
    REQUIRE(made.code == 0);
    const DispatchTable table = load_dispatch_table(folder / "made/dispatch.yaml");
    REQUIRE(table.blocks.size() == 1);
    std::set<std::string> files;
    for (const DispatchRange& range : table.blocks[0].ranges) {
      const std::string& name = range.choice.config.algorithm;
      const auto program = std::ranges::find(table.programs, name, &NamedProgram::name);
      if (program == table.programs.end()) continue;
      CAPTURE(name);
      CHECK(files.insert(program->file).second);
      const XmlSettings settings = read_msccl_xml_file(program->file).settings;
      CHECK(to_string(settings.dialect) == dialect);
      CHECK(settings.protocol == to_string(range.choice.config.protocol));
      CHECK(settings.min_bytes == range.from_bytes);
      CHECK(settings.end_bytes == range.to_bytes);
    }
    // One program is used with LL, and with LL128 above.
    CHECK(files.size() > 2);
    CHECK(
        std::ranges::any_of(files, [](const auto& file) { return contains(file, "-range2.xml"); }));
  }
  const Ended again = run_synthesis(
      {"--fabric", "dgx1", "--collective", "allgather", "--pareto", "--no-sweep", "-o", "made"},
      folder.path());
  CHECK(again.code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "made/programs")) {
    CHECK_FALSE(contains(entry.path().string(), "-range2"));
    CHECK(read_msccl_xml_file(entry.path().string()).settings.end_bytes == XmlSettings::kNoEnd);
  }
}

TEST_CASE("programs with more thread blocks than a GPU runs are not written", "[cli][synthesize]") {
  const TemporaryFolder folder;
  const auto made = [&](int blocks) {
    write_file(folder / "m.yaml", "name: mine\nmax_thread_blocks: " + std::to_string(blocks) +
                                      "\nlocal_copy_rate: 100 GB/s\nprotocols:\n"
                                      "  LL: {step_latency: 1us, efficiency: 0.5, "
                                      "thread_block_rate: 8 GB/s, reduce_rate: 4 GB/s}\n"
                                      "  LL128: {step_latency: 2us, efficiency: 0.9, "
                                      "thread_block_rate: 9 GB/s, reduce_rate: 5 GB/s}\n"
                                      "  Simple: {step_latency: 3us, efficiency: 1, "
                                      "thread_block_rate: 10 GB/s, reduce_rate: 6 GB/s}\n");
    return run_synthesis({"--fabric", "dgx1", "--collective", "allgather", "--pareto",
                          "--cost-model", "m.yaml", "--no-sweep", "-o", "made"},
                         folder.path());
  };
  // allgather-6-3-7 has 11 blocks on a GPU, and allgather-2-2-3 has 12.
  const Ended some = made(11);
  INFO(some.err);
  CHECK(some.code == 0);
  CHECK(contains(some.out,
                 "note: allgather-2-2-3 has no XML: program 'allgather-2-2-3' cannot be loaded: it "
                 "needs 12 thread blocks on a GPU, and by cost model mine a GPU runs 11 of 512 "
                 "threads at once"));
  CHECK_FALSE(std::filesystem::exists(folder / "made/programs/allgather-2-2-3.xml"));
  CHECK(std::filesystem::exists(folder / "made/programs/allgather-6-3-7.xml"));
  const Ended none = made(10);
  CHECK(none.code == 2);
  CHECK(contains(none.err, "cannot be loaded"));
  CHECK(contains(none.err, "synthesize for fewer GPUs or another method"));
  CHECK_FALSE(std::filesystem::exists(folder / "made/programs/allgather-6-3-7.xml"));
}

TEST_CASE("synthesize refuses wrong requests with exit code 2 and writes nothing",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> args, const std::string& message) {
    args.insert(args.begin(), "synthesize");
    args.insert(args.end(), {"-o", "made"});
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, message));
    CHECK_FALSE(std::filesystem::exists(folder / "made"));
  };
  refused({"--collective", "allgather"}, "--fabric");
  refused({"--fabric", "dgx1"}, "--collective");
  refused(
      {"--fabric", "dgx1", "--collective", "alltonext"},
      "--collective: there is no synthesis of alltonext; expected one of allreduce, allgather, ");
  refused({"--fabric", "dgx1", "--collective", "custom"}, "there is no synthesis of custom");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--group", "0"},
          "--group: a group of 1 rank has nothing to communicate; expected at least 2 ranks");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--group", "1,0"}, "must ascend");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--root", "1"},
          "--root: allgather has no root; leave --root out");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--group", "0,x"}, "--group");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--time-limit", "0"},
          "--time-limit: time-limit is '0'; expected >= 0.001, <= 86400");
  refused({"--fabric", "dgx1", "--collective", "allgather", "--dialect", "nvidia"}, "dialect");
  refused({"--fabric", "dgx1", "--collective", "broadcast", "--root", "8"},
          "--root: root 8 is not a rank of the group");
  refused({"--fabric", "dgx1", "--without", "gpu0:gpu9", "--collective", "allgather"},
          "has no device 'gpu9'");
  const auto refused_sizes = [&](const std::string& sizes, const std::string& message) {
    refused({"--fabric", "dgx1", "--collective", "allgather", "--sizes", sizes}, message);
  };
  refused_sizes("many", "--sizes: ");
  refused_sizes("[1KiB, 1KiB]", "--sizes: sizes has 1KiB more than once");
  refused_sizes("1KiB: 2", "expected sizes, e.g. 1KiB..1GiB x4 or [12KiB, 48MiB]");
  refused_sizes("1KiB\ncost_model: v100", "expected sizes");
  refused_sizes("[12B]", "--sizes: ");
}

TEST_CASE("fabrics on which nothing can be synthesised are refused in one message",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& links, const std::string& message) {
    write_file(folder / "f.yaml",
               "name: f\nnodes:\n  - {name: gpu0, kind: gpu}\n"
               "  - {name: gpu1, kind: gpu}\n  - {name: gpu2, kind: gpu}\n"
               "links:\n" +
                   links);
    const Ended ended = run_synthesis(
        {"--fabric", "f.yaml", "--collective", "broadcast", "-o", "made"}, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
    CHECK(contains(ended.err, "error: f.yaml:"));
    CHECK(contains(ended.err, message));
    CHECK_FALSE(std::filesystem::exists(folder / "made"));
  };
  const auto link = [](const std::string& from, const std::string& to, const std::string& more) {
    return "  - {from: " + from + ", to: " + to + ", kind: nvlink, latency: 0.7us, " + more + "}\n";
  };
  refused(link("gpu0", "gpu1", "bandwidth: 25 GB/s"),
          "no links lead from GPU 'gpu0' to GPU 'gpu2'");
  refused(link("gpu0", "gpu1", "bandwidth: 25 GB/s, duplex: false") +
              link("gpu1", "gpu2", "bandwidth: 25 GB/s, duplex: false"),
          "no links lead from GPU 'gpu1' to GPU 'gpu0'");
  refused(link("gpu0", "gpu1", "bandwidth: 0 GB/s"), "bandwidth is '0 GB/s'; expected >=");
  refused(link("gpu0", "gpu1", "bandwidth: 25 GB/s, multiplicity: 0"), "multiplicity");
}

TEST_CASE("one-way links that form a circle are synthesised for", "[cli][synthesize]") {
  const TemporaryFolder folder;
  std::string text = "name: circle\nnodes:\n";
  for (const char* gpu : {"0", "1", "2"}) {
    text += std::string("  - {name: gpu") + gpu + ", kind: gpu}\n";
  }
  text += "links:\n";
  for (const auto& [from, to] : {std::pair("0", "1"), std::pair("1", "2"), std::pair("2", "0")}) {
    text += std::string("  - {from: gpu") + from + ", to: gpu" + to +
            ", kind: nvlink, bandwidth: 25 GB/s, latency: 1us, duplex: false}\n";
  }
  write_file(folder / "circle.yaml", text);
  const Ended made = run_synthesis(
      {"--fabric", "circle.yaml", "--collective", "reducescatter", "--no-sweep", "-o", "made"},
      folder.path());
  INFO(made.err);
  CHECK(made.code == 0);
  CHECK(contains(made.out, "bounds: steps >= 2, rounds per chunk >= 2\n"));
  CHECK(contains(made.out, "reducescatter-1-2-2 "));
  CHECK(contains(made.err, "reducescatter: 1 chunk, 2 steps, 2 rounds; proof: cut\n"));
}

TEST_CASE("without a program, synthesize says the bounds and ends with exit code 1",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  // Trees carry chunks of several targets only.
  const Ended ended = run_synthesis(
      {"--fabric", "dgx1", "--collective", "gather", "--throughput", "-o", "made"}, folder.path());
  CHECK(ended.code == 1);
  CHECK(contains(ended.out,
                 "gather on dgx1: 0 programs\nbounds: rounds per chunk >= 7/6\nnote: "
                 "Trees do not help gather: no chunk has two targets.\n"));
  const Ended silent = run_synthesis(
      {"--fabric", "dgx1", "--collective", "gather", "--throughput", "--quiet", "-o", "made"},
      folder.path());
  CHECK(silent.code == 1);
  CHECK(silent.out.empty());
  CHECK(silent.err == "no program; bounds: rounds per chunk >= 7/6\n");
  CHECK_FALSE(contains(ended.out, "programs  "));
  CHECK(contains(ended.out, "certificates (1 file)\n"));
  const Ended relayed = run_synthesis(
      {"--fabric", "dgx2", "--without", "nvswitch0", "--collective", "allgather", "-o", "other"},
      folder.path());
  CHECK(relayed.code == 1);
  CHECK(contains(relayed.out, "takes that path on channels 0 to 31"));
}

TEST_CASE("Gather and Scatter have bounds, a report and certificates, but no files of programs",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  for (const std::string collective : {"gather", "scatter"}) {
    const Ended made =
        run_synthesis({"--fabric", "dgx1", "--collective", collective, "--root", "3", "-o", "made"},
                      folder.path());
    INFO(made.err);
    CHECK(made.code == 0);
    // Seven chunks of each of the other ranks pass six link units of the root; C of Scatter counts
    // all chunks of the root's buffer.
    CHECK(contains(made.out, collective == "gather"
                                 ? "bounds: steps >= 2, rounds per chunk >= 7/6"
                                 : "bounds: steps >= 2, rounds per chunk >= 7/48"));
    CHECK(contains(made.out, "note: MSCCL XML has no " + collective));
    CHECK_FALSE(std::filesystem::exists(folder / "made/programs"));
    CHECK(std::filesystem::exists(folder / ("made/certificates/" + collective + "-rank-cut.json")));
  }
}

TEST_CASE("experiments say what they synthesise while they are loaded", "[cli][synthesize]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [z52]\ncollectives: [allgather]\nalgorithms: [\"synth:pareto\"]\n"
             "sizes: 64KiB\ncost_model: hockney\n");
  const Ended loud = run_program({"run", "e.yaml", "--jobs", "1"}, folder.path());
  CHECK(loud.code == 0);
  CHECK(loud.err.starts_with("synthesising allgather for z52\n  allgather: "));
  CHECK(loud.err.find("proof: ") < loud.err.find("0/1 cells"));
  const Ended quiet =
      run_program({"run", "e.yaml", "--jobs", "1", "--fresh", "--quiet"}, folder.path());
  CHECK(quiet.code == 0);
  CHECK(quiet.err.empty());
}

TEST_CASE("--without takes a list with blanks", "[cli][synthesize]") {
  const TemporaryFolder folder;
  const Ended made =
      run_synthesis({"--fabric", "dgx1", "--without", "gpu0:gpu4, gpu1:gpu5", "--collective",
                     "broadcast", "--throughput", "--sizes", "[64KiB]", "-o", "made"},
                    folder.path());
  INFO(made.err);
  CHECK(made.code == 0);
  // Labels in results have no commas.
  CHECK(contains(made.out, "broadcast on dgx1 without=gpu0:gpu4+gpu1:gpu5: "));
  CHECK(contains(made.out, "\ndgx1 without=gpu0:gpu4+gpu1:gpu5, broadcast\n"));
  const Ended used = run_program(
      {"simulate", "--fabric", "dgx1", "--without", "gpu0:gpu4,gpu1:gpu5", "--collective",
       "broadcast", "--size", "64KiB", "--algorithm", "dispatch:made/dispatch.yaml"},
      folder.path());
  INFO(used.err);
  CHECK(used.code == 0);
}

}  // namespace
}  // namespace cclgym::test
