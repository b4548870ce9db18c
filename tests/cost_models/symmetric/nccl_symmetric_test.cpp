// NCCL's choice among its kernels for symmetric memory.
#include "cost_models/symmetric/nccl_symmetric.hpp"

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_fixtures.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using C = NcclCollective;

namespace {

NcclComm node_of(int ranks, int compute_capability, bool nvls) {
  NcclComm comm;
  comm.ranks = ranks;
  comm.compute_capability = compute_capability;
  comm.all_nvlink = true;
  comm.nvswitch = true;
  set_graph(comm, NcclAlgorithm::Ring, nccl_graph(12, 20, 20));
  if (nvls) set_graph(comm, NcclAlgorithm::Nvls, nccl_graph(8, 40, 60));
  return comm;
}

C collective_named(std::string_view name) {
  for (const C each : {C::AllGather, C::ReduceScatter, C::AllReduce}) {
    if (to_string(each) == name) return each;
  }
  FAIL("no collective " << name);
  return C::AllReduce;
}

int integer(std::string_view text) { return std::atoi(std::string(text).c_str()); }

}  // namespace

TEST_CASE("picks of symmetric kernels equal those of NCCL's own code", "[cost_models][symmetric]") {
  const std::string text =
      read_text_file(test::source_path("tests/cost_models/data/nccl_symmetric.csv"), 1 << 20);
  std::map<std::string, int> picks;
  std::set<std::string> releases;
  double worst = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line[0] == '#' || line.starts_with("version,")) continue;
    CAPTURE(line);
    const auto cells = split(line, ',');
    REQUIRE(cells.size() == 9);
    const C collective = collective_named(cells[4]);
    const auto choice =
        choose_symmetric(parse_nccl_version(cells[0]),
                         node_of(integer(cells[1]), integer(cells[2]), cells[3] == "1"), collective,
                         std::strtoull(std::string(cells[5]).c_str(), nullptr, 10));
    releases.insert(std::string(cells[0]));
    ++picks[std::string(cells[6])];
    REQUIRE(choice.has_value() == (cells[6] != "none"));
    if (!choice) continue;
    REQUIRE(symmetric_kernel_name(collective, choice->access) == cells[6]);
    REQUIRE(choice->blocks == integer(cells[7]));
    const double us = std::strtod(std::string(cells[8]).c_str(), nullptr);
    worst = std::max(worst, std::abs(choice->predicted_s * 1e6 / us - 1));
  }
  CHECK(releases == std::set<std::string>{"2.27.7", "2.28.9", "2.29.7", "2.30.7"});
  CHECK(picks.size() == 12);  // eleven kernels and none
  CHECK(worst < 1e-6);        // NCCL stores times in single precision
}

TEST_CASE("symmetric kernels need NVLink between all GPUs of one node, and NCCL 2.27",
          "[cost_models][symmetric]") {
  const auto uses = [](const char* fabric, int servers, NcclVersion version = kNewestNccl) {
    FabricSpec spec{.name = fabric};
    if (servers > 1) spec.servers = servers;
    return uses_symmetric_memory(version, nccl_comm_for(*make_fabric(spec), version));
  };
  CHECK(uses("ndv4", 1));
  CHECK(uses("hgx-h100", 1));
  CHECK(uses("dgx2", 1));
  CHECK_FALSE(uses("dgx1", 1));  // each GPU has four neighbours
  CHECK_FALSE(uses("hgx-h100", 2));
  CHECK(uses("hgx-h100", 1, {2, 27, 3}));
  CHECK_FALSE(uses("hgx-h100", 1, {2, 26, 6}));
  NcclComm comm = node_of(8, 90, true);
  CHECK(choose_symmetric(kNewestNccl, comm, C::AllReduce, 1024).has_value());
  CHECK_FALSE(choose_symmetric(kNewestNccl, comm, C::Broadcast, 1024).has_value());
  comm.all_nvlink = false;
  CHECK_FALSE(choose_symmetric(kNewestNccl, comm, C::AllReduce, 1024).has_value());
}

TEST_CASE("switches help two GPUs until 2.29.7", "[cost_models][symmetric]") {
  const NcclComm two = node_of(2, 90, true);
  const auto access = [&](NcclVersion version) {
    return choose_symmetric(version, two, C::AllReduce, 64 << 20).value().access;
  };
  CHECK(access({2, 28, 9}) == SymmetricAccess::SwitchedLoadStore);
  CHECK(access({2, 29, 7}) == SymmetricAccess::LoadStore);
}

// NVIDIA/nccl issue 2305: kernels and thread blocks that Nsight Systems shows on B200, with the
// sources of July 2026. Of two GPUs, a second report has "approximately 12" (pull request 2344).
TEST_CASE("symmetric kernels that B200 were seen to run", "[cost_models][symmetric]") {
  const auto two = choose_symmetric(kNewestNccl, node_of(2, 100, true), C::ReduceScatter, 4 << 20);
  REQUIRE(two.has_value());
  CHECK(symmetric_kernel_name(C::ReduceScatter, two->access) == "ReduceScatter_LD");
  CHECK(two->blocks == 11);
  const auto four =
      choose_symmetric(kNewestNccl, node_of(4, 100, true), C::ReduceScatter, 16 << 20);
  REQUIRE(four.has_value());
  CHECK(symmetric_kernel_name(C::ReduceScatter, four->access) == "ReduceScatter_LDMC");
  CHECK(four->blocks == 6);
}

TEST_CASE("properties of symmetric choices in random communicators", "[cost_models][symmetric]") {
  std::mt19937_64 random(2026);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int trial = 0; trial < 400; ++trial) {
    const int ranks = 2 + static_cast<int>(below(71));
    const int capability = std::array{80, 90, 100}[below(3)];
    const NcclComm comm = node_of(ranks, capability, capability >= 90 && below(2) == 1);
    const auto collective = std::array{C::AllReduce, C::AllGather, C::ReduceScatter}[below(3)];
    const NcclVersion version = std::array{NcclVersion{2, 27, 3}, kNewestNccl}[below(2)];
    const std::uint64_t bytes = (std::uint64_t{1} << below(34)) * static_cast<std::uint64_t>(ranks);
    CAPTURE(ranks, capability, to_string(collective), version.to_string(), bytes);
    const auto choice = choose_symmetric(version, comm, collective, bytes);
    const auto twice = choose_symmetric(version, comm, collective, 2 * bytes);
    REQUIRE((choice.has_value() || !twice.has_value()));
    if (!choice) continue;
    CHECK(choice->blocks >= 1);
    CHECK(choice->blocks <= 64);
    CHECK(choice->channels >= 1);
    CHECK(choice->channels <= choice->blocks);
    const bool switched = choice->access == SymmetricAccess::SwitchedLoadStore ||
                          choice->access == SymmetricAccess::SwitchedLines;
    CHECK((!switched || comm.graph(NcclAlgorithm::Nvls).has_value()));
    if (choice->access == SymmetricAccess::SwitchedLoadStore) {
      CHECK((choice->blocks - 1) * ranks < (capability >= 100 ? 32 : 16));
    }
    // Blocks have 1 KiB or more each from 2.28 on.
    if (version >= NcclVersion{2, 28, 0}) {
      const std::uint64_t part =
          collective == C::AllReduce ? bytes : bytes / static_cast<std::uint64_t>(ranks);
      CHECK(static_cast<std::uint64_t>(choice->channels) <= (part + 1023) / 1024);
    }
  }
}

TEST_CASE("a block's rate in symmetric memory is that of NCCL's estimates",
          "[cost_models][symmetric]") {
  CHECK(symmetric_block_rate_Bps(80) == 44.0 * (1 << 30));
  CHECK(symmetric_block_rate_Bps(90) == 44.0 * (1 << 30));
  CHECK(symmetric_block_rate_Bps(100) == 55.0 * (1 << 30));
}
