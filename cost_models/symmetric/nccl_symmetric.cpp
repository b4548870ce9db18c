#include "cost_models/symmetric/nccl_symmetric.hpp"

#include <algorithm>
#include <cmath>

namespace cclgym {

namespace {

constexpr double kGibibytePerUs = static_cast<double>(1 << 30) / 1e6;  // GiB/s in B/us

constexpr bool by_lines(SymmetricAccess access) {
  return access == SymmetricAccess::Lines || access == SymmetricAccess::SwitchedLines;
}
constexpr bool by_switches(SymmetricAccess access) {
  return access == SymmetricAccess::SwitchedLines || access == SymmetricAccess::SwitchedLoadStore;
}
constexpr bool blackwell(int compute_capability) { return compute_capability >= 100; }

// Rate of one SM in NCCL's estimates, GiB/s. AllReduce loads and stores.
constexpr double sm_rate(int compute_capability, bool loads_and_stores) {
  if (blackwell(compute_capability)) return 55;
  return loads_and_stores ? 65 : 44;
}

// Inputs of NCCL's estimate of a kernel: time = latency + bytes / bandwidth, both smoothed,
// where the bandwidth is that of the SMs or the peak of the links. Bytes are those of the busier
// direction of a GPU's links.
struct Traffic {
  double bytes = 0;
  double multiplier = 1;  // bytes on the links for each byte that an SM moves
  double latency_us = 0;
  double sm_rate = 0;    // B/us
  double peak_rate = 0;  // B/us
  int most_blocks = 1;
};

Traffic traffic_of(const NcclComm& comm, NcclCollective collective, SymmetricAccess access,
                   std::uint64_t part_bytes) {
  constexpr double kLineFactor = 9;         // flags, work and loops that are not unrolled
  constexpr double kSwitchedLines = 1.1;    // so that switches are preferred
  constexpr double kSwitchedCopies = 0.55;  // times the ranks
  const bool reduces_all = collective == NcclCollective::AllReduce;
  const bool new_gpu = blackwell(comm.compute_capability);
  const auto ranks = static_cast<std::uint64_t>(comm.ranks);
  Traffic traffic;
  if (by_lines(access)) {
    traffic.bytes = static_cast<double>(ranks * part_bytes) * kLineFactor;
    if (by_switches(access)) traffic.multiplier = kSwitchedLines;
  } else if (!reduces_all) {
    traffic.bytes = static_cast<double>((ranks - 1) * part_bytes);
    if (by_switches(access)) traffic.multiplier = kSwitchedCopies * comm.ranks;
  } else if (by_switches(access)) {
    traffic.bytes = static_cast<double>(part_bytes / ranks + part_bytes);
    traffic.multiplier = comm.ranks;
  } else {
    traffic.bytes = static_cast<double>(2 * part_bytes * (ranks - 1) / ranks);
  }
  if (new_gpu) {
    const bool gathers = collective == NcclCollective::AllGather;
    traffic.latency_us = by_lines(access) ? (gathers ? 8.5 : 11) : (reduces_all ? 19.5 : 13);
  } else {
    traffic.latency_us = by_lines(access) ? 4.5 : 7.8;
  }
  const bool adds_by_switches = reduces_all && access == SymmetricAccess::SwitchedLoadStore;
  const double peak = new_gpu ? (adds_by_switches ? 1000 : 600) : (adds_by_switches ? 480 : 320);
  traffic.sm_rate = sm_rate(comm.compute_capability, reduces_all) * kGibibytePerUs;
  traffic.peak_rate = peak * kGibibytePerUs;
  constexpr int kMostBlocks = 64;
  const int switched_blocks = new_gpu ? 32 : 16;
  traffic.most_blocks = access == SymmetricAccess::SwitchedLoadStore
                            ? std::min((switched_blocks + comm.ranks - 1) / comm.ranks, kMostBlocks)
                            : kMostBlocks;
  return traffic;
}

// A smooth minimum of x and a ceiling.
double soft_minimum(double x, double ceiling, double softness) {
  return ceiling -
         softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-x / softness));
}

// A smooth maximum of x and 0.
double soft_positive(double x) { return x >= 100 ? x : std::log1p(std::exp(x)); }

double estimate_us(const Traffic& traffic, int blocks) {
  const double rate = soft_minimum(blocks * traffic.sm_rate * traffic.multiplier, traffic.peak_rate,
                                   traffic.sm_rate);
  return traffic.latency_us + soft_positive(traffic.bytes / rate - 1);
}

struct Estimate {
  int blocks = 1;
  double us = 0;
};

// The fewest blocks that take at most 2.5 % longer than all of them.
Estimate estimate_of(const Traffic& traffic) {
  constexpr double kTolerance = 1.025;
  const double least_us = estimate_us(traffic, traffic.most_blocks);
  for (int blocks = 1; blocks < traffic.most_blocks; ++blocks) {
    const double us = estimate_us(traffic, blocks);
    if (us <= kTolerance * least_us) return {blocks, us};
  }
  return {traffic.most_blocks, least_us};
}

// True if the switches may add and copy for these kernels.
bool switches_help(const NcclVersion& version, const NcclComm& comm) {
  return comm.graph(NcclAlgorithm::Nvls).has_value() &&
         (comm.ranks > 2 || version < NcclVersion{2, 29, 7});
}

constexpr std::uint64_t kCell = 1024;  // unit in which the blocks share out a call, from 2.28 on

// Blocks that get data: each has as many cells as the others, up to the last.
int blocks_with_data(const NcclVersion& version, std::uint64_t part_bytes, int blocks) {
  if (version < NcclVersion{2, 28, 0}) return blocks;
  const std::uint64_t cells = std::max<std::uint64_t>(1, (part_bytes + kCell - 1) / kCell);
  const auto all = static_cast<std::uint64_t>(blocks);
  const std::uint64_t cells_each = (cells + all - 1) / all;
  return static_cast<int>((cells + cells_each - 1) / cells_each);
}

}  // namespace

const std::array<SymmetricAccess, 4>& all_symmetric_accesses() {
  static constexpr std::array<SymmetricAccess, 4> kAll{
      SymmetricAccess::Lines, SymmetricAccess::SwitchedLines, SymmetricAccess::LoadStore,
      SymmetricAccess::SwitchedLoadStore};
  return kAll;
}

std::string_view symmetric_kernel_name(NcclCollective collective, SymmetricAccess access) {
  using Names = std::array<std::string_view, 4>;
  static constexpr Names kReduceAll{"AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R",
                                    "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC"};
  static constexpr Names kGather{"AllGather_LL", "AllGather_LLMC", "AllGather_ST",
                                 "AllGather_STMC"};
  static constexpr Names kScatter{"ReduceScatter_LL", "", "ReduceScatter_LD", "ReduceScatter_LDMC"};
  const auto at = static_cast<std::size_t>(access);
  if (collective == NcclCollective::AllReduce) return kReduceAll[at];
  if (collective == NcclCollective::AllGather) return kGather[at];
  return collective == NcclCollective::ReduceScatter ? kScatter[at] : std::string_view();
}

bool uses_symmetric_memory(const NcclVersion& version, const NcclComm& comm) {
  return version >= kFirstSymmetric && comm.nodes == 1 && comm.all_nvlink;
}

std::optional<SymmetricChoice> choose_symmetric(const NcclVersion& version, const NcclComm& comm,
                                                NcclCollective collective, std::uint64_t bytes) {
  if (!uses_symmetric_memory(version, comm)) return std::nullopt;
  const auto ranks = static_cast<std::uint64_t>(comm.ranks);
  const bool whole = collective == NcclCollective::AllReduce;
  std::uint64_t part_bytes = whole ? bytes : bytes / ranks;
  if (version >= NcclVersion{2, 28, 0}) part_bytes = (part_bytes + kCell - 1) / kCell * kCell;
  // Kernels count lines, and chunks of 32 B, in 32 bits.
  constexpr std::uint64_t kMostLineBytes = std::uint64_t{2} << 30;
  constexpr std::uint64_t kMostBytes = 32 * kMostLineBytes;
  const std::uint64_t whole_bytes = whole ? part_bytes : ranks * part_bytes;
  if (whole_bytes >= kMostBytes) return std::nullopt;
  constexpr double kBlockPenalty = 0.025;
  std::optional<SymmetricChoice> best;
  double least = 0;
  for (const SymmetricAccess access : all_symmetric_accesses()) {
    if (symmetric_kernel_name(collective, access).empty()) continue;
    if (by_switches(access) && !switches_help(version, comm)) continue;
    if (by_lines(access) && whole_bytes >= kMostLineBytes) continue;
    const Estimate estimate = estimate_of(traffic_of(comm, collective, access, part_bytes));
    const double cost = estimate.us * (1 + kBlockPenalty * estimate.blocks);
    if (best && cost >= least) continue;
    least = cost;
    best = {.access = access,
            .blocks = estimate.blocks,
            .channels = blocks_with_data(version, part_bytes, estimate.blocks),
            .predicted_s = estimate.us * 1e-6};
  }
  return best;
}

double symmetric_block_rate_Bps(int compute_capability) {
  return sm_rate(compute_capability, false) * static_cast<double>(1 << 30);
}

}  // namespace cclgym
