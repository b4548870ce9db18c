// Tests of the communicators that NCCL would make from the fabrics, and of the resulting choices.
#include "cost_models/nccl/nccl_comm_for.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "cost_models/nccl/nccl_tree_pattern.hpp"
#include "support/catch.hpp"
#include "topology_models/fabric_without.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using A = NcclAlgorithm;

namespace {

NcclComm comm_of(const char* fabric, int servers, const char* version) {
  FabricSpec spec;
  spec.name = fabric;
  if (servers > 1) spec.servers = servers;
  return nccl_comm_for(*make_fabric(spec), parse_nccl_version(version));
}

struct Seen {
  int channels;  // channels of the graph
  double inside_GBps;
  double between_GBps;

  friend bool operator==(const Seen&, const Seen&) = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.channels << "x" << seen.inside_GBps << "/" << seen.between_GBps;
}
Seen seen(const NcclComm& comm, A algorithm) {
  REQUIRE(comm.graph(algorithm).has_value());
  const NcclGraph& graph = *comm.graph(algorithm);
  return {graph.channels, graph.intra_Bps / 1e9, graph.inter_Bps / 1e9};
}

}  // namespace

TEST_CASE("without NCCL_CROSS_NIC, rings of superchips pass between their CPUs",
          "[cost_models][nccl-comm-for]") {
  // Every ordered pair of the four CPUs carries one ring at NCCL's 6 GB/s; trees follow.
  FabricSpec spec{.name = "alps", .servers = 4};
  spec.cross_nic = false;
  const NcclVersion version = parse_nccl_version("2.23.4");
  const NcclComm all = nccl_comm_for(*make_fabric(spec), version);
  CHECK(seen(all, A::Ring) == Seen{12, 6, 6});
  CHECK(seen(all, A::Tree) == Seen{12, 12, 6});
  CHECK(all.channels == 24);
  spec.gpus_per_server = 2;
  CHECK(seen(nccl_comm_for(*make_fabric(spec), version), A::Ring) == Seen{2, 6, 6});
  // The ring of a single GPU comes back to its NIC anyway, and one node has no crossing.
  const auto channels = [&](int servers, int gpus, bool cross_nic) {
    FabricSpec some{.name = "alps", .servers = servers, .gpus_per_server = gpus};
    some.cross_nic = cross_nic;
    return nccl_comm_for(*make_fabric(some), version).channels;
  };
  CHECK(channels(4, 1, false) == channels(4, 1, true));
  CHECK(channels(1, 4, false) == channels(1, 4, true));
  CHECK(channels(4, 4, false) != channels(4, 4, true));
}

TEST_CASE("rings, trees and channels of V100 and A100 servers", "[cost_models][nccl-comm-for]") {
  // Real NCCL has 12 channels on a DGX-1 and a DGX-2, 24 on 8 A100 with NVSwitch, 16 across nodes
  // with 8 NICs.
  struct Case {
    const char* fabric;
    int servers;
    const char* version;
    Seen ring;
    Seen tree;
    int channels;
  };
  for (const Case& c : std::vector<Case>{
           {"dgx1", 1, "2.8.4", {6, 21, 21}, {6, 21, 21}, 12},
           {"dgx1", 1, "2.28.9", {6, 20, 20}, {6, 20, 20}, 12},
           {"dgx2", 1, "2.8.4", {6, 21, 21}, {6, 21, 21}, 12},
           {"dgx2", 4, "2.8.4", {8, 12, 12}, {8, 15, 12}, 16},
           {"ndv4", 1, "2.8.4", {12, 21, 21}, {12, 21, 21}, 24},
           {"ndv4", 1, "2.28.9", {12, 20, 20}, {12, 20, 20}, 24},
           {"ndv4", 2, "2.8.4", {8, 24, 24}, {8, 24, 24}, 16},
           {"ndv4", 16, "2.28.9", {8, 24, 24}, {8, 30, 24}, 16},
           {"polaris", 1, "2.18.3", {12, 20, 20}, {12, 20, 20}, 24},
           {"polaris", 8, "2.18.3", {2, 24, 24}, {2, 48, 24}, 4},
       }) {
    CAPTURE(c.fabric, c.servers, c.version);
    const NcclComm comm = comm_of(c.fabric, c.servers, c.version);
    CHECK(seen(comm, A::Ring) == c.ring);
    CHECK(seen(comm, A::Tree) == c.tree);
    CHECK(comm.channels == c.channels);
    CHECK(comm.nodes == c.servers);
    CHECK_FALSE(comm.graph(A::Nvls).has_value());
    CHECK_NOTHROW(check(comm));
  }
}

TEST_CASE("Hopper servers: the graphs that NCCL dumps", "[cost_models][nccl-comm-for]") {
  // github.com/NVIDIA/nccl issue 1197, NCCL 2.19.4 on an H100 node: rings and trees 12 x 30, NVLS 8
  // x 40/60.
  const NcclComm one = comm_of("hgx-h100", 1, "2.19.4");
  CHECK(seen(one, A::Ring) == Seen{12, 30, 30});
  CHECK(seen(one, A::Tree) == Seen{12, 30, 30});
  CHECK(seen(one, A::Nvls) == Seen{8, 40, 60});
  CHECK(one.channels == 24);
  CHECK(one.nvls_channels == 16);
  CHECK(one.nvswitch);
  CHECK(one.cpu == NcclCpu::Intel);
  const NcclComm four = comm_of("hgx-h100", 4, "2.28.9");
  CHECK(seen(four, A::Ring) == Seen{8, 45, 45});
  CHECK(four.channels == 16);
  CHECK(four.ll128);
  // GH200 has no NVSwitch and thus no NVLS; each has one NIC of 200 Gb/s.
  const NcclComm alps = comm_of("alps", 4, "2.23.4");
  CHECK(seen(alps, A::Ring) == Seen{4, 24, 24});
  CHECK(alps.channels == 8);
  CHECK_FALSE(alps.graph(A::Nvls).has_value());
  CHECK(alps.cpu == NcclCpu::Arm);
}

TEST_CASE("NCCL's constants follow the CPU of the nodes, and LL128 the path to the NICs",
          "[cost_models][nccl-comm-for]") {
  CHECK(comm_of("ndv4", 2, "2.18").cpu == NcclCpu::Amd);
  CHECK(comm_of("ndv2", 2, "2.18").cpu == NcclCpu::Intel);
  CHECK(comm_of("abci-a", 2, "2.8.4").ll128);
  CHECK(comm_of("abci-v", 1, "2.8.4").ll128);
  CHECK_FALSE(comm_of("abci-v", 2, "2.8.4").ll128);
  // A fabric without some of its links is still one of AMD's CPUs.
  const auto whole = make_fabric({.name = "ndv4", .servers = 2});
  CHECK(whole->bindable());
  CHECK(whole->bound(NicBinding::SingleNic)->host().cpu == HostCpu::Amd);
  const auto part = fabric_without(*whole, "server0/gpu0,server1/gpu0");
  CHECK(nccl_comm_for(*part, parse_nccl_version("2.18")).cpu == NcclCpu::Amd);
}

TEST_CASE("a communicator of few GPUs a node crosses the network at the NICs near them",
          "[cost_models][nccl-comm-for]") {
  const auto comm_with = [](int gpus, int nodes) {
    FabricSpec spec{.name = "hgx-h100", .servers = nodes, .gpus_per_server = gpus};
    return nccl_comm_for(*make_fabric(spec), parse_nccl_version("2.29.2"));
  };
  // One NDR NIC a GPU: a channel of 48 GB/s each, split in two up to four of them, then doubled.
  CHECK(seen(comm_with(1, 10), A::Ring) == Seen{2, 24, 24});
  CHECK(seen(comm_with(1, 10), A::Tree) == Seen{2, 48, 24});
  CHECK(comm_with(1, 10).channels == 4);
  CHECK(seen(comm_with(4, 10), A::Ring) == Seen{8, 24, 24});
  CHECK(seen(comm_with(4, 10), A::Tree) == Seen{8, 45, 24});
  CHECK(comm_with(4, 10).channels == 16);
  CHECK(seen(comm_with(8, 2), A::Ring) == Seen{8, 45, 45});
  // Sends to a peer use as many channels as all peers leave: ten ranks in two rounds.
  constexpr std::uint64_t kLarge = 1 << 30;
  CHECK(nccl_p2p(parse_nccl_version("2.29.2"), comm_with(1, 10), kLarge).channels == 2);
  CHECK(nccl_p2p(parse_nccl_version("2.29.2"), comm_with(1, 2), kLarge).channels == 4);
  CHECK(nccl_p2p(parse_nccl_version("2.29.2"), comm_with(4, 10), kLarge).channels == 2);
}

TEST_CASE("the pattern of trees depends on the release, the GPU and its NICs",
          "[cost_models][nccl-comm-for]") {
  const auto pattern = [](const std::string& name, int nodes) {
    FabricSpec spec;
    spec.name = name;
    spec.servers = nodes;
    return tree_pattern(*make_fabric(spec));
  };
  CHECK(pattern("abci-v", 2) == TreePattern::Head);
  CHECK(pattern("abci-v", 3) == TreePattern::Split);
  CHECK(pattern("polaris", 2) == TreePattern::Balanced);
  CHECK(pattern("ndv4", 8) == TreePattern::Balanced);
  CHECK(pattern("alps", 8) == TreePattern::Head);
  CHECK(pattern("hgx-h100", 2) == TreePattern::Head);
  CHECK(pattern("hgx-h100", 1) == TreePattern::Balanced);
  CHECK(pattern("frontier", 4) == TreePattern::Balanced);
  // On two nodes, 2.8.4 has trees that enter and leave a node at one GPU.
  CHECK(tree_pattern(*make_fabric({.name = "ndv4", .servers = 2}), {2, 8, 4}) == TreePattern::Head);
  CHECK(tree_pattern(*make_fabric({.name = "ndv4", .servers = 2}), {2, 18, 3}) ==
        TreePattern::Balanced);
  CHECK(tree_pattern(*make_fabric({.name = "abci-v", .servers = 3}), {2, 18, 3}) ==
        TreePattern::Balanced);
  CHECK(child_places(TreePattern::Split) == std::array{1, 1});
  // The orders of Polaris' trees are known where all GPUs of several nodes take part.
  FabricSpec polaris{.name = "polaris", .servers = 2};
  CHECK(tree_orders(*make_fabric(polaris)) ==
        std::vector<std::vector<int>>{{1, 2, 3, 0}, {3, 2, 0, 1}});
  polaris.gpus_per_server = 2;
  CHECK(tree_orders(*make_fabric(polaris)).empty());
  CHECK(tree_orders(*make_fabric({.name = "polaris"})).empty());
  CHECK(tree_orders(*make_fabric({.name = "ndv4", .servers = 2})).empty());
  // NCCL expects 0.85 of the bandwidth of trees in pattern TREE.
  CHECK(comm_of("alps", 8, "2.23.4").plain_tree);
  CHECK_FALSE(comm_of("polaris", 8, "2.21.5").plain_tree);
  CHECK_FALSE(comm_of("alps", 1, "2.23.4").plain_tree);
}

TEST_CASE("LL128 over servers needs NICs behind the GPUs' PCIe switches",
          "[cost_models][nccl-comm-for]") {
  CHECK(comm_of("ndv4", 2, "2.28.9").ll128);
  CHECK(comm_of("dgx2", 2, "2.28.9").ll128);
  CHECK_FALSE(comm_of("polaris", 2, "2.18.3").ll128);
  CHECK(comm_of("polaris", 1, "2.18.3").ll128);
  CHECK_FALSE(comm_of("alps", 2, "2.23.4").ll128);
  CHECK(comm_of("alps", 1, "2.23.4").ll128);
}

namespace {

// Sizes at which AllReduce stops using LL.
std::vector<std::uint64_t> ends_of_ll(const char* fabric, int servers, const char* version) {
  const NcclDefault nccl(parse_nccl_version(version), comm_of(fabric, servers, version));
  std::vector<std::uint64_t> sizes;
  Protocol last = Protocol::LL;
  for (std::uint64_t bytes = 1024; bytes <= 1u << 30; bytes *= 2) {
    const Protocol protocol = nccl.choose(NcclCollective::AllReduce, bytes).protocol;
    if (last == Protocol::LL && protocol != Protocol::LL) sizes.push_back(bytes);
    last = protocol;
  }
  return sizes;
}

}  // namespace

TEST_CASE("the default leaves LL where measured runs get faster with size",
          "[cost_models][nccl-comm-for]") {
  // Sizes at which the measured time drops although the size has doubled, in public nccl-tests
  // runs: Alps, NCCL 2.23.4; Polaris, 2.18 and 2.21; ABCI V100, 2.8.4. The model may be off by one
  // doubling.
  struct Drop {
    const char* fabric;
    int servers;
    const char* version;
    std::uint64_t measured_kib;
  };
  for (const Drop& drop : std::vector<Drop>{{"alps", 2, "2.23.4", 2048},
                                            {"alps", 4, "2.23.4", 2048},
                                            {"alps", 8, "2.23.4", 1024},
                                            {"polaris", 2, "2.18", 256},
                                            {"polaris", 8, "2.18", 256},
                                            {"polaris", 2, "2.21", 4096},
                                            {"polaris", 8, "2.21", 8192},
                                            {"abci-v", 32, "2.8.4", 1024}}) {
    CAPTURE(drop.fabric, drop.servers, drop.version);
    const auto sizes = ends_of_ll(drop.fabric, drop.servers, drop.version);
    REQUIRE(sizes.size() == 1);
    CHECK(sizes[0] * 2 >= drop.measured_kib * 1024);
    CHECK(sizes[0] <= drop.measured_kib * 1024 * 2);
  }
}

TEST_CASE("NVLS has at most 32 heads, and in larger domains only AllReduce",
          "[cost_models][nccl-comm-for]") {
  for (const int gpus : {16, 32, 36, 72}) {
    FabricSpec spec{.name = "gb200-nvl72"};
    if (gpus < 72) spec.gpus_per_server = gpus;
    const NcclVersion release = parse_nccl_version("2.30.7");
    const NcclComm comm = nccl_comm_for(*make_fabric(spec), release);
    CHECK(comm.ranks == gpus);
    REQUIRE(comm.graph(NcclAlgorithm::Nvls));
    CHECK(comm.graph(NcclAlgorithm::Nvls)->channels == std::min(gpus, 32));
    const NcclDefault nccl(release, comm);
    CHECK(nccl.choose(NcclCollective::AllReduce, 256 << 20U).algorithm == NcclAlgorithm::Nvls);
    const double gather =
        nccl.bandwidth_Bps(NcclCollective::AllGather, NcclAlgorithm::Nvls, Protocol::Simple);
    CHECK((gather > 0) == (gpus <= 32));
  }
}

TEST_CASE("fabrics that NCCL does not run on are refused", "[cost_models][nccl-comm-for]") {
  const auto refusal = [](const char* fabric) {
    try {
      (void)comm_of(fabric, 1, "2.28.9");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("mi300x") ==
        "NCCL's default choice is modelled for NVIDIA GPUs; fabric 'mi300x' has MI300X, which uses "
        "RCCL with tuning tables of its own: name rccl-default (MI250X, MI300X, MI325X) or an "
        "algorithm");
  CHECK(
      refusal("ring") ==
      "NCCL's default choice depends on the GPU, but fabric 'ring' does not say which it has; set "
      "its gpu_model (e.g. A100)");
}

TEST_CASE("a fabric of one's own: GPUs on PCIe, one bundled NVLink",
          "[cost_models][nccl-comm-for]") {
  const auto pair_of = [](const char* gpu, Link link) {
    FabricBuilder builder("mine");
    builder.set_gpu_model(gpu);
    link.source = builder.add_node({.name = "a"});
    link.target = builder.add_node({.name = "b"});
    builder.add_duplex_link(link);
    return builder.build();
  };
  const auto pcie = pair_of("A100", {.kind = LinkKind::Pcie, .unit_bandwidth_Bps = 24e9});
  const NcclComm slow = nccl_comm_for(*pcie, parse_nccl_version("2.28.9"));
  CHECK(seen(slow, A::Ring) == Seen{1, 20, 20});
  CHECK(slow.graph(A::Ring)->link == NcclLink::Pcie);
  CHECK_FALSE(slow.ll128);
  CHECK(slow.nvlinks_to_peer == 0);
  // 300 GB/s in one link equal 12 NVLinks.
  const auto bundle = pair_of("A100", {.kind = LinkKind::NvLink, .unit_bandwidth_Bps = 300e9});
  CHECK(seen(nccl_comm_for(*bundle, parse_nccl_version("2.28.9")), A::Ring) == Seen{12, 20, 20});
}
