// Tests of RCCL's choices against its formulas, worked out by hand.
#include "cost_models/rccl/rccl_default.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

std::shared_ptr<const Fabric> machine(const char* name, int nodes) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = nodes;
  return make_fabric(spec);
}

constexpr std::uint64_t kOneMiB = 1 << 20;

}  // namespace

TEST_CASE("rccl: 256 nodes of Frontier use its eight rings twice, and tuning model 3",
          "[cost-models][rccl]") {
  const RcclComm comm = rccl_comm_for(*machine("frontier", 256));
  CHECK(comm.ranks == 2048);
  CHECK(comm.model == 3);
  CHECK(comm.channels == 16);
  CHECK(comm.bus_GBps == 7 * 36.0);  // 4 + 2 + 1 links of xGMI
  const auto time_us = [&](Protocol protocol, std::uint64_t bytes) {
    return 1e6 * rccl_time_s(comm, NcclCollective::AllGather, NcclAlgorithm::Ring, protocol, bytes)
                     .value();
  };
  // 255 of the 2,047 steps cross the network; the others pay for posting to it.
  const double ring = 2048.0 / 2047;
  CHECK(time_us(Protocol::LL, 16 * kOneMiB) ==
        Approx(12 + 1792 * 2.0 + 255 * 9.5 + 16 * kOneMiB / (252e3 * .2 * ring * .3)));
  CHECK(time_us(Protocol::Simple, 16 * kOneMiB) ==
        Approx(17 + 1792 * 6.0 + 255 * 19.8 + 16 * kOneMiB / (252e3 * ring * .4)));
  const NcclChoice small = rccl_choice(comm, NcclCollective::AllGather, 16 * kOneMiB);
  CHECK(small.protocol == Protocol::LL);
  CHECK(small.channels == 4);  // 8 B a thread and rank: 16 MiB / (256 * 8 * 2048)
  CHECK(small.threads == 256);
  const NcclChoice large = rccl_choice(comm, NcclCollective::AllGather, 1024 * kOneMiB);
  CHECK(large.protocol == Protocol::Simple);
  CHECK(large.channels == 16);
  CHECK(large.chunk_bytes == 2 * kOneMiB);
}

TEST_CASE("rccl: AllGather and ReduceScatter have rings alone, AllReduce has trees as well",
          "[cost-models][rccl]") {
  const RcclComm comm = rccl_comm_for(*machine("frontier", 64));
  for (std::uint64_t bytes = 1024; bytes <= 1024 * kOneMiB; bytes *= 2) {
    for (const auto collective : {NcclCollective::AllGather, NcclCollective::ReduceScatter}) {
      CHECK(rccl_choice(comm, collective, bytes).algorithm == NcclAlgorithm::Ring);
      CHECK_FALSE(rccl_time_s(comm, collective, NcclAlgorithm::Tree, Protocol::Simple, bytes));
    }
    CHECK_FALSE(
        rccl_time_s(comm, NcclCollective::AllReduce, NcclAlgorithm::Ring, Protocol::LL128, bytes));
  }
  CHECK(rccl_choice(comm, NcclCollective::AllReduce, 64 * 1024).algorithm == NcclAlgorithm::Tree);
}

TEST_CASE("rccl: nodes of its list have the channels of their rings", "[cost-models][rccl]") {
  CHECK(rccl_comm_for(*machine("frontier", 1)).channels == 16);  // four rings, four times
  CHECK(rccl_comm_for(*machine("frontier", 1)).model == 0);
  CHECK(rccl_comm_for(*machine("mi300x", 1)).channels == 56);
  CHECK(rccl_comm_for(*machine("mi300x", 2)).channels == 64);
  CHECK(rccl_comm_for(*machine("amd-mi250x", 1)).channels == 24);
  CHECK(rccl_comm_for(*machine("amd-mi250x", 2)).channels == 32);
  CHECK(rccl_comm_for(*machine("amd-mi250x", 2)).bus_GBps == 161.4);
  // The communicator of one node of several.
  CHECK(rccl_comm_for(*machine("frontier", 8), 1).ranks == 8);
  // One node of 16 dies chooses AllReduce by size alone.
  const RcclComm dies = rccl_comm_for(*machine("amd-mi250x", 1));
  CHECK(rccl_choice(dies, NcclCollective::AllReduce, 2200008).algorithm == NcclAlgorithm::Tree);
  CHECK(rccl_choice(dies, NcclCollective::AllReduce, 2200009).algorithm == NcclAlgorithm::Ring);
}

TEST_CASE("rccl: other GPUs are refused by name", "[cost-models][rccl]") {
  const auto refusal = [](const char* name, int nodes) -> std::string {
    try {
      (void)rccl_comm_for(*machine(name, nodes));
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  CHECK(refusal("ndv4", 2) ==
        "RCCL runs on AMD's GPUs; fabric 'ndv4' has A100, which uses NCCL: name nccl-default");
  CHECK(refusal("ring", 1).find("set its gpu_model") != std::string::npos);
}

TEST_CASE("rccl: 2.21.5 has other constants for MI300X, and only there", "[cost-models][rccl]") {
  CHECK(parse_rccl_release("2.21.5") == RcclRelease::Rccl2215);
  CHECK_THROWS_AS(parse_rccl_release("2.22.3"), UserError);
  const auto frontier = machine("frontier", 4);
  CHECK(rccl_comm_for(*frontier, 0, RcclRelease::Rccl2215).model == rccl_comm_for(*frontier).model);
  const auto mi300x = machine("mi300x", 2);
  const RcclComm old = rccl_comm_for(*mi300x);
  const RcclComm now = rccl_comm_for(*mi300x, 0, RcclRelease::Rccl2215);
  CHECK(now.channels == old.channels);
  CHECK(now.bus_GBps == old.bus_GBps);
  // 16 MiB are 2^18 times 64 B. Four of the 30 steps of an AllReduce on two nodes cross the
  // network.
  const auto time_us = [](const RcclComm& comm, Protocol protocol) {
    return 1e6 *
           rccl_time_s(comm, NcclCollective::AllReduce, NcclAlgorithm::Ring, protocol, 16 * kOneMiB)
               .value();
  };
  const double bandwidth = now.bus_GBps * 16.0 / 30;
  CHECK(time_us(now, Protocol::LL) ==
        Approx(12 + 26 * 2.0 + 4 * 9.5 + 16 * kOneMiB / (1e3 * bandwidth * .08 * .2)));
  CHECK(time_us(now, Protocol::Simple) ==
        Approx(17 + 26 * 6.0 + 4 * 320.0 + 16 * kOneMiB / (1e3 * bandwidth * .1)));
  CHECK(time_us(old, Protocol::Simple) ==
        Approx(17 + 26 * 6.0 + 4 * 19.8 + 16 * kOneMiB / (1e3 * bandwidth * .9)));
}

}  // namespace cclgym::test
