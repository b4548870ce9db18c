// Predicted time of one call from NCCL's estimates (src/graph/tuning.cc, ncclTopoGetAlgoTime).
#include "cost_models/nccl/nccl_model.hpp"

namespace cclgym::nccl {

namespace {

// Share of the bandwidth that trees reach, by power of two from 64 B, for LL, LL128, Simple (NCCL:
// "Trees are not perfectly sticking to the model for medium sizes").
constexpr std::size_t kCorrections = 24;
using Corrections = std::array<std::array<double, kCorrections>, kProtocols>;
constexpr int kTreeCorrections = 23;  // Tree does not use the last entry
constexpr Corrections kTree{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
// Corrections of LL128 in 2.8.4.
constexpr std::array<double, kCorrections> kTreeLl128Of2_8{
    1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92, 1};

double correction(const NcclVersion& version, Protocol protocol, int power) {
  const auto at = static_cast<std::size_t>(power);
  if (family(version) == NcclFamily::V2_8 && protocol == Protocol::LL128) {
    return kTreeLl128Of2_8[at];
  }
  return kTree[index(protocol)][at];
}

// True from the size at which Ring Simple over several nodes reaches a plateau and its latency
// grows.
bool plateau(const NcclVersion& version, const NcclComm& comm, std::uint64_t bytes) {
  if (family(version) == NcclFamily::V2_8) {
    return static_cast<double>(bytes) >= comm.ranks / 16.0 * 65536;
  }
  const std::uint64_t parts =
      static_cast<std::uint64_t>(comm.channels) * static_cast<std::uint64_t>(comm.ranks);
  return bytes / parts >= 64;
}

}  // namespace

Table estimates(const NcclVersion& version, const NcclComm& comm) {
  if (family(version) == NcclFamily::V2_8) return estimates_2_8(comm);
  return version < kNewFormulas ? estimates_2_18(version, comm)
                                : estimates_2_23(version, comm, nccl_constants(version));
}

std::optional<double> time_us(const NcclVersion& version, const NcclComm& comm,
                              const Estimate& estimate, NcclCollective collective,
                              NcclAlgorithm algorithm, Protocol protocol, std::uint64_t bytes) {
  if (!(estimate.bandwidth_GBps > 0)) return std::nullopt;
  double bandwidth = estimate.bandwidth_GBps;
  double latency = estimate.latency_us;
  const std::uint64_t lines = bytes >> 6;
  const int power = log2_floor(lines);
  // Releases before 2.22 treat fewer than 64 B as 64 B.
  const bool in_table = lines > 0 || version < NcclVersion{2, 22, 0};
  if (algorithm == NcclAlgorithm::Tree && in_table && power < kTreeCorrections) {
    bandwidth *= correction(version, protocol, power);
  }
  if (algorithm == NcclAlgorithm::NvlsTree && family(version) == NcclFamily::V2_29 && in_table &&
      power < static_cast<int>(kCorrections) && comm.compute_capability >= 100 &&
      comm.cpu != NcclCpu::Arm) {
    bandwidth *= correction(version, protocol, power);
  }
  if (algorithm == NcclAlgorithm::Ring && protocol == Protocol::Simple &&
      collective == NcclCollective::AllReduce && comm.nodes > 1 && plateau(version, comm, bytes)) {
    const bool old = family(version) == NcclFamily::V2_8 || comm.compute_capability < 80;
    latency *= old ? 1.9 : 1.4;
  }
  return latency + static_cast<double>(bytes) / (1000 * bandwidth);
}

}  // namespace cclgym::nccl
