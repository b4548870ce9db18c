// Tests of the sources of the plugin's choices (policies, CSVs, constants) and of its behaviour
// without them.
#include <array>
#include <cstring>

#include "agents/export/deployed_machine.hpp"
#include "agents/export/policy_export.hpp"
#include "agents/export/tuner_csv.hpp"
#include "agents/training/training_environment.hpp"
#include "core/error.hpp"
#include "deploy/nccl_plugin/tuner_constants.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "deploy/sample_policy.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

struct Chosen {
  int place = -1;
  int channels = 0;
  friend bool operator==(const Chosen&, const Chosen&) = default;
};

// The choice with all combinations allowed.
Chosen choice_of(const AnyTuner& tuner, int collective, std::size_t bytes) {
  Random random(1);
  NcclTable table(random, 0);
  Chosen chosen;
  REQUIRE(tuner.decide(collective, bytes, table.entries, CCLGYM_NCCL_ALGORITHMS, 0,
                       &chosen.channels) == CCLGYM_NCCL_SUCCESS);
  for (int i = 0; i < CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS; ++i) {
    if (table.entries[i] == 0) chosen.place = i;
  }
  return chosen;
}

// Checks that the plugin logs one line and leaves NCCL's behaviour unchanged.
void check_stock(const Plugin& plugin, const std::string& part) {
  for (int version = 2; version <= 6; ++version) {
    INFO("v" << version << " " << part);
    clear_lines();
    const AnyTuner tuner(plugin, version, 8, 1);
    CHECK(tuner.status() == CCLGYM_NCCL_SUCCESS);
    REQUIRE(recorded_lines().size() == 1);
    CHECK(recorded_lines()[0].starts_with("WARN TUNER/cclgym: "));
    CHECK(recorded_lines()[0].find(part) != std::string::npos);
    if (version == 2) {
      int algorithm = -1;
      int protocol = -1;
      int channels = 0;
      CHECK(tuner.decide_v2(CCLGYM_NCCL_ALLREDUCE, 1 << 20, &algorithm, &protocol, &channels) == 0);
      CHECK((algorithm == -1 && protocol == -1 && channels == 0));
    } else {
      CHECK(choice_of(tuner, CCLGYM_NCCL_ALLREDUCE, 1 << 20) == Chosen{});
    }
    const AnyTuner silent(plugin, version, 8, 1, nullptr);
    CHECK(silent.status() == CCLGYM_NCCL_SUCCESS);
  }
}

TEST_CASE("without a policy that can be used NCCL chooses for itself", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const std::string path = folder / "test.policy";
  const auto machines = random_machines({{8, 1}}, 1);
  const std::string good = format_policy(random_deployed_policy(1, machines, false));
  const Plugin plugin;
  {
    clear_lines();
    const AnyTuner tuner(plugin, 5, 8, 1);
    CHECK(recorded_lines().empty());
    CHECK(choice_of(tuner, CCLGYM_NCCL_ALLREDUCE, 1 << 20) == Chosen{});
  }
  const Variable policy("CCLGYM_POLICY", path);
  check_stock(plugin, "does not exist");
  write_file(path, "");
  check_stock(plugin, "not a policy file");
  write_file(path, good.substr(0, good.size() / 2));
  check_stock(plugin, "truncated");
  std::string corrupt = good;
  corrupt[corrupt.size() / 2] = static_cast<char>(corrupt[corrupt.size() / 2] ^ 4);
  write_file(path, corrupt);
  check_stock(plugin, "corrupt");
  write_file(path, format_policy(random_deployed_policy(1, random_machines({{4, 2}}, 1), false)));
  check_stock(plugin, "no machine of 8 ranks on 1 nodes");
  write_file(path, format_policy(random_deployed_policy(1, {}, false)));
  check_stock(plugin, "a policy without machines");
  auto twice = machines;
  twice.push_back(machines.front());
  twice.back().label = "another";
  write_file(path, format_policy(random_deployed_policy(1, twice, false)));
  check_stock(plugin, "two machines have the same numbers of ranks and nodes");
  PolicyFile other = random_deployed_policy(1, machines, false);
  other.texts[3].text = "x\n";
  write_file(path, format_policy(other));
  {
    const AnyTuner names(plugin, 5, 8, 1);  // names of features are not required
    CHECK(names.context() != nullptr);
  }
  for (PolicyFileText& text : other.texts) {
    if (text.name == "knobs") text.text = "algorithm\nprotocol\nthreads\n";
  }
  write_file(path, format_policy(other));
  check_stock(plugin, "sets knob 'threads'");
  write_file(path, good);
  clear_lines();
  const AnyTuner tuner(plugin, 6, 8, 1);
  REQUIRE(recorded_lines().size() == 1);
  CHECK(recorded_lines()[0].find("machine 'machine 8x1', 625 sizes, CRC-32 ") != std::string::npos);
}

TEST_CASE("damaged files are refused or decide legally, whatever is damaged",
          "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const std::string path = folder / "test.policy";
  const std::string good =
      format_policy(random_deployed_policy(2, random_machines({{8, 1}}, 3), true));
  const Plugin plugin;
  const Variable policy("CCLGYM_POLICY", path);
  Random random(17);
  int refused = 0;
  constexpr int kFiles = 300;
  for (int i = 0; i < kFiles; ++i) {
    std::string bytes = good;
    // Most of a file is numbers, which may have any value. The part before the numbers describes
    // them.
    const std::size_t end = i % 2 == 0 ? bytes.size() : std::size_t{6000};
    for (int changes = static_cast<int>(random.integer(1, 4)); changes > 0; --changes) {
      const auto at =
          static_cast<std::size_t>(random.integer(24, static_cast<std::int64_t>(end) - 1));
      bytes[at] = static_cast<char>(random.integer(0, 255));
    }
    // The checksum is corrected; otherwise it would hide all other faults.
    const std::uint32_t checksum = crc32_of(std::string_view(bytes).substr(16));
    for (std::size_t b = 0; b < 4; ++b) {
      bytes[12 + b] = static_cast<char>((checksum >> (8 * b)) & 0xffU);
    }
    write_file(path, bytes);
    clear_lines();
    const AnyTuner tuner(plugin, 5, 8, 1);
    REQUIRE(tuner.status() == CCLGYM_NCCL_SUCCESS);
    REQUIRE(recorded_lines().size() == 1);
    refused += recorded_lines()[0].starts_with("WARN ") ? 1 : 0;
    NcclTable table(random, 0.5);
    const NcclTable before = table;
    int channels = 0;
    REQUIRE(tuner.decide(CCLGYM_NCCL_ALLREDUCE, 1 << 20, table.entries, 7, 0, &channels) == 0);
    for (int e = 0; e < CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS; ++e) {
      REQUIRE((table.entries[e] == before.entries[e] || before.legal(e)));
    }
    REQUIRE((channels >= 0 && channels <= 64));
  }
  CHECK(refused > kFiles / 10);
  CHECK(refused < kFiles);
}

TEST_CASE("null pointers do no harm", "[deploy][tuner-sources]") {
  const Plugin plugin;
  const auto& v6 = *plugin.table<cclgym_nccl_tuner_v6>("ncclTunerPlugin_v6");
  CHECK(v6.init(nullptr, 1, 8, 1, nullptr, nullptr, nullptr) == 0);
  CHECK(v6.get_coll_info(nullptr, 4, 8, 1, nullptr, 7, 3, 0, nullptr) == 0);
  CHECK(v6.get_chunk_size(nullptr, 4, 8, 1, 1, 1, nullptr) == 0);
  CHECK(v6.finalize(nullptr) == 0);
  const TemporaryFolder folder;
  write_file(folder / "t.csv", "allreduce,0,100,ring,ll,2,-1,-1\n");
  const Variable csv("CCLGYM_TUNER_CSV", folder / "t.csv");
  const AnyTuner tuner(plugin, 6, 8, 1);
  Random random(1);
  NcclTable table(random, 0);
  CHECK(v6.get_coll_info(tuner.context(), 4, 8, 1, nullptr, 7, 3, 0, nullptr) == 0);
  CHECK(v6.get_coll_info(tuner.context(), 4, 8, 1, reinterpret_cast<float**>(table.entries), 7, 3,
                         0, nullptr) == 0);
  CHECK(table.entries[3] == 0);
  CHECK(v6.get_chunk_size(tuner.context(), 4, 8, 1, 1, 1, nullptr) == 0);
}

TEST_CASE("a CSV: the first line that matches counts", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const Variable csv("CCLGYM_TUNER_CSV", folder / "t.csv");
  write_file(folder / "t.csv",
             "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n"
             "# a comment\n\n"
             "allreduce,0,1023,tree,ll,4,1,8\n"
             "allreduce,0,1023,ring,simple,-1,2,16 # of others\r\n"
             " allreduce , 1024 , 65535 , ring , LL128 , -1 , -1 , -1 , 2 , -1\n"
             "allreduce,1024,65535,ring,simple,8,-1,8,-1\n"
             "allgather,0,18446744073709551615,nvls,simple,16,1,8\n");
  const Plugin plugin;
  clear_lines();
  const AnyTuner tuner(plugin, 4, 8, 1);
  REQUIRE(recorded_lines().size() == 1);
  CHECK(recorded_lines()[0].find("4 of 5 lines are for 8 ranks on 1 nodes") != std::string::npos);
  constexpr int kAllReduce = CCLGYM_NCCL_ALLREDUCE;
  CHECK(choice_of(tuner, kAllReduce, 1023) == Chosen{0, 4});
  CHECK(choice_of(tuner, kAllReduce, 1024) == Chosen{3 + 2, 8});
  CHECK(choice_of(tuner, kAllReduce, 65536) == Chosen{});
  CHECK(choice_of(tuner, CCLGYM_NCCL_ALLGATHER, 1 << 30) == Chosen{12 + 2, 16});
  CHECK(choice_of(tuner, CCLGYM_NCCL_REDUCE, 8) == Chosen{});
  // Combinations that NCCL does not support are left to NCCL.
  NcclTable table = [] {
    Random random(1);
    return NcclTable(random, 1);
  }();
  int channels = 0;
  CHECK(tuner.decide(kAllReduce, 8, table.entries, 7, 0, &channels) == 0);
  CHECK(table.entries[0] == -1);
  CHECK(channels == 0);

  const std::vector<std::pair<std::string, std::string>> wrong{
      {"allreduce,0,10,ring,ll,2,1", ":1: 7 columns; expected 8 to 10"},
      {"allreduse,0,10,ring,ll,2,1,8", "did you mean 'allreduce'?"},
      {"allreduce,0,10,rings,ll,2,1,8", "did you mean 'ring'?"},
      {"allreduce,0,10,ring,ll256,2,1,8", "unknown protocol 'll256'"},
      {"allreduce,10,9,ring,ll,2,1,8", "max_bytes is '9'"},
      {"allreduce,-1,9,ring,ll,2,1,8", "min_bytes is '-1'"},
      {"allreduce,0,9,ring,ll,65,1,8", "channels is '65'; expected -1 .. 64"},
      {"allreduce,0,9,ring,ll,2,one,8", "nNodes is 'one'"},
      {"# comment\nallreduce,0,9,ring,ll,2,1,8,-1,1", ":2: regBuff is '1'"},
      {std::string("allreduce\0,0", 12), ":1: 2 columns"}};
  for (const auto& [text, part] : wrong) {
    write_file(folder / "t.csv", text);
    check_stock(plugin, part);
  }
}

TEST_CASE("a CSV: a line that cannot be used does not cost the others", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const Variable csv("CCLGYM_TUNER_CSV", folder / "t.csv");
  write_file(folder / "t.csv",
             "# registered buffers first\n"
             "allreduce,0,65536,tree,ll,2,1,-1,-1,1\n"
             "allreduce,0,65536,treee,ll,2,1,-1\n"
             "sendrecv,0,65536,ring,ll,2,1,-1\n"
             "allreduce,0\n"
             "allreduce,0,65536,tree,ll128,4,1,-1,-1,-1,\n"
             "allreduce,65537,-1,ring,simple,-1,-1,-1,,\n");
  const Plugin plugin;
  clear_lines();
  const AnyTuner tuner(plugin, 4, 8, 1);
  const std::vector<std::string> lines = recorded_lines();
  REQUIRE(lines.size() == 5);
  const std::string begin = "WARN TUNER/cclgym: " + (folder / "t.csv");
  CHECK(lines[0] == begin +
                        ":2: regBuff is '1'; expected -1, because only its own rank knows "
                        "whether a buffer is registered; the line is skipped");
  CHECK(lines[1].starts_with(begin + ":3: unknown algorithm 'treee'"));
  CHECK(lines[2].starts_with(begin + ":4: unknown collective_type 'sendrecv'"));
  CHECK(lines[3] == begin + ":5: 2 columns; expected 8 to 10; the line is skipped");
  CHECK(lines[4].find("2 of 6 lines are for 8 ranks on 1 nodes") != std::string::npos);
  CHECK(choice_of(tuner, CCLGYM_NCCL_ALLREDUCE, 1024) == Chosen{1, 4});
  CHECK(choice_of(tuner, CCLGYM_NCCL_ALLREDUCE, std::size_t{1} << 50) == Chosen{3 + 2, 0});
}

TEST_CASE("v2 takes what NCCL can do for certain", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const Variable csv("CCLGYM_TUNER_CSV", folder / "t.csv");
  write_file(folder / "t.csv",
             "allreduce,0,10,tree,ll,4,-1,-1\nallreduce,11,20,ring,ll128,4,-1,-1\n"
             "allreduce,21,30,nvls,simple,4,-1,-1\nallgather,0,10,ring,simple,-1,-1,-1\n"
             "allgather,11,20,tree,simple,-1,-1,-1\n");
  const Plugin plugin;
  const auto decide = [&](int collective, std::size_t bytes) {
    const AnyTuner tuner(plugin, 2, 8, 1);
    std::array<int, 3> out{-1, -1, 0};
    CHECK(tuner.decide_v2(collective, bytes, out.data(), &out[1], &out[2]) == 0);
    return out;
  };
  using Out = std::array<int, 3>;
  CHECK(decide(CCLGYM_NCCL_ALLREDUCE, 5) == Out{0, 0, 4});
  CHECK(decide(CCLGYM_NCCL_ALLREDUCE, 15) == Out{-1, -1, 0});
  CHECK(decide(CCLGYM_NCCL_ALLREDUCE, 25) == Out{-1, -1, 0});
  CHECK(decide(CCLGYM_NCCL_ALLGATHER, 5) == Out{1, 2, 0});
  CHECK(decide(CCLGYM_NCCL_ALLGATHER, 15) == Out{-1, -1, 0});
  const Variable user("NCCL_PROTO", "Simple");
  CHECK(decide(CCLGYM_NCCL_ALLREDUCE, 5) == Out{-1, -1, 0});
}

TEST_CASE("constants of NCCL's own model", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const Variable file("CCLGYM_TUNER_CONSTANTS", folder / "c.csv");
  write_file(folder / "c.csv",
             "machine,8,1\nbase_latency,ring,simple,9.5 # us\nhw_latency,net,pat,ll128,3\n"
             "nvls_tree_bw,blackwell,4,77.5\n");
  const Plugin plugin;
  cclgym_nccl_constants constants{};
  clear_lines();
  const AnyTuner tuner(plugin, 5, 8, 1, record_line, &constants);
  CHECK(tuner.context() == nullptr);
  REQUIRE(recorded_lines().size() == 1);
  CHECK(recorded_lines()[0].find("3 constants of NCCL's model set") != std::string::npos);
  CHECK(constants.base_latency[1][2] == 9.5);
  CHECK(constants.hw_latency[2][6][1] == 3);
  CHECK(constants.nvls_tree_bw[3][2] == 77.5);
  double sum = 0;
  for (std::size_t i = 0; i < sizeof(constants) / sizeof(double); ++i) {
    sum += (&constants.base_latency[0][0])[i];
  }
  CHECK(sum == 9.5 + 3 + 77.5);  // no other constants
  cclgym_nccl_constants untouched{};
  const AnyTuner other(plugin, 6, 16, 2, record_line, &untouched);
  CHECK(untouched.base_latency[1][2] == 0);
  clear_lines();
  const AnyTuner old(plugin, 4, 8, 1);
  REQUIRE(recorded_lines().size() == 1);
  CHECK(recorded_lines()[0].find("needs NCCL 2.28") != std::string::npos);

  const auto refusal = [](const std::string& text) {
    try {
      (void)parse_tuner_constants(text, "c");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("base_latancy,ring,ll,1").find("c:1: unknown table") == 0);
  CHECK(refusal("\nbase_latency,ring,ll").find("c:2: 3 columns; expected 4") == 0);
  CHECK(refusal("base_latency,rin,ll,1").find("did you mean 'ring'") != std::string::npos);
  CHECK(refusal("tree_bw,volta,3,1").find("unknown key '3'") != std::string::npos);
  CHECK(refusal("tree_bw,volta,2,nan").find("c:1: ") == 0);
  CHECK(refusal("tree_bw,volta,2,-1").find("negative") != std::string::npos);
  CHECK(refusal("tree_bw,volta,2,1\ntree_bw,volta,2,1").find("c:2: the constant is given twice") ==
        0);
  CHECK(refusal("machine,0,1").find("expected 1 ..") != std::string::npos);
}

TEST_CASE("chunks of NCCL 2.30 go by the bytes of a channel", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const Variable policy("CCLGYM_POLICY", folder / "test.policy");
  const PolicyFile file = random_deployed_policy(12, random_machines({{8, 1}}, 13), true);
  write_file(folder / "test.policy", format_policy(file));
  const Plugin plugin;
  const AnyTuner tuner(plugin, 6, 8, 1);
  const PolicyChoices choices(file, "test", 8, 1);
  int set = 0;
  for (const std::uint64_t bytes : deployed_sizes()) {
    const auto wanted = choices.wanted(CCLGYM_NCCL_ALLREDUCE, bytes, 1);
    for (const TunerChoice& choice : wanted) {
      if (choice.algorithm < 0) continue;
      std::size_t whole = 12345;
      std::size_t part = 12345;
      const std::size_t channel = bytes / choice.channels;
      CHECK(tuner.chunk(4, channel * choice.channels, choice.algorithm, choice.protocol,
                        choice.channels, &whole) == 0);
      CHECK(tuner.chunk(4, channel, choice.algorithm, choice.protocol, 1, &part) == 0);
      CHECK(whole == part);
      CHECK((whole == 12345 || whole == 32768 || whole == 131072 || whole == 524288 ||
             whole == 2097152));
      set += whole == choice.chunk_bytes ? 1 : 0;
    }
  }
  CHECK(set > 100);
  std::size_t chunk = 7;
  CHECK(tuner.chunk(4, 1 << 20, 2, 2, 4, &chunk) == 0);  // 4 is CollNet
  CHECK(tuner.chunk(9, 1 << 20, 1, 2, 4, &chunk) == 0);
  CHECK(tuner.chunk(4, 1 << 20, 1, 5, 0, &chunk) == 0);
  CHECK(chunk == 7);
}

TEST_CASE("the plugin and the CSV of a policy decide alike", "[deploy][tuner-sources]") {
  const TemporaryFolder folder;
  const YamlValue options = parse_yaml(
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, window: 2,\n"
      " workload: {name: sweep, collectives: [allreduce, allgather, broadcast], sizes: 1MiB}}",
      "t.yaml");
  const TrainingEnvironment where("CollectiveTuning-v0", options, {});
  PolicyWeights weights = sample_weights(
      where.network_shape({.encoder = {12}, .lstm = 6, .head = 8, .value = 2, .levels = {}}), 3);
  where.describe(weights);
  PolicyFile file =
      to_policy_file(weights, policy_rules(*where.setup()->actions, where.setup()->fabric_label));
  const DeployedChoices deployed = deployed_choices(file, *where.setup());
  CHECK(deployed.machine.label == "ring gpus=4");
  CHECK(deployed.machine.ranks == 4);
  CHECK(deployed.machine.grids[CCLGYM_NCCL_ALLREDUCE]->calls == 3);
  CHECK_FALSE(deployed.machine.grids[CCLGYM_NCCL_REDUCE]);
  const TunerCsv csv = tuner_csv(deployed, *where.setup());
  CHECK(csv.lines >= 3);
  set_machines(file, {deployed.machine});
  write_file(folder / "t.policy", format_policy(file));
  write_file(folder / "t.csv", csv.text);
  const Plugin plugin;
  const auto tuner = [&](const char* variable, const std::string& name) {
    const Variable set(variable, folder / name);
    return std::make_unique<AnyTuner>(plugin, 5, 4, 1);
  };
  const auto by_policy = tuner("CCLGYM_POLICY", "t.policy");
  const auto by_csv = tuner("CCLGYM_TUNER_CSV", "t.csv");
  const std::uint32_t nodes = deployed.machine.nodes;
  REQUIRE(nodes == 1);
  Random random(5);
  int chosen = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto bytes = static_cast<std::size_t>(portable_exp(random.uniform(1, 25)));
    const int collective = static_cast<int>(random.integer(0, 4));
    const Chosen own = choice_of(*by_policy, collective, bytes);
    REQUIRE(own == choice_of(*by_csv, collective, bytes));
    chosen += own.place >= 0 ? 1 : 0;
  }
  CHECK(chosen > 500);
}

}  // namespace
}  // namespace cclgym::test
