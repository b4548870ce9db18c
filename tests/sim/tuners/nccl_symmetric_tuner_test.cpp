// "nccl-default:VERSION:symmetric", and the costs of NCCL's kernels for symmetric memory.
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/price.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/tuner_testing.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Costs in powers of two, so that sums are exact where no rate is NCCL's.
CostModel round_symmetric_model() {
  CostModel model;
  model.kernel_launch_s = 0x1p-18;
  model.channel_overhead_s = 1;
  model.interpreter_block_s = 0x1p-22;
  model.instruction_overhead_s = 0x1p-24;
  model.switch_latency_s = 1;
  for (auto& alpha_s : model.alpha_s) alpha_s = 0x1p-23;
  ProtocolCost& lines = model.protocols[static_cast<std::size_t>(Protocol::LL)];
  lines.step_latency_s = 0x1p-22;
  lines.efficiency = 0.5;
  lines.thread_block_rate_Bps = 0x1p35;
  lines.reduce_rate_Bps = 0x1p33;
  model.protocols[static_cast<std::size_t>(Protocol::Simple)].step_latency_s = 0x1p-20;
  return model;
}

double time_s(const char* algorithm, CollectiveKind kind, const Config& choice,
              std::uint64_t bytes) {
  FabricSpec spec{.name = "hgx-h100"};
  spec.gpus_per_server = 4;
  Simulator simulator(make_fabric(spec), round_symmetric_model(), "flow");
  Config config = choice;
  config.algorithm = algorithm;
  return simulator.simulate({.collective = kind, .bytes = bytes}, config).time_s;
}

constexpr double kInstruction = 0x1p-24;
constexpr double kLinkLatency = 2 * 0x1p-23;  // GPU, NVSwitch, GPU
constexpr double kBlockRate = 44.0 * (1 << 30);

double launch_s(int channels) { return 0x1p-18 + channels * 0x1p-22; }

}  // namespace

TEST_CASE("nccl-default:VERSION:symmetric runs NCCL's picks", "[sim][symmetric-tuner]") {
  for (const char* fabric : {"ndv4", "hgx-h100"}) {
    const TunerSite site = site_of(fabric);
    for (const char* version : {"2.27.7", "2.30.7"}) {
      const auto tuner = make_tuner(std::string("nccl-default:") + version + ":symmetric", site);
      const NcclVersion nccl = parse_nccl_version(version);
      const NcclComm comm = nccl_comm_for(*site.fabric, nccl);
      for (const CollectiveKind kind :
           {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
        for (std::uint64_t bytes = 4096; bytes <= 1u << 30; bytes *= 8) {
          CAPTURE(fabric, version, to_string(kind), bytes);
          const Call call{.collective = kind, .bytes = bytes};
          const Config config = tuner->choose(call);
          const auto choice = choose_symmetric(nccl, comm, *nccl_collective(kind), bytes);
          REQUIRE(choice.has_value());
          CHECK(config == symmetric_config(*choice));
          CHECK(config.algorithm.starts_with("symmetric-"));
          const bool lines = config.algorithm.starts_with("symmetric-ll");
          CHECK(config.protocol == (lines ? Protocol::LL : Protocol::Simple));
          CHECK(config.channels == choice->channels);
          CHECK(config.threads == 512);
          CHECK(check_config(AlgorithmLibrary::shipped(), call, config, site.fabric->ranks())
                    .empty());
        }
      }
      CHECK(tuner->description().find("symmetric memory") != std::string::npos);
    }
  }
}

TEST_CASE("without a symmetric kernel, NCCL chooses as usual", "[sim][symmetric-tuner]") {
  const auto same = [](const TunerSite& site, CollectiveKind kind, std::uint64_t bytes) {
    const Call call{.collective = kind, .bytes = bytes};
    return make_tuner("nccl-default:2.30.7:symmetric", site)->choose(call) ==
           make_tuner("nccl-default:2.30.7", site)->choose(call);
  };
  CHECK(same(site_of("hgx-h100"), CollectiveKind::Broadcast, 1 << 20));
  CHECK(same(site_of("hgx-h100"), CollectiveKind::AllToAll, 1 << 20));
  CHECK(same(site_of("dgx1"), CollectiveKind::AllReduce, 1 << 20));
  CHECK(same(site_of("hgx-h100", 2), CollectiveKind::AllReduce, 1 << 20));
  CHECK_FALSE(same(site_of("hgx-h100"), CollectiveKind::AllReduce, 1 << 20));
}

TEST_CASE("a note says that ordinary kernels carry out a call in symmetric memory",
          "[sim][symmetric-tuner]") {
  const auto note = [](const TunerSite& site, CollectiveKind kind, const std::string& name) {
    return make_tuner(name, site)->note({.collective = kind, .bytes = 1 << 20});
  };
  const std::string symmetric = "nccl-default:2.30.7:symmetric";
  CHECK(note(site_of("hgx-h100"), CollectiveKind::AllReduce, symmetric).empty());
  CHECK(note(site_of("hgx-h100"), CollectiveKind::Broadcast, symmetric) ==
        "NCCL 2.30.7 has no kernel for symmetric memory for broadcast of 1MiB; an ordinary kernel "
        "carries out the call");
  CHECK(note(site_of("hgx-h100"), CollectiveKind::Broadcast, "nccl-default:2.30.7").empty());
  const std::string elsewhere = note(site_of("hgx-h100", 2), CollectiveKind::AllReduce, symmetric);
  CHECK(elsewhere ==
        "NCCL 2.30.7 has kernels for symmetric memory only on one node with NVLink between all of "
        "its GPUs, unlike fabric 'hgx-h100'; its ordinary kernels carry out the calls");
  CHECK(note(site_of("dgx1"), CollectiveKind::AllReduce, symmetric).find("'dgx1'") !=
        std::string::npos);
  CHECK(note(site_of("dgx1"), CollectiveKind::AllReduce, "nccl-default:2.99") ==
        "NCCL 2.99.0 is newer than 2.30.7, the newest release with which the choice was compared; "
        "it is that of 2.30.7");
}

TEST_CASE("intervals are of NCCL's algorithms and sends, not of its symmetric kernels",
          "[sim][symmetric-tuner]") {
  const std::string symmetric = "nccl-default:2.30.7:symmetric";
  CHECK(is_of_nccl("ring", ""));
  CHECK_FALSE(is_of_nccl("collnet-direct", "nccl-default"));  // measured nowhere
  CHECK_FALSE(is_of_nccl("collnet-chain", ""));
  CHECK(is_of_nccl("ring", symmetric));
  CHECK(is_of_nccl("naive", "nccl-default"));
  CHECK(is_of_nccl("naive", "rccl-default:2.20.5"));
  CHECK_FALSE(is_of_nccl("naive", ""));
  CHECK_FALSE(is_of_nccl("naive", "openmpi-default"));
  for (const SymmetricAccess access : all_symmetric_accesses()) {
    CHECK_FALSE(is_of_nccl(symmetric_config({.access = access}).algorithm, symmetric));
  }
}

TEST_CASE("symmetric memory needs NCCL 2.27", "[sim][symmetric-tuner]") {
  const TunerSite site = site_of("hgx-h100");
  CHECK(refusal("nccl-default:2.26.2:symmetric", site) ==
        "experiment.yaml:3:7: NCCL 2.26.2 has no kernels for symmetric memory; they came with "
        "2.27.0 (nearest: 2.27.0:symmetric)");
  CHECK(refusal("nccl-default:2.30:symetric", site).find("did you mean 'symmetric'") !=
        std::string::npos);
  CHECK(refusal("nccl-default:2.30:symmetric:ring", site) ==
        "experiment.yaml:3:7: found 'ring' beside 'symmetric', whose kernels NCCL chooses itself; "
        "expected 2.30:symmetric, or leave 'symmetric' out");
  CHECK(refusal("nccl-default:2.30:LL:symmetric", site).find("found 'LL' beside 'symmetric'") !=
        std::string::npos);
}

TEST_CASE("loads and stores take the time of NCCL's rate, divided among the peers",
          "[sim][symmetric-tuner]") {
  constexpr std::uint64_t kBytes = 3 << 20;
  for (const int channels : {1, 2}) {
    const Config config{.channels = channels};
    const double part = static_cast<double>(kBytes) / 4 / channels;
    const double message_s = kInstruction + part / (kBlockRate / 3) + kLinkLatency + 0x1p-20;
    CAPTURE(channels);
    // Stores, and a receive that only notices them.
    const double gather_s = time_s("symmetric-ldst", CollectiveKind::AllGather, config, kBytes);
    CHECK(gather_s == Approx(launch_s(channels) + message_s).epsilon(2e-3));
    const double scatter_s =
        time_s("symmetric-ldst", CollectiveKind::ReduceScatter, config, kBytes);
    CHECK(scatter_s == Approx(launch_s(channels) + message_s).epsilon(2e-2));
    const double both_s = time_s("symmetric-ldst", CollectiveKind::AllReduce, config, kBytes);
    CHECK(both_s == Approx(launch_s(channels) + 2 * message_s).epsilon(2e-2));
  }
}

TEST_CASE("lines are taken from a rank's own buffer by one block", "[sim][symmetric-tuner]") {
  constexpr std::uint64_t kBytes = 1 << 16;
  const Config config{.protocol = Protocol::LL, .channels = 1};
  const double part = static_cast<double>(kBytes) / 4;
  // 2 B on the wire for each, and a third of the block for each peer.
  const double gather_message_s = part * 2 / (0x1p35 / 3) + kLinkLatency + 0x1p-22;
  const double gather_s = time_s("symmetric-ll", CollectiveKind::AllGather, config, kBytes);
  // Three copies at the same time, each with a third of the block.
  CHECK(gather_s == Approx(launch_s(1) + gather_message_s + 3 * part / 0x1p34).epsilon(0.02));
  // Three sums, one after another.
  const double whole = static_cast<double>(kBytes);
  const double all_message_s = whole * 2 / (0x1p35 / 3) + kLinkLatency + 0x1p-22;
  const double all_s = time_s("symmetric-ll", CollectiveKind::AllReduce, config, kBytes);
  CHECK(all_s == Approx(launch_s(1) + all_message_s + 3 * whole / 0x1p33).epsilon(0.02));
}

TEST_CASE("switches of symmetric kernels have no latency of NVLS", "[sim][symmetric-tuner]") {
  const auto fabric = make_fabric({.name = "hgx-h100"});
  const CostModel model = round_symmetric_model();
  const auto route = fabric->route(0, 1, 0);
  const auto arrival_s = [&](const CostTraits& traits) {
    return switched_cost(model, *fabric, route, Config{}, traits, 1024).arrival_s;
  };
  CHECK(arrival_s({.runtime = Runtime::Nccl}) == Approx(kLinkLatency + 1));
  CHECK(arrival_s({.runtime = Runtime::Nccl, .direct = true}) == Approx(kLinkLatency + 0x1p-20));
  // "direct" says something else about a kernel of SCCL.
  CHECK_FALSE(in_symmetric_memory({.runtime = Runtime::Sccl, .direct = true}));
}

TEST_CASE("with NVSwitches, symmetric AllReduce is limited by the links",
          "[sim][symmetric-tuner]") {
  const TunerSite site = site_of("hgx-h100");
  Simulator simulator(site.fabric, site.cost_model, "flow");
  const Call call{.collective = CollectiveKind::AllReduce, .bytes = 256 << 20};
  const double symmetric_s =
      simulator.simulate(call, make_tuner("nccl-default:2.30.7:symmetric", site)->choose(call))
          .time_s;
  const double plain_s =
      simulator.simulate(call, make_tuner("nccl-default:2.30.7", site)->choose(call)).time_s;
  const CostModel& model = site.cost_model;
  const double link_Bps = 450e9 * model.link_efficiency[static_cast<std::size_t>(LinkKind::NvLink)];
  const double least_s =
      static_cast<double>(call.bytes) * 1.125 / (link_Bps * model.switch_efficiency);
  CHECK(symmetric_s > least_s);
  CHECK(symmetric_s < 1.1 * least_s);
  CHECK(symmetric_s < plain_s);
  // Small calls have no steps of a ring.
  const Call small{.collective = CollectiveKind::AllReduce, .bytes = 1 << 10};
  CHECK(simulator.simulate(small, make_tuner("nccl-default:2.30.7:symmetric", site)->choose(small))
            .time_s <
        simulator.simulate(small, make_tuner("nccl-default:2.30.7", site)->choose(small)).time_s);
}
