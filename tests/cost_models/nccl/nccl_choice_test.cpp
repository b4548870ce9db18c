// Tests of NCCL's default choice: closed forms, chunks, the traffic scheduler, sends.
#include <array>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "cost_models/nccl/nccl_fixtures.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using C = NcclCollective;
using A = NcclAlgorithm;

namespace {

NcclDefault nccl_of(const char* version, const NcclComm& comm) {
  return {parse_nccl_version(version), comm};
}

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

}  // namespace

TEST_CASE("2.18 to 2.22 estimate by formulas of their own", "[cost_models][nccl-choice]") {
  // Two nodes of 4 A100 with AMD CPUs and one NIC per two GPUs.
  NcclComm comm;
  comm.ranks = 8;
  comm.nodes = 2;
  comm.cpu = NcclCpu::Amd;
  comm.channels = 4;
  comm.ll128 = false;
  set_graph(comm, A::Ring, nccl_graph(2, 24, 24));
  set_graph(comm, A::Tree, nccl_graph(2, 48, 24));
  const auto latency_us = [&](const char* version, A algorithm, Protocol protocol) {
    return nccl_of(version, comm).latency_s(C::AllReduce, algorithm, protocol) * 1e6;
  };
  const auto bandwidth_GBps = [&](const char* version, A algorithm, Protocol protocol) {
    return nccl_of(version, comm).bandwidth_Bps(C::AllReduce, algorithm, protocol) / 1e9;
  };
  // There are 14 steps, and 2 * 2 of them count as steps between the nodes. Inside a node, AMD's
  // overhead of 2 us dominates.
  CHECK(latency_us("2.18.3", A::Ring, Protocol::LL) == Approx(6.6 + 10 * 2 + 4 * 2.7));
  CHECK(latency_us("2.18.3", A::Ring, Protocol::Simple) == Approx(8.4 + 10 * 6 + 4 * 14));
  CHECK(latency_us("2.28.9", A::Ring, Protocol::LL) == Approx(6.6 + 12 * 2 + 2 * 2.7));
  // A tree has 3 peers and log2(2) levels, up and down.
  CHECK(latency_us("2.18.3", A::Tree, Protocol::Simple) == Approx(0 + 2 * (3 * 4 + 14)));
  CHECK(latency_us("2.20.5", A::Tree, Protocol::Simple) == Approx(0 + 2 * (3 * 28 + 28)));
  CHECK(latency_us("2.28.9", A::Tree, Protocol::Simple) == Approx(8.4 + 2 * (3 * 4 + 14)));
  // LL gets a quarter of 48 GB/s, and in later versions a half, but at most 22.5 GB/s over two
  // nodes.
  CHECK(bandwidth_GBps("2.18.3", A::Ring, Protocol::LL) == Approx(12 * 8 / 14.0));
  CHECK(bandwidth_GBps("2.20.5", A::Ring, Protocol::LL) == Approx(12 * 8 / 14.0));
  CHECK(bandwidth_GBps("2.21.5", A::Ring, Protocol::LL) == Approx(22.5 * 8 / 14.0));
  // Tree gets 92 % of 96 GB/s, but at most 2 * 23.6 GB/s.
  CHECK(bandwidth_GBps("2.18.3", A::Tree, Protocol::Simple) == Approx(2 * 23.6 * .5));
  // Without a scheduler the bytes per thread determine the number of channels.
  CHECK(
      nccl_of("2.18.3", comm).plan(C::AllReduce, A::Ring, Protocol::Simple, 64 * kKiB)->channels ==
      2);
}

TEST_CASE("since 2.26, the bytes of LL count four times when channels get their traffic",
          "[cost_models][nccl-choice]") {
  NcclComm comm;
  comm.ranks = 8;
  comm.nodes = 2;
  comm.compute_capability = 90;
  comm.cpu = NcclCpu::Arm;
  comm.channels = 24;
  comm.ll128 = false;
  set_graph(comm, A::Ring, nccl_graph(12, 6, 6));
  set_graph(comm, A::Tree, nccl_graph(12, 12, 6));
  const auto channels = [&](const char* version, Protocol protocol, std::uint64_t bytes) {
    return nccl_of(version, comm).plan(C::AllReduce, A::Tree, protocol, bytes)->channels;
  };
  // A channel gets at least 16 KiB of traffic, twice the bytes of an AllReduce. Threads that move
  // 8 B each would allow 16 KiB / (512 * 8 B) = 4 channels.
  for (const char* version : {"2.23.4", "2.24.3", "2.25.1"}) {
    CHECK(channels(version, Protocol::LL, 8 * kKiB) == 1);
    CHECK(channels(version, Protocol::LL, 16 * kKiB) == 2);
  }
  for (const char* version : {"2.26.2", "2.28.9"}) {
    CHECK(channels(version, Protocol::LL, 8 * kKiB) == 2);
    CHECK(channels(version, Protocol::LL, 16 * kKiB) == 4);
  }
  CHECK(channels("2.22.3", Protocol::LL, 16 * kKiB) == 4);  // channels with 512 B are enough
}

TEST_CASE("2.18 to 2.22: NVLS, CollNet and Hopper's LL", "[cost_models][nccl-choice]") {
  NcclComm comm;
  comm.ranks = 16;
  comm.nodes = 2;
  comm.compute_capability = 90;
  comm.nvswitch = comm.collnet = true;
  comm.heads = 8;
  set_graph(comm, A::Ring, nccl_graph(8, 45, 45));
  set_graph(comm, A::Nvls, nccl_graph(8, 40, 30));
  set_graph(comm, A::NvlsTree, nccl_graph(8, 40, 30));
  set_graph(comm, A::CollNetDirect, nccl_graph(8, 40, 40));
  set_graph(comm, A::CollNetChain, nccl_graph(8, 40, 40));
  const auto check_simple = [&](const char* version, A algorithm, double us, double rate_GBps) {
    CAPTURE(version, static_cast<int>(algorithm));
    const NcclDefault nccl = nccl_of(version, comm);
    CHECK(nccl.latency_s(C::AllReduce, algorithm, Protocol::Simple) * 1e6 == Approx(us));
    CHECK(nccl.bandwidth_Bps(C::AllReduce, algorithm, Protocol::Simple) / 1e9 == Approx(rate_GBps));
    CHECK(nccl.bandwidth_Bps(C::AllReduce, algorithm, Protocol::LL) == 0);
  };
  check_simple("2.18.3", A::Nvls, 23 + 18, 8 * 40 * 5 / 6.0);
  check_simple("2.18.3", A::NvlsTree, 23 + 2 * 19, 8 * 40 * (.7 * 2 / 2));
  check_simple("2.20.3", A::Nvls, 23 + 18, 8 * 30 * 5 / 6.0);
  check_simple("2.20.3", A::NvlsTree, 23 + 2 * 14, 8 * 30 * 5 / 6.0);
  check_simple("2.18.3", A::CollNetDirect, 2 * (8 + 7 * .5) + 10.7, 8 * 40 * .85 * .5);
  check_simple("2.20.3", A::CollNetDirect, 2 * (3.7 + 7 * .4) + 31, 8 * 40 * .85 * .5);
  check_simple("2.18.3", A::CollNetChain, 2 * 7 * 4.75 + 14, 8 * 40 * .5);
  // CollNet supports AllGather from 2.19 on.
  CHECK(nccl_of("2.18.3", comm).bandwidth_Bps(C::AllGather, A::CollNetDirect, Protocol::Simple) ==
        0);
  CHECK(nccl_of("2.20.3", comm).bandwidth_Bps(C::AllGather, A::CollNetDirect, Protocol::Simple) /
            1e9 ==
        Approx(8 * 40 * .85));
  comm.ranks = 8;
  comm.nodes = 1;
  const auto ll_GBps = [&](const char* version) {
    return nccl_of(version, comm).bandwidth_Bps(C::AllReduce, A::Ring, Protocol::LL) / 1e9;
  };
  CHECK(ll_GBps("2.20.3") == Approx(87.7 * 8 / 14));
  CHECK(ll_GBps("2.21.5") == Approx(141 * 8 / 14.0));
}

TEST_CASE("CollNet needs a network that reduces, Direct also NVSwitches",
          "[cost_models][nccl-choice]") {
  NcclComm comm = a100_comm(2);
  set_graph(comm, A::CollNetDirect, nccl_graph(8, 24, 24));
  set_graph(comm, A::CollNetChain, nccl_graph(8, 24, 24));
  const auto offered = [&](const char* version, A algorithm) {
    return nccl_of(version, comm).bandwidth_Bps(C::AllReduce, algorithm, Protocol::Simple) > 0;
  };
  for (const char* version : {"2.8.4", "2.18.3", "2.28.9"}) {
    CAPTURE(version);
    comm.collnet = false;
    CHECK_FALSE(offered(version, A::CollNetDirect));
    CHECK_FALSE(offered(version, A::CollNetChain));
    comm.collnet = true;
    CHECK(offered(version, A::CollNetDirect));
    CHECK(offered(version, A::CollNetChain) == (std::string(version) != "2.8.4"));
    comm.nvswitch = false;
    CHECK(offered(version, A::CollNetDirect) == (std::string(version) == "2.8.4"));
    comm.nvswitch = true;
  }
  // In 2.28.9, 8 GPUs with 8 NICs reach half of 8 * 24 GB/s, and AllGather 90 % of each GPU's NIC.
  const NcclDefault nccl = nccl_of("2.28.9", comm);
  CHECK(nccl.bandwidth_Bps(C::AllReduce, A::CollNetDirect, Protocol::Simple) == Approx(96e9));
  CHECK(nccl.bandwidth_Bps(C::AllGather, A::CollNetDirect, Protocol::Simple) ==
        Approx(8 * .9 * 24e9));
  comm.heads = 4;  // only half of the GPUs have access to the network
  CHECK(nccl_of("2.28.9", comm).bandwidth_Bps(C::AllGather, A::CollNetDirect, Protocol::Simple) ==
        0);
}

TEST_CASE("the choice is the fastest of what is allowed", "[cost_models][nccl-choice]") {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const auto any = [&](std::uint64_t below) {
      return static_cast<std::uint64_t>(random.integer(0, static_cast<std::int64_t>(below) - 1));
    };
    NcclComm comm = a100_comm(1 + static_cast<int>(any(40)));
    comm.ll128 = any(2) == 0;
    const std::vector<const char*> versions{"2.8.4", "2.18", "2.22.3", "2.28.9", "2.30.7"};
    const NcclDefault nccl = nccl_of(versions[any(versions.size())], comm);
    const auto collective = static_cast<C>(any(kNcclCollectives));
    const std::uint64_t bytes = (1 + any(1ull << any(30))) * static_cast<std::uint64_t>(comm.ranks);
    const NcclChoice choice = nccl.choose(collective, bytes);
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const auto time_s = nccl.time_s(collective, static_cast<A>(a), protocol, bytes);
        if (time_s) CHECK(choice.predicted_s <= *time_s);
      }
    }
    CHECK(nccl.plan(collective, choice.algorithm, choice.protocol, bytes) == choice);
    CHECK(choice.channels >= 1);
    CHECK(choice.channels <= comm.channels);
    CHECK(choice.threads % 32 == 0);
    CHECK(choice.threads >= 64);
    CHECK(choice.threads <= 640);
    CHECK(choice.chunk_bytes >= choice.slice_bytes);
    CHECK(choice.slice_bytes > 0);
    // The predicted time for Ring alone is never below the prediction for all algorithms.
    NcclAlgorithmSet ring;
    ring.set(static_cast<std::size_t>(A::Ring));
    const NcclChoice ring_choice = nccl.choose(collective, bytes, ring);
    CHECK(ring_choice.algorithm == A::Ring);
    CHECK(ring_choice.predicted_s >= choice.predicted_s);
  }
  CHECK_THROWS_AS(nccl_of("2.28.9", a100_comm(1)).choose(C::AllReduce, 8, NcclAlgorithmSet{}),
                  UserError);
}

TEST_CASE("before 2.24, NCCL_ALGO=Tree leaves rings to what has no tree",
          "[cost_models][nccl-choice]") {
  NcclComm comm;
  comm.ranks = 8;
  comm.nodes = 1;
  set_graph(comm, A::Ring, nccl_graph(12, 24, 24));
  set_graph(comm, A::Tree, nccl_graph(12, 24, 24));
  const NcclAlgorithmSet tree{1ULL << static_cast<std::size_t>(A::Tree)};
  CHECK(nccl_of("2.18.3", comm).choose(C::AllGather, kMiB, tree).algorithm == A::Ring);
  CHECK(nccl_of("2.23.4", comm).choose(C::AllGather, kMiB, tree).algorithm == A::Ring);
  CHECK(nccl_of("2.18.3", comm).choose(C::AllReduce, kMiB, tree).algorithm == A::Tree);
  CHECK_THROWS_AS(nccl_of("2.24.3", comm).choose(C::AllGather, kMiB, tree), UserError);
}

TEST_CASE("channels by traffic: 512 B, 16 KiB or 32 KiB make one worth having",
          "[cost_models][nccl-choice]") {
  const NcclComm comm = a100_comm(1);
  const auto channels = [&](const char* version, std::uint64_t bytes) {
    return nccl_of(version, comm).plan(C::AllReduce, A::Tree, Protocol::LL128, bytes)->channels;
  };
  // AllReduce of 64 KiB has 128 KiB of traffic. The threads alone would justify 12 channels.
  CHECK(channels("2.18.3", 64 * kKiB) == 12);
  CHECK(channels("2.22.3", 64 * kKiB) == 12);
  CHECK(channels("2.23.4", 64 * kKiB) == 8);
  CHECK(channels("2.28.9", 64 * kKiB) == 8);
  CHECK(channels("2.29.2", 64 * kKiB) == 4);
  CHECK(channels("2.29.2", 64 * kMiB) == 24);
  CHECK(channels("2.28.9", 64) == 1);
}

TEST_CASE("chunks and slices are those of NCCL's buffers", "[cost_models][nccl-choice]") {
  const NcclComm one = a100_comm(1);
  const NcclDefault nccl = nccl_of("2.28.9", one);
  const auto chunk = [](const NcclDefault& by, C collective, A algorithm, Protocol protocol,
                        std::uint64_t bytes) {
    const NcclChoice choice = *by.plan(collective, algorithm, protocol, bytes);
    return std::array<std::uint64_t, 3>{choice.chunk_bytes, choice.slice_bytes,
                                        static_cast<std::uint64_t>(choice.slices)};
  };
  using Chunk = std::array<std::uint64_t, 3>;
  constexpr std::uint64_t kBig = 1 << 30;
  CHECK(chunk(nccl, C::AllReduce, A::Ring, Protocol::Simple, kBig) == Chunk{2 * kMiB, kMiB, 4});
  CHECK(chunk(nccl, C::Broadcast, A::Ring, Protocol::Simple, kBig) ==
        Chunk{512 * kKiB, 512 * kKiB, 8});
  CHECK(chunk(nccl, C::AllReduce, A::Tree, Protocol::Simple, kBig) ==
        Chunk{512 * kKiB, 512 * kKiB, 8});
  CHECK(chunk(nccl, C::AllReduce, A::Ring, Protocol::LL, kBig) == Chunk{32 * kKiB, 32 * kKiB, 8});
  CHECK(chunk(nccl, C::AllReduce, A::Ring, Protocol::LL128, kBig) == Chunk{576000, 576000, 8});
  // 24 MiB over 24 channels and 8 ranks give 128 KiB per chunk, in two slices.
  CHECK(chunk(nccl, C::AllReduce, A::Ring, Protocol::Simple, 24 * kMiB)[1] == 64 * kKiB);
  // A slice is at least 1/32 of the largest slice.
  CHECK(chunk(nccl, C::AllReduce, A::Ring, Protocol::Simple, 24 * kKiB)[1] == 32 * kKiB);
  // Tree LL128 halves chunks above 131072 B, and later above 32768 B, until there are enough of
  // them. A chunk consists of lines of 1920 B.
  CHECK(chunk(nccl, C::AllReduce, A::Tree, Protocol::LL128, kMiB)[0] == 17280);
  CHECK(chunk(nccl, C::AllReduce, A::Tree, Protocol::LL128, kBig)[0] == 576000);
  // With Tree Simple, releases up to 2.19 make chunks smaller (src/enqueue.cc, "Optimize chunkSize
  // / nSteps", which 2.20.3 no longer has).
  for (const char* const version : {"2.8.4", "2.18.1", "2.18.6", "2.19.4"}) {
    CAPTURE(version);
    const NcclDefault old = nccl_of(version, one);
    CHECK(chunk(old, C::AllReduce, A::Tree, Protocol::Simple, kMiB)[0] == 32 * kKiB);
    // With depth 7, 256 MiB are 21 chunks of 512 KiB per channel, and 85 of 128 KiB.
    CHECK(chunk(old, C::AllReduce, A::Tree, Protocol::Simple, 256 * kMiB)[0] == 128 * kKiB);
    CHECK(chunk(old, C::AllReduce, A::Tree, Protocol::Simple, kBig)[0] == 512 * kKiB);
  }
  for (const char* const version : {"2.20.3", "2.21.5", "2.23.4", "2.28.9"}) {
    CAPTURE(version);
    const NcclDefault later = nccl_of(version, one);
    CHECK(chunk(later, C::AllReduce, A::Tree, Protocol::Simple, kMiB)[0] == 512 * kKiB);
  }
  // On Arm, buffers were smaller.
  NcclComm arm = one;
  arm.cpu = NcclCpu::Arm;
  CHECK(chunk(nccl_of("2.8.4", arm), C::AllReduce, A::Ring, Protocol::Simple, kBig) ==
        Chunk{512 * kKiB, 256 * kKiB, 4});
  CHECK(chunk(nccl_of("2.28.9", arm), C::AllReduce, A::Ring, Protocol::Simple, kBig)[0] ==
        2 * kMiB);
}

TEST_CASE("chunks of NVLS and PAT", "[cost_models][nccl-choice]") {
  NcclComm comm;
  comm.ranks = 8;
  comm.compute_capability = 90;
  comm.channels = 24;
  comm.nvswitch = true;
  comm.heads = 8;
  set_graph(comm, A::Ring, nccl_graph(12, 30, 30));
  set_graph(comm, A::Nvls, nccl_graph(8, 40, 60));
  const NcclDefault nccl = nccl_of("2.28.9", comm);
  const auto nvls = [&](std::uint64_t bytes) {
    return nccl.plan(C::AllReduce, A::Nvls, Protocol::Simple, bytes)->chunk_bytes;
  };
  // With 16 channels and 8 heads, 64 chunks of 128 KiB each are 1 GiB.
  CHECK(nvls(1 << 30) == 128 * kKiB);
  CHECK(nvls(1023 << 20) == 64 * kKiB);
  CHECK(nvls(63 * kMiB) == 32 * kKiB);
  CHECK(nvls(7 * kMiB) == 16 * kKiB);

  NcclComm spread;
  spread.ranks = spread.nodes = 16;
  spread.channels = 2;
  for (const A algorithm : {A::Ring, A::Tree, A::Pat}) {
    set_graph(spread, algorithm, nccl_graph(1, 12, 12));
  }
  const auto pat = [&](C collective, std::uint64_t bytes) {
    return nccl_of("2.28.9", spread).plan(collective, A::Pat, Protocol::Simple, bytes)->chunk_bytes;
  };
  CHECK(pat(C::AllGather, 64 * kMiB) == 512 * kKiB);
  CHECK(pat(C::AllGather, 16 * kMiB) == 256 * kKiB);
  CHECK(pat(C::ReduceScatter, 16 * kMiB) == 512 * kKiB);
  CHECK(pat(C::AllGather, 64 * kKiB) == 64 * kKiB);
  CHECK_FALSE(nccl_of("2.28.9", a100_comm(2))
                  .plan(C::AllGather, A::Pat, Protocol::Simple, kMiB)
                  .has_value());
}

TEST_CASE("sends: channels, protocol and chunks", "[cost_models][nccl-choice]") {
  const NcclComm one = a100_comm(1);
  const NcclComm two = a100_comm(2);
  const auto p2p = [](const char* version, const NcclComm& comm, std::uint64_t bytes) {
    return nccl_p2p(parse_nccl_version(version), comm, bytes);
  };
  // 32 channels for 8 peers allow 4 per send; smaller sends use one per 64 KiB.
  CHECK(p2p("2.8.4", one, 16 * kMiB) == NcclP2pChoice{Protocol::Simple, 4, 640, 512 * kKiB, 8});
  CHECK(p2p("2.8.4", one, kKiB) == NcclP2pChoice{Protocol::Simple, 1, 640, 512 * kKiB, 8});
  CHECK(p2p("2.8.4", one, 128 * kKiB).channels == 2);
  // The number of channels doubles while each has more than 16 MiB.
  CHECK(p2p("2.8.4", one, 100 * kMiB).channels == 8);
  CHECK(p2p("2.8.4", one, 4096 * kMiB).channels == 32);
  // Sends over the network use one channel (src/graph/paths.cc, ncclTopoGetNchannels) and chunks of
  // 128 KiB. Later versions use smaller chunks for small sends.
  CHECK(p2p("2.8.4", two, 16 * kMiB) == NcclP2pChoice{Protocol::Simple, 1, 640, 128 * kKiB, 8});
  CHECK(p2p("2.18.3", two, 16 * kMiB).chunk_bytes == 128 * kKiB);
  CHECK(p2p("2.18.3", two, 256 * kKiB).chunk_bytes == 64 * kKiB);
  CHECK(p2p("2.18.3", two, 4 * kKiB).chunk_bytes == 32 * kKiB);
  // A send uses one channel if many peers share few channels. In 2.28 the number depends on the
  // speed of the NIC, with eight peers per batch.
  CHECK(p2p("2.18.3", a100_comm(16), kMiB).channels == 1);
  NcclComm fast = a100_comm(4);
  fast.nic_Bps = 48e9;
  CHECK(p2p("2.27.3", fast, kMiB).channels == 2);
  CHECK(p2p("2.28.9", fast, kMiB).channels == 4);
  // Sends inside a node use LL up to 16 KiB per channel.
  CHECK(p2p("2.18.3", one, 16 * kKiB).protocol == Protocol::LL);
  CHECK(p2p("2.18.3", one, 16 * kKiB).chunk_bytes == 32 * kKiB);
  CHECK(p2p("2.18.3", one, 64 * kKiB).protocol == Protocol::Simple);
  CHECK(p2p("2.23.4", one, 64 * kKiB).protocol == Protocol::LL);
  CHECK(p2p("2.28.9", one, 64 * kKiB).protocol == Protocol::Simple);
  CHECK(p2p("2.18.3", two, kKiB).protocol == Protocol::Simple);
}

TEST_CASE("communicators that cannot be are refused", "[cost_models][nccl-choice]") {
  const auto refused = [](auto change) {
    NcclComm comm = a100_comm(2);
    change(comm);
    try {
      (void)nccl_of("2.28.9", comm);
    } catch (const UserError&) {
      return true;
    }
    return false;
  };
  CHECK_FALSE(refused([](NcclComm&) {}));
  CHECK(refused([](NcclComm& comm) { comm.ranks = comm.nodes = 1; }));
  CHECK(refused([](NcclComm& comm) { comm.nodes = 17; }));
  CHECK(refused([](NcclComm& comm) { comm.nodes = 0; }));
  CHECK(refused([](NcclComm& comm) { comm.channels = 0; }));
  CHECK(refused([](NcclComm& comm) { comm.graphs = {}; }));
  CHECK(refused([](NcclComm& comm) { set_graph(comm, A::Ring, nccl_graph(0, 24, 24)); }));
  CHECK(refused([](NcclComm& comm) { set_graph(comm, A::Tree, nccl_graph(8, 0, 24)); }));
  CHECK(refused([](NcclComm& comm) { set_graph(comm, A::Tree, nccl_graph(8, 24, 0.0 / 0.0)); }));
  NcclComm hopper = a100_comm(1);
  hopper.compute_capability = 90;
  try {
    (void)nccl_of("2.8.4", hopper);
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "NCCL 2.8.4 knows GPUs up to compute capability 8.0 (A100); these have 9.0");
  }
}
