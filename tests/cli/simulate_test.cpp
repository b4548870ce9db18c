// Tests of cclgym simulate as a process.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

// Runs simulate on an NDv4 with these options; later options override earlier ones.
Ended simulate(std::vector<std::string> options, const std::string& folder = ".") {
  options.insert(options.begin(), {"simulate", "--fabric", "ndv4"});
  return run_program(options, folder);
}

std::string refusal(const std::vector<std::string>& options, const std::string& folder = ".") {
  const Ended ended = simulate(options, folder);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  return ended.err;
}

const std::vector<std::string>& ring_allreduce() {
  static const std::vector<std::string> options{"--collective", "allreduce", "--algorithm",
                                                "ring",         "--size",    "1MiB"};
  return options;
}

std::vector<std::string> ring_with(const std::vector<std::string>& more) {
  std::vector<std::string> options = ring_allreduce();
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

TEST_CASE("simulate accepts the values that experiments accept", "[cli][simulate]") {
  CHECK(refusal(ring_with({"--channels", "65"})) ==
        "error: --channels: channels is '65'; expected >= 1, <= 64\n");
  CHECK(refusal(ring_with({"--threads", "31"})) ==
        "error: --threads: threads is '31'; expected >= 32, <= 1024, a multiple of 32\n");
  CHECK(refusal(ring_with({"--datatype", "float33"})).starts_with("error: --datatype: "));
  CHECK(refusal(ring_with({"--engine", "flo"}))
            .starts_with("error: --engine: unknown engine 'flo'; expected one of "));
  CHECK(simulate(ring_with({"--channels", "16", "--threads", "1024"})).code == 0);
}

TEST_CASE("simulate states the interval of the measured time, or why it has none",
          "[cli][simulate]") {
  const std::vector<std::string> call{"simulate", "--fabric",     "alps",       "--nodes",
                                      "8",        "--collective", "allreduce",  "--size",
                                      "1MiB",     "--json",       "--algorithm"};
  const auto interval = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = call;
    options.insert(options.end(), more.begin(), more.end());
    const Ended ended = run_program(options, ".");
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out);
  };
  const nlohmann::json stated = interval({"nccl-default:2.23.4"});
  const double time_s = stated["time_s"];
  const double low_s = stated["interval"]["low_s"];
  const double high_s = stated["interval"]["high_s"];
  CHECK(stated["interval"]["coverage"] == 0.9);
  CHECK(low_s * high_s == Approx(time_s * time_s));
  CHECK(high_s > 1.05 * time_s);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"all-pairs"},
                                             {"ring", "--cost-model", "a100"},
                                             {"ring", "--cost-model", "hockney"},
                                             {"ring", "--cost-model", "a100-mscclpp"},
                                             {"ring", "--cost-model", "mi50"},
                                             {"ring", "--tile", "64KiB"},
                                             {"ring", "--slots", "2"}}) {
    const nlohmann::json none = interval(more);
    CHECK(none["interval"]["low_s"].is_null());
    CHECK(none["interval"]["basis"].get<std::string>().size() > 10);
  }
  const TemporaryFolder folder;
  const std::string table = folder.path() + "/t.yaml";
  write_file(table, "coverage: 0.8\nintervals: []\n");
  const nlohmann::json own = interval({"ring", "--intervals", table});
  CHECK(own["interval"]["coverage"] == 0.8);
  CHECK(own["interval"]["basis"] ==
        "no held-out cells of allreduce by ring under set gh200 on several nodes of fabric alps");
}

TEST_CASE("simulate notes that NCCL's kernels for symmetric memory do not apply",
          "[cli][simulate]") {
  const std::vector<std::string> call{"--collective", "allreduce", "--size", "1MiB",
                                      "--engine",     "flow",      "--json", "--algorithm"};
  const auto run = [&](const std::string& tuner, const std::vector<std::string>& more) {
    std::vector<std::string> options = call;
    options.push_back(tuner);
    options.insert(options.end(), more.begin(), more.end());
    Ended ended = simulate(options);
    CHECK(ended.code == 0);
    return ended;
  };
  const Ended noted = run("nccl-default:2.28.3:symmetric", {"--nodes", "2"});
  CHECK(noted.err ==
        "note: NCCL 2.28.3 has kernels for symmetric memory only on one node with NVLink between "
        "all of its GPUs, unlike fabric 'ndv4'; its ordinary kernels carry out the calls\n");
  CHECK(nlohmann::json::parse(noted.out)["program"] == "tree");
  CHECK(run("nccl-default:2.28.3:symmetric", {}).err.empty());
  CHECK(run("nccl-default:2.28.3", {"--nodes", "2"}).err.empty());
}

TEST_CASE("simulate: sizes are rounded to the type's elements", "[cli][simulate]") {
  const auto odd = [](const std::string& size, const std::string& type) {
    return std::vector<std::string>{"--collective", "allreduce", "--algorithm", "ring",
                                    "--size",       size,        "--datatype",  type};
  };
  CHECK(simulate(odd("1022B", "float")).err ==
        "note: allreduce of 1022 B on 8 ranks runs with 1020 B: whole elements\n");
  CHECK(simulate(odd("1023B", "bf16")).err ==
        "note: allreduce of 1023 B on 8 ranks runs with 1022 B: whole elements\n");
  for (const char* type : {"fp16", "half", "BF16"}) CHECK(simulate(odd("1022B", type)).err.empty());
  CHECK(simulate(odd("1023B", "fp8_e4m3")).err.empty());
  CHECK(refusal(odd("3B", "float32"))
            .starts_with("error: --size: allreduce of 3 B is not a multiple of 4 B"));
}

TEST_CASE("simulate: names in any case, as NCCL and PyTorch write them", "[cli][simulate]") {
  const auto out = [](const char* collective, const char* algorithm, const char* protocol) {
    const Ended ended = simulate({"--collective", collective, "--algorithm", algorithm,
                                  "--protocol", protocol, "--size", "1M"});
    CHECK(ended.code == 0);
    return ended.out;
  };
  CHECK(out("AllReduce", "TREE", "SIMPLE") == out("all_reduce", "tree", "simple"));
  CHECK(out("AllReduce", "Ring", "ll128") == out("allreduce", "ring", "LL128"));
  CHECK(out("AllReduce", "All_Pairs", "LL") == out("allreduce", "all-pairs", "LL"));
}

TEST_CASE("simulate: a root for collectives that have one", "[cli][simulate]") {
  CHECK(refusal(ring_with({"--root", "1"})) ==
        "error: --root: allreduce has no root; leave --root out\n");
  const auto broadcast_from = [](const std::string& root) {
    return std::vector<std::string>{"--collective", "broadcast", "--algorithm", "ring",
                                    "--size",       "1MiB",      "--root",      root};
  };
  CHECK(simulate(broadcast_from("1")).code == 0);
  CHECK(refusal(broadcast_from("8")) ==
        "error: --root: root is '8'; expected a rank from 0 to 7\n");
}

TEST_CASE("simulate names the bottleneck: the spine before NICs that are busy for the same time",
          "[cli][simulate]") {
  std::vector<std::string> options{"simulate", "--fabric",         "ndv4",     "--nodes",
                                   "4",        "--nodes-per-leaf", "2",        "--oversubscription",
                                   "4",        "--collective",     "alltoall", "--algorithm",
                                   "naive",    "--size",           "32MiB",    "--engine",
                                   "flow"};
  const Ended text = run_program(options);
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  const std::string heading =
      "busiest links                   wire bytes          rate      "
      "capacity   share          busy\n";
  const std::size_t table = text.out.find(heading);
  REQUIRE(table != std::string::npos);
  const std::string first = text.out.substr(table + heading.size(), 28);
  CHECK(first == "leaf0 -> spine              ");
  options.push_back("--json");
  const Ended json = run_program(options);
  const nlohmann::json links = nlohmann::json::parse(json.out).at("links");
  REQUIRE(links.size() > 100);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(links[i].at("link").get<std::string>().find("spine") != std::string::npos);
    CHECK(links[i].at("share") > 0.95);
    CHECK(links[i].at("share").get<double>() == Approx(links[i].at("rate_Bps").get<double>() /
                                                       links[i].at("capacity_Bps").get<double>()));
  }
  // The links to the spine have a quarter of the NICs' capacity, so the NICs are less than half
  // used.
  CHECK(links[4].at("share") < 0.5);
  CHECK(links[4].at("busy_s").get<double>() == Approx(links[0].at("busy_s").get<double>()));
}

TEST_CASE("simulate warns of a cost model that is not of the fabric's GPUs", "[cli][simulate]") {
  const auto of = [](const std::vector<std::string>& more) {
    std::vector<std::string> options{"simulate", "--collective", "allreduce", "--algorithm",
                                     "ring",     "--size",       "64KiB"};
    options.insert(options.end(), more.begin(), more.end());
    return run_program(options);
  };
  const Ended other = of({"--fabric", "mi300x", "--cost-model", "v100"});
  CHECK(other.code == 0);
  CHECK(other.err == "warning: cost model v100 stands for V100, but fabric 'mi300x' has MI300X\n");
  CHECK(other.out.find("cost model v100 (not of MI300X), ") != std::string::npos);
  const TemporaryFolder folder;
  const std::string file = folder / "b300.yaml";
  write_file(file,
             "name: four-b300\ngpu_model: B300\nnodes: [{name: gpu0..3}]\nlinks: [{mesh: gpu0..3, "
             "kind: nvlink, bandwidth: 50 GB/s, latency: 1us}]\n");
  const Ended none = of({"--fabric", file, "--json"});
  CHECK(none.err.starts_with("warning: no parameter set was fitted to the B300"));
  const nlohmann::json json = nlohmann::json::parse(none.out);
  CHECK(json.at("cost_model") == "b200");
  CHECK(json.at("cost_model_misfit") == "no set for B300");
  const Ended own = of({"--fabric", "mi300x", "--json"});
  CHECK(own.err.empty());
  CHECK(nlohmann::json::parse(own.out).at("cost_model_misfit").is_null());
  CHECK(of({"--fabric", file, "--cost-model", "hockney"}).err.empty());
}

TEST_CASE("what a node says about itself is a fabric, and becomes a fabric file", "[cli][run]") {
  const TemporaryFolder folder;
  const auto gpu = [](const std::string& rank, const std::string& bus, const std::string& other) {
    return "<pci busid=\"0000:" + bus +
           R"(:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev=")" +
           rank + R"(" sm="90" rank=")" + rank + R"(" gdr="1"><nvlink target="0000:)" + other +
           R"(:00.0" count="6" tclass="0x030200"/></gpu></pci>)";
  };
  write_file(
      folder / "system.xml",
      R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">)"
      R"(<pci busid="0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">)" +
          gpu("0", "11", "12") + gpu("1", "12", "11") +
          R"(<pci busid="0000:13:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">)"
          R"(<nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/></nic></pci></pci></cpu></system>)");
  const Ended described = run_program(
      {"describe", "fabric", "system.xml", "--nodes", "2", "--yaml", "f.yaml"}, folder.path());
  CHECK(described.code == 0);
  CHECK(described.out.starts_with("system: 4 GPUs (H100) in 2 servers"));
  CHECK(described.err.starts_with(
      "warning: system.xml: GPUs of compute capability 9.0 are taken for H100"));
  const auto time = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--collective", "allreduce", "--algorithm", "ring", "--size",
                                   "64KiB", "--json"});
    options.insert(options.begin(), {"simulate", "--fabric"});
    const Ended ended = run_program(options, folder.path());
    CHECK(ended.code == 0);
    return nlohmann::json::parse(ended.out).at("time_s").get<double>();
  };
  CHECK(time({"system.xml", "--nodes", "2"}) == time({"f.yaml"}));
  const Ended refused =
      run_program({"describe", "fabric", "dgx1", "--yaml", "g.yaml"}, folder.path());
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "error: --yaml: is for a file that describes a node; 'dgx1' is a shipped "
        "fabric, which has no file\n");
}

TEST_CASE("simulate --program: a compiled file takes the time of its algorithm",
          "[cli][simulate]") {
  const TemporaryFolder folder;
  // MSCCL's interpreter runs this algorithm, as it runs programs from files.
  REQUIRE(run_program(
              {"compile", "spread-ring", "--collective", "allreduce", "--gpus", "8", "--channels",
               "2", "--instances", "3", "--protocol", "LL128", "--out", "ring.xml"},
              folder.path())
              .code == 0);
  const auto time_s = [&](const std::vector<std::string>& options) {
    const Ended ended = simulate(options, folder.path());
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out).at("time_s").get<double>();
  };
  const double algorithm_s =
      time_s({"--collective", "allreduce", "--algorithm", "spread-ring", "--channels", "2",
              "--instances", "3", "--size", "1MiB", "--protocol", "LL128", "--json"});
  CHECK(time_s({"--program", "ring.xml", "--size", "1MiB", "--json"}) == Approx(algorithm_s));
  CHECK(time_s({"--program", "ring.xml", "--size", "1MiB", "--protocol", "Simple", "--json"}) !=
        Approx(algorithm_s));

  CHECK(refusal({"--program", "ring.xml", "--size", "1MiB", "--channels", "2"}, folder.path()) ==
        "error: --channels: comes with the program; leave it out\n");
  CHECK(refusal({"--program", "ring.xml", "--nodes", "2", "--size", "1MiB"}, folder.path()) ==
        "error: --program: 'ring.xml' is for 8 ranks; fabric 'ndv4' has 16\n");
}

TEST_CASE("compile --nodes also has its older name --servers", "[cli][compile]") {
  const TemporaryFolder folder;
  const auto compile = [&](const std::vector<std::string>& options) {
    std::vector<std::string> args{"compile", "two-step", "--collective", "alltoall",
                                  "--gpus",  "8",        "--out",        "p.xml"};
    args.insert(args.end(), options.begin(), options.end());
    std::filesystem::remove(folder / "p.xml");
    return run_program(args, folder.path());
  };
  REQUIRE(compile({"--nodes", "2"}).code == 0);
  const std::string now = read_file(folder / "p.xml");
  REQUIRE(compile({"--servers", "2"}).code == 0);
  CHECK(read_file(folder / "p.xml") == now);
  const Ended both = compile({"--nodes", "2", "--servers", "2"});
  CHECK(both.code == 2);
  CHECK(both.err ==
        "error: --nodes and --servers are two names of one option, and both are given; leave "
        "--servers out\n");
  CHECK(compile({"--servers", "3"}).err ==
        "error: --nodes: found 3 nodes for 8 GPUs; expected a divisor of the number of GPUs\n");
  CHECK(run_program({"compile", "--help"}).out.find("--servers") == std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
