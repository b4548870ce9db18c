#include "cost_models/cost_model.hpp"

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "topology_models/gpu_models.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;

TEST_CASE("shipped sets keep the order of the protocols' costs", "[cost_models][cost-model]") {
  for (const std::string name : {"a100", "v100"}) {
    CAPTURE(name);
    const CostModel model = shipped_cost_model(name);
    CHECK(model.name == name);
    CHECK_FALSE(model.hockney);
    const auto& [ll, ll128, simple] = model.protocols;
    CHECK(ll.step_latency_s < ll128.step_latency_s);
    CHECK(ll128.step_latency_s < simple.step_latency_s);
    CHECK(ll.efficiency == 0.5);
    CHECK(ll128.efficiency == 120.0 / 128.0);
    CHECK(simple.efficiency == 1.0);
    // One thread block cannot saturate an NVLink (25 GB/s).
    CHECK(simple.thread_block_rate_Bps < 25e9);
  }
}

TEST_CASE("a100's fitted steps are near NCCL's Ring latencies over NVSwitch",
          "[cost_models][cost-model]") {
  // Hardware latencies of Ring over NVLink in NCCL 2.28 (src/graph/tuning.cc), us per step. The
  // sets are fitted to measured times, not to NCCL's model of them.
  const double nccl_us[] = {0.6, 1.9, 3.4};
  const CostModel model = shipped_cost_model("a100");
  for (const Protocol protocol : all_protocols()) {
    const auto p = static_cast<std::size_t>(protocol);
    const double step_s = 2 * *model.alpha_s[static_cast<std::size_t>(LinkKind::NvLink)] +
                          model.protocols[p].step_latency_s + model.instruction_overhead_s;
    CHECK(step_s * 1e6 > nccl_us[p] / 1.6);
    CHECK(step_s * 1e6 < nccl_us[p] * 1.6);
  }
}

TEST_CASE("FIFOs are NCCL's", "[cost_models][cost-model]") {
  for (const std::string name : {"a100", "v100"}) {
    const auto& [ll, ll128, simple] = shipped_cost_model(name).protocols;
    CHECK(ll.tile_bytes() == 32 * 1024);
    CHECK(ll128.tile_bytes() == 576000);
    CHECK(simple.tile_bytes() == 1024 * 1024);
    CHECK(ll.tile_slots() == 8);
    CHECK(ll128.tile_slots() == 8);
    CHECK(simple.tile_slots() == 4);
  }
  const CostModel hockney = shipped_cost_model("hockney");
  for (const ProtocolCost& protocol : hockney.protocols) {
    CHECK(protocol.tile_bytes() == 0);
    CHECK(protocol.tile_slots() == 0);
  }
}

TEST_CASE("every value of a shipped set names its source", "[cost_models][cost-model]") {
  for (const std::string name : {"a100", "v100"}) {
    const std::string text =
        read_text_file(test::source_path("cost_models/parameters/") + name + ".yaml", 1 << 20);
    std::size_t values = 0;
    std::size_t sources = 0;
    for (std::size_t at = 0; (at = text.find("value:", at)) != std::string::npos; ++at) ++values;
    for (std::size_t at = 0; (at = text.find("source:", at)) != std::string::npos; ++at) ++sources;
    CHECK(values >= 20);
    CHECK(values == sources);
  }
}

TEST_CASE("protocol names", "[cost_models][cost-model]") {
  for (const Protocol protocol : all_protocols()) {
    CHECK(parse_protocol(to_string(protocol)) == protocol);
  }
  CHECK(parse_protocol("ll128") == Protocol::LL128);
  CHECK(parse_protocol("SIMPLE") == Protocol::Simple);
  CHECK_FALSE(parse_protocol("L").has_value());
  CHECK_FALSE(parse_protocol("LL1").has_value());
}

TEST_CASE("unknown cost model names the nearest", "[cost_models][cost-model]") {
  try {
    (void)shipped_cost_model("a10");
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "unknown cost model 'a10'; expected one of hockney, a100, a100-abci, "
          "a100-efa, a100-mscclpp, a100-slingshot, a100-slingshot-software, a100-tcp, "
          "a10g-tcp, b200, gh200, "
          "h100, "
          "h100-cluster00, h100-mscclpp, mi250x, mi250x-slingshot, mi300x, mi50, openmpi-tcp, "
          "v100, v100-abci "
          "(did you mean "
          "'a100'?)");
  }
}

TEST_CASE("canonical text tells models apart by every parameter", "[cost_models][cost-model]") {
  const CostModel base = shipped_cost_model("a100");
  const auto differs = [&base](auto change) {
    CostModel other = base;
    change(other);
    return other.canonical_text() != base.canonical_text();
  };
  CHECK(differs([](CostModel& m) { m.hockney = true; }));
  CHECK(differs([](CostModel& m) { m.kernel_launch_s += 1e-12; }));
  CHECK(differs([](CostModel& m) { m.channel_overhead_s += 1e-12; }));
  CHECK(differs([](CostModel& m) { m.start_skew_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.proxy_message_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.inline_limit_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.copy_limit_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.copy_latency_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.eager_limit_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.rendezvous_latency_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.proxy_rendezvous_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.network_burst_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.connection_rate_Bps = 1e9; }));
  CHECK(differs([](CostModel& m) { m.switch_efficiency = 0.5; }));
  CHECK(differs([](CostModel& m) { m.switch_latency_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.peer_efficiency = 0.5; }));
  CHECK(differs([](CostModel& m) { m.even_efficiency = 0.9; }));
  CHECK(differs([](CostModel& m) { m.exchange_share = 0.5; }));
  CHECK(differs([](CostModel& m) { m.instruction_overhead_s = 0; }));
  CHECK(differs([](CostModel& m) { m.local_copy_rate_Bps *= 2; }));
  CHECK(differs([](CostModel& m) { m.full_threads = 256; }));
  CHECK(differs([](CostModel& m) { m.max_thread_blocks = 7; }));
  CHECK(differs([](CostModel& m) { m.alpha_s[0] = 0.0; }));
  CHECK(differs([](CostModel& m) { m.link_efficiency[1] = 0.5; }));
  CHECK(differs([](CostModel& m) { m.protocols[2].reduce_rate_Bps *= 2; }));
  CHECK(differs([](CostModel& m) { m.protocols[0].thread_block_rate_Bps *= 2; }));
  CHECK(differs([](CostModel& m) { m.protocols[1].efficiency = 1; }));
  CHECK(differs([](CostModel& m) { m.protocols[1].step_latency_s = 0; }));
  CHECK(differs([](CostModel& m) { m.protocols[0].tree_latency_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.protocols[2].proxy_message_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.protocols[2].proxy_inline_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.protocols[0].proxy_copy_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.protocols[0].rendezvous_latency_s = 1e-9; }));
  CHECK(differs([](CostModel& m) { m.copy_end_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.protocols[1].proxy_rate_Bps = 1; }));
  CHECK(differs([](CostModel& m) { m.protocols[1].slot_bytes = 1; }));
  CHECK(differs([](CostModel& m) { m.protocols[1].slots = 3; }));
  CHECK(differs([](CostModel& m) { m.protocols[2].message_slots = 1; }));
  CHECK_FALSE(differs([](CostModel& m) { m.name = "another"; }));
}

TEST_CASE("a fabric's GPU model chooses the parameter set", "[cost_models][cost-model]") {
  const auto fabric_of = [](const std::string& gpu_model) {
    FabricBuilder builder("f");
    builder.set_gpu_model(gpu_model);
    builder.add_node({.name = "gpu0"});
    return builder.build();
  };
  CHECK(cost_model_for("auto", *fabric_of("A100")).name == "a100");
  CHECK(cost_model_for("auto", *fabric_of("V100")).name == "v100");
  for (const auto& [gpu, set] :
       std::vector<std::pair<std::string, std::string>>{{"GH200", "gh200"},  // one node
                                                        {"B200", "b200"},
                                                        {"GB300", "b200"},
                                                        {"H100", "h100"},
                                                        {"H200", "h100"},
                                                        {"MI300X", "mi300x"}}) {
    CHECK(cost_model_for("auto", *fabric_of(gpu)).name == set);
  }
  CHECK(cost_model_for("auto", *make_fabric({.name = "polaris"})).name == "a100-slingshot");
  CHECK(cost_model_for("auto", *make_fabric({.name = "abci-a"})).name == "a100-abci");
  CHECK(cost_model_for("auto", *make_fabric({.name = "abci-v"})).name == "v100-abci");
  CHECK(cost_model_for("auto", *make_fabric({.name = "ethernet"})).name == "openmpi-tcp");
  CHECK(cost_model_for("auto", *make_fabric({.name = "ndv4"})).name == "a100");
  CHECK(cost_model_for("auto", *fabric_of("")).name == "hockney");
  CHECK(cost_model_for("v100", *fabric_of("A100")).name == "v100");
  CHECK_THROWS_AS(cost_model_for("missing.yaml", *fabric_of("A100")), UserError);
  CHECK_THROWS_AS(cost_model_for("autoo", *fabric_of("A100")), UserError);
}

TEST_CASE("a set that is not of the fabric's GPUs says so", "[cost_models][cost-model]") {
  struct Case {
    std::string fabric;
    std::string model;
    std::string label;
    std::string warning;  // text that the warning contains; empty if there is no warning
  };
  const std::vector<Case> cases{
      {"ndv4", "auto", "a100", ""},
      {"ndv4", "a100-slingshot", "a100-slingshot", ""},
      {"h200", "auto", "h100", ""},
      {"h200", "h100-cluster00", "h100-cluster00", ""},
      {"mi300x", "auto", "mi300x", ""},
      {"b200", "auto", "b200", ""},
      {"gb200-nvl72", "auto", "b200 (no set for GB200)",
       "no parameter set was fitted to the GB200 of fabric 'gb200-nvl72', so b200, that of B200, "
       "stands for it: "},
      {"aws-p5", "auto", "h100", ""},  // one node
      {"aws-p5 nodes=2", "auto", "h100+a100-efa (no set for H100 over efa)",
       "no parameter set was fitted to the H100 of fabric 'aws-p5' over efa, so h100+a100-efa, "
       "which takes its network from another set, stands for it: "},
      {"aws-p4d", "auto", "a100-efa", ""},
      {"gcp-a3-high nodes=2", "auto", "h100 (no set for H100 over another network)",
       "no parameter set was fitted to the H100 of fabric 'gcp-a3-high' over another network, so "
       "h100, that of H100 and H200, stands for it: "},
      {"gcp-a3-high", "auto", "h100", ""},
      {"l40s-pcie", "auto", "a100 (no set for L40S)", "so a100, that of A100, "},
      {"t4-pcie", "auto", "v100 (no set for T4)", "so v100, that of V100, "},
      {"h20", "auto", "h100 (no set for H20)", "so h100, "},
      {"mi325x", "auto", "mi300x (no set for MI325X)", "so mi300x, "},
      {"mi300x", "hockney", "hockney", ""},
      {"mi300x", "v100", "v100 (not of MI300X)",
       "cost model v100 stands for V100, but fabric 'mi300x' has MI300X"},
      {"dgx1", "h100", "h100 (not of V100)",
       "stands for H100 and H200, but fabric 'dgx1' has V100"},
      {"ndv4", "openmpi-tcp", "openmpi-tcp (not of A100)", "processes that have no GPUs"},
      {"frontier", "auto", "mi250x-slingshot", ""},
      {"amd-mi250x", "auto", "mi250x", ""},
      {"z52", "auto", "mi50", ""},
      {"perlmutter", "auto", "a100-slingshot", ""},
      {"frontier", "hockney", "hockney", ""},
      {"ring", "auto", "hockney (no GPU model)", "fabric 'ring' does not say which GPUs it has"},
      {"ring", "a100", "a100", ""},
      {"ethernet", "auto", "openmpi-tcp", ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.fabric, one.model);
    FabricSpec spec{.name = one.fabric.substr(0, one.fabric.find(' '))};
    if (one.fabric.ends_with(" nodes=2")) spec.servers = 2;
    const auto fabric = make_fabric(spec);
    const CostModel model = cost_model_for(one.model, *fabric);
    CHECK(model.label() == one.label);
    const std::string warning = cost_model_warning(model, *fabric);
    CHECK(warning.empty() == one.warning.empty());
    CHECK(warning.find(one.warning) != std::string::npos);
    // The parameters are those of the set.
    CHECK(model.canonical_text() == shipped_cost_model(model.name).canonical_text());
  }
}

TEST_CASE("every GPU model of a shipped fabric or set is in the table of GPU models",
          "[cost_models][cost-model]") {
  for (const FabricInfo& info : fabric_infos()) {
    const std::string model = make_fabric({.name = info.name})->gpu_model();
    CAPTURE(info.name, model);
    CHECK((model.empty() || find_gpu_model(model) != nullptr));
  }
  for (const std::string& name : cost_model_names()) {
    for (const std::string& model : shipped_cost_model(name).gpu_models) {
      CAPTURE(name, model);
      CHECK(find_gpu_model(model) != nullptr);
    }
  }
}
