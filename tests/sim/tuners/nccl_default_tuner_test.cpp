// Tests of "nccl-default" as a tuner.
#include "sim/tuners/nccl_default_tuner.hpp"

#include <fmt/format.h>
#include <string>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/tuner_testing.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using namespace cclgym::test;

TEST_CASE("nccl-default is the model's choice of ring and tree", "[sim][nccl-default-tuner]") {
  for (const char* version : {"2.8.4", "2.18.3", "2.28.9", "2.30.7"}) {
    for (const int servers : {1, 2}) {
      const TunerSite site = site_of("ndv4", servers);
      const auto tuner = make_tuner(std::string("nccl-default:") + version, site);
      const NcclVersion nccl = parse_nccl_version(version);
      const NcclDefault model(nccl, nccl_comm_for(*site.fabric, nccl));
      for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                        CollectiveKind::ReduceScatter, CollectiveKind::Broadcast}) {
        for (std::uint64_t bytes = 4096; bytes <= 1u << 30; bytes *= 8) {
          CAPTURE(version, servers, to_string(kind), bytes);
          REQUIRE(tuner->chooses_for(kind));
          const Call call{.collective = kind, .bytes = bytes};
          const Config config = tuner->choose(call);
          const NcclChoice choice = model.choose(*nccl_collective(kind), bytes);
          CHECK(config.algorithm == (choice.algorithm == NcclAlgorithm::Tree ? "tree" : "ring"));
          CHECK(config.protocol == choice.protocol);
          CHECK(config.channels == choice.channels);
          CHECK(config.threads == choice.threads);
          CHECK(config.tile_bytes == choice.chunk_bytes);
          CHECK(config.slots >= 2);
          CHECK(static_cast<std::uint64_t>(config.slots) * choice.chunk_bytes <=
                std::max<std::uint64_t>(
                    2 * choice.chunk_bytes,
                    static_cast<std::uint64_t>(choice.slices) * choice.slice_bytes));
          CHECK(config.instances == 1);
          CHECK(check_config(AlgorithmLibrary::shipped(), call, config, site.fabric->ranks())
                    .empty());
          CHECK(config == tuner->choose(call));
        }
      }
    }
  }
}

TEST_CASE("NVLS if NVSwitches copy and add; algorithms that are not allowed are not chosen",
          "[sim][nccl-default-tuner]") {
  const TunerSite site = site_of("hgx-h100", 1);
  const Call call{.collective = CollectiveKind::AllReduce, .bytes = 256 << 20};
  const auto tuner = make_tuner("nccl-default", site);
  const Config config = tuner->choose(call);
  CHECK(config.algorithm == "nvls");
  CHECK(config.protocol == Protocol::Simple);
  CHECK(config.channels == 16);
  CHECK(config.tile_bytes == 64 << 10);
  CHECK(tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = 1 << 10}).algorithm !=
        "nvls");
  Simulator simulator(site.fabric, site.cost_model, "flow");
  Config ring = config;
  ring.algorithm = "ring";
  CHECK(simulator.simulate(call, config).time_s < simulator.simulate(call, ring).time_s);
  NcclAlgorithmSet tree;
  tree.set(static_cast<std::size_t>(NcclAlgorithm::Tree));
  CHECK(make_nccl_default_tuner("", site, tree)->choose(call).algorithm == "tree");
  CHECK(tuner->description() ==
        "default choice of NCCL 2.30.7 among Ring, Tree, PAT, NVLS and NVLSTree");
  FabricSpec off{.name = "hgx-h100"};
  off.nvls = false;
  TunerSite without = site;
  without.fabric = make_fabric(off);
  CHECK(make_tuner("nccl-default", without)->choose(call).algorithm == "ring");
}

TEST_CASE("PAT if each node has one GPU", "[sim][nccl-default-tuner]") {
  FabricSpec spec{.name = "hgx-h100"};
  spec.servers = 32;
  spec.gpus_per_server = 1;
  TunerSite site{.fabric = make_fabric(spec)};
  site.cost_model = cost_model_for("auto", *site.fabric);
  const Call call{.collective = CollectiveKind::AllGather, .bytes = 1 << 20};
  const Config config = make_tuner("nccl-default:2.28", site)->choose(call);
  CHECK(config.algorithm == "pat");
  CHECK(config.protocol == Protocol::Simple);
  CHECK(config.tile_bytes == 512 << 10);  // size of one slot
  CHECK(config.slots == 8);
  CHECK(make_tuner("nccl-default:2.22", site)->choose(call).algorithm == "ring");
  CHECK(make_tuner("nccl-default:2.28", site)
            ->choose({.collective = CollectiveKind::AllReduce, .bytes = 1 << 20})
            .algorithm != "pat");
  Simulator pat(site.fabric, site.cost_model, "flow");
  Config ring = config;
  ring.algorithm = "ring";
  CHECK(pat.simulate(call, config).time_s < pat.simulate(call, ring).time_s);
}

TEST_CASE("a tuner's name must be complete", "[sim][nccl-default-tuner]") {
  CHECK(refusal("nccl-default:", site_of("ndv4", 1)) ==
        "experiment.yaml:3:7: nothing after the last colon of 'nccl-default:'; expected "
        "nccl-default:VERSION");
}

TEST_CASE("sends and receives run as naive", "[sim][nccl-default-tuner]") {
  const TunerSite site = site_of("ndv4", 1);
  const auto tuner = make_tuner("nccl-default:2.28.9", site);
  const NcclVersion version = parse_nccl_version("2.28.9");
  const NcclComm comm = nccl_comm_for(*site.fabric, version);
  for (const CollectiveKind kind : {CollectiveKind::AllToAll, CollectiveKind::Gather,
                                    CollectiveKind::Scatter, CollectiveKind::AllToNext}) {
    for (const std::uint64_t bytes : {std::uint64_t{8192}, std::uint64_t{64} << 20}) {
      CAPTURE(to_string(kind), bytes);
      const Call call{.collective = kind, .bytes = bytes};
      const Config config = tuner->choose(call);
      const NcclP2pChoice choice =
          nccl_p2p(version, comm, kind == CollectiveKind::AllToNext ? bytes : bytes / 8);
      CHECK(config.algorithm == "naive");
      CHECK(config.protocol == choice.protocol);
      CHECK(config.channels <= choice.channels);
      CHECK(config.tile_bytes == choice.chunk_bytes);
      CHECK(check_config(AlgorithmLibrary::shipped(), call, config, 8).empty());
      CHECK(check_resident(AlgorithmLibrary::shipped(), call, config, *site.fabric, site.cost_model)
                .empty());
    }
  }
}

TEST_CASE("configurations of the default can be simulated", "[sim][nccl-default-tuner]") {
  const TunerSite site = site_of("ndv4", 1);
  Simulator simulator(site.fabric, site.cost_model, "flow");
  for (const char* name : {"nccl-default:2.8.4", "nccl-default"}) {
    const auto tuner = make_tuner(name, site);
    double last_s = 0;
    for (const std::uint64_t bytes : {std::uint64_t{8192}, std::uint64_t{8} << 20}) {
      const Call call{.collective = CollectiveKind::AllReduce, .bytes = bytes};
      const double time_s = simulator.simulate(call, tuner->choose(call)).time_s;
      CHECK(time_s > last_s);
      last_s = time_s;
    }
  }
}

TEST_CASE("invalid tuners are refused with their location", "[sim][nccl-default-tuner]") {
  const TunerSite site = site_of("ndv4", 1);
  CHECK(refusal("nccl-default:2.12", site) ==
        "experiment.yaml:3:7: the default choice of NCCL 2.12 is not modelled; supported are 2.8.4 "
        "and 2.18 or newer (nearest: 2.8.4)");
  CHECK(refusal("nccl-default:new", site).find("experiment.yaml:3:7: 'new' is not a release") == 0);
  CHECK(refusal("nccl-default", site_of("mi300x", 1)).find("RCCL") != std::string::npos);
  CHECK(refusal("nccl-default:2.8.4", site_of("hgx-h100", 1)).find("knows GPUs up to") !=
        std::string::npos);
  const auto tuner = make_tuner("nccl-default", site);
  CHECK(tuner->choose({.collective = CollectiveKind::Reduce, .bytes = 1024}).algorithm == "ring");
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::Custom));
  CHECK_THROWS_AS(tuner->choose({.collective = CollectiveKind::Custom, .bytes = 1024}), UserError);
}

TEST_CASE("nccl-default:VERSION:PROTOCOL is NCCL_PROTO", "[sim][nccl-default-tuner]") {
  const TunerSite site = site_of("dgx1", 1);
  const auto free = make_tuner("nccl-default:2.8.4", site);
  const auto simple = make_tuner("nccl-default:2.8.4:Simple", site);
  const NcclVersion version = parse_nccl_version("2.8.4");
  const NcclDefault model(version, nccl_comm_for(*site.fabric, version));
  int others = 0;
  for (std::uint64_t bytes = 1024; bytes <= 1u << 30; bytes *= 4) {
    CAPTURE(bytes);
    const Call call{.collective = CollectiveKind::AllReduce, .bytes = bytes};
    const Config config = simple->choose(call);
    CHECK(config.protocol == Protocol::Simple);
    const double ring_s =
        *model.time_s(NcclCollective::AllReduce, NcclAlgorithm::Ring, Protocol::Simple, bytes);
    const double tree_s =
        *model.time_s(NcclCollective::AllReduce, NcclAlgorithm::Tree, Protocol::Simple, bytes);
    CHECK(config.algorithm == (tree_s < ring_s ? "tree" : "ring"));
    others += free->choose(call).protocol == Protocol::Simple ? 0 : 1;
  }
  CHECK(others > 0);
  // Sends have the protocol of their size.
  const Call sends{.collective = CollectiveKind::AllToAll, .bytes = 4096};
  CHECK(make_tuner("nccl-default:2.30.7:Simple", site)->choose(sends) ==
        make_tuner("nccl-default:2.30.7", site)->choose(sends));
  CHECK(simple->description().find("with protocol Simple") != std::string::npos);
  CHECK(refusal("nccl-default:2.8.4:Simpel", site).find("did you mean 'Simple'?") !=
        std::string::npos);
  CHECK(refusal("nccl-default:2.8.4:", site) ==
        "experiment.yaml:3:7: nothing after the last colon of 'nccl-default:2.8.4:'; expected "
        "nccl-default:VERSION, e.g. 'nccl-default:2.8.4'");
}

TEST_CASE("nccl-default:VERSION:PROTOCOL:ALGORITHM is NCCL_PROTO and NCCL_ALGO",
          "[sim][nccl-default-tuner]") {
  const NcclVersion version = parse_nccl_version("2.21.5");
  for (const char* const fabric : {"ndv4", "a100-tcp"}) {
    const TunerSite site = site_of(fabric, 2);
    // NCCL trusts LL128 on neither network path of a100-tcp, but obeys NCCL_PROTO.
    NcclComm comm = nccl_comm_for(*site.fabric, version);
    comm.ll128 = true;
    const NcclDefault model(version, comm);
    for (const auto& [name, algorithm] :
         {std::pair{"ring", NcclAlgorithm::Ring}, std::pair{"tree", NcclAlgorithm::Tree}}) {
      for (const Protocol protocol : all_protocols()) {
        const std::string choice =
            fmt::format("nccl-default:2.21.5:{}:{}", to_string(protocol), name);
        CAPTURE(fabric, choice);
        const auto tuner = make_tuner(choice, site);
        for (std::uint64_t bytes = 1024; bytes <= 1u << 30; bytes *= 8) {
          const Config config =
              tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = bytes});
          const auto plan = model.plan(NcclCollective::AllReduce, algorithm, protocol, bytes);
          REQUIRE(plan);
          CHECK(config == nccl_config(*plan));
          CHECK(config.algorithm == name);
          CHECK(config.protocol == protocol);
        }
      }
    }
  }
  const TunerSite site = site_of("ndv4", 2);
  CHECK(make_tuner("nccl-default:2.21.5:LL:tree", site)->description() ==
        "default choice of NCCL 2.21.5 among Tree with protocol LL");
  CHECK(refusal("nccl-default:2.21.5:LL:trea", site).find("did you mean 'tree'?") !=
        std::string::npos);
  CHECK(refusal("nccl-default:2.21.5:LL:tree:4", site).find("VERSION[:PROTOCOL[:ALGORITHM]]") !=
        std::string::npos);
}

// The chunks of trees with LL128, NVLS and CollNet follow the size in NCCL; a named configuration
// has one tile for all sizes.
TEST_CASE("a named configuration takes the time of NCCL with its algorithm and channels",
          "[sim][nccl-default-tuner]") {
  for (const auto& [fabric, servers] : std::vector<std::pair<const char*, int>>{
           {"ndv4", 1}, {"ndv4", 4}, {"hgx-h100", 1}, {"hgx-h100", 4}}) {
    const TunerSite site = site_of(fabric, servers);
    const NcclVersion version = parse_nccl_version("2.28.9");
    const NcclDefault nccl(version, nccl_comm_for(*site.fabric, version));
    Simulator simulator(site.fabric, site.cost_model, "flow");
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      for (const Protocol protocol : all_protocols()) {
        for (std::uint64_t bytes = 64 << 10; bytes <= 1 << 30; bytes *= 4) {
          const auto plan = nccl.plan(NcclCollective::AllReduce, algorithm, protocol, bytes);
          if (!plan) continue;
          const Config own = nccl_config(*plan);
          const Call call{.collective = CollectiveKind::AllReduce, .bytes = bytes};
          const Config named = with_protocol_tiles(
              site.cost_model, call.collective,
              {.algorithm = own.algorithm, .protocol = protocol, .channels = own.channels});
          CAPTURE(fabric, servers, own.algorithm, to_string(protocol), bytes, own.tile_bytes);
          const double ratio =
              simulator.simulate(call, named).time_s / simulator.simulate(call, own).time_s;
          const bool by_size = protocol == Protocol::LL128 && algorithm == NcclAlgorithm::Tree;
          CHECK(ratio > (by_size ? 0.75 : 0.9));
          CHECK(ratio < (by_size ? 1.65 : 1.12));
        }
      }
    }
  }
}
