#include "cost_models/nccl/nccl_default.hpp"

#include <fmt/core.h>
#include <utility>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_model.hpp"
#include "cost_models/nccl/nccl_plan.hpp"

namespace cclgym {

struct NcclDefault::State {
  NcclVersion version;
  NcclComm comm;
  nccl::Table table;

  [[nodiscard]] const nccl::Estimate& estimate(NcclCollective collective, NcclAlgorithm algorithm,
                                               Protocol protocol) const {
    return table[nccl::index(collective)][nccl::index(algorithm)][nccl::index(protocol)];
  }
  [[nodiscard]] std::optional<double> time_us(NcclCollective collective, NcclAlgorithm algorithm,
                                              Protocol protocol, std::uint64_t bytes) const {
    return nccl::time_us(version, comm, estimate(collective, algorithm, protocol), collective,
                         algorithm, protocol, bytes);
  }
  [[nodiscard]] NcclChoice plan(NcclCollective collective, NcclAlgorithm algorithm,
                                Protocol protocol, std::uint64_t bytes, double us) const {
    const nccl::Task task{version, comm, collective, algorithm, protocol, bytes};
    const nccl::Launch launch = nccl::launch(task);
    const nccl::Share share = nccl::schedule(task, launch.channels);
    const double nvls_GBps =
        estimate(NcclCollective::AllReduce, NcclAlgorithm::Nvls, Protocol::Simple).bandwidth_GBps;
    const nccl::Chunking chunking = nccl::chunking(task, share, nvls_GBps);
    return {.algorithm = algorithm,
            .protocol = protocol,
            .channels = share.channels,
            .threads = launch.threads,
            .chunk_bytes = chunking.chunk_bytes,
            .slice_bytes = chunking.slice_bytes,
            .slices = chunking.slices,
            .predicted_s = us * 1e-6};
  }
};

NcclDefault::NcclDefault(const NcclVersion& version, const NcclComm& comm) {
  check(comm);
  if (family(version) == NcclFamily::V2_8 && comm.compute_capability > 80) {
    throw UserError(fmt::format(
        "NCCL {} knows GPUs up to compute capability 8.0 (A100); these have {}.{}",
        version.to_string(), comm.compute_capability / 10, comm.compute_capability % 10));
  }
  state_ = std::make_unique<const State>(State{version, comm, nccl::estimates(version, comm)});
}

NcclDefault::NcclDefault(const NcclVersion& version, const NcclComm& comm,
                         const NcclConstants& constants) {
  check(comm);
  if (version < nccl::kNewFormulas) {
    throw UserError(fmt::format("the constants of NCCL {} cannot be changed; those of {} can",
                                version.to_string(), nccl::kNewFormulas.to_string()));
  }
  state_ = std::make_unique<const State>(
      State{version, comm, nccl::estimates_2_23(version, comm, constants)});
}

NcclDefault::~NcclDefault() = default;
NcclDefault::NcclDefault(NcclDefault&&) noexcept = default;
NcclDefault& NcclDefault::operator=(NcclDefault&&) noexcept = default;

const NcclVersion& NcclDefault::version() const { return state_->version; }
const NcclComm& NcclDefault::comm() const { return state_->comm; }

double NcclDefault::latency_s(NcclCollective collective, NcclAlgorithm algorithm,
                              Protocol protocol) const {
  return state_->estimate(collective, algorithm, protocol).latency_us * 1e-6;
}

double NcclDefault::bandwidth_Bps(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
  return state_->estimate(collective, algorithm, protocol).bandwidth_GBps * 1e9;
}

std::optional<double> NcclDefault::time_s(NcclCollective collective, NcclAlgorithm algorithm,
                                          Protocol protocol, std::uint64_t bytes) const {
  const auto us = state_->time_us(collective, algorithm, protocol, bytes);
  if (!us) return std::nullopt;
  return *us * 1e-6;
}

NcclChoice NcclDefault::choose(NcclCollective collective, std::uint64_t bytes,
                               const NcclAlgorithmSet& allowed,
                               std::optional<Protocol> only) const {
  std::optional<double> least_us;
  NcclAlgorithm best = NcclAlgorithm::Ring;
  Protocol best_protocol = Protocol::Simple;
  const auto choose_among = [&](const NcclAlgorithmSet& algorithms) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      if (!algorithms[a]) continue;
      for (const Protocol protocol : all_protocols()) {
        if (only && protocol != *only) continue;
        const auto algorithm = static_cast<NcclAlgorithm>(a);
        const auto us = state_->time_us(collective, algorithm, protocol, bytes);
        if (!us || (least_us && *us >= *least_us)) continue;
        least_us = us;
        best = algorithm;
        best_protocol = protocol;
      }
    }
  };
  choose_among(allowed);
  // Before 2.24, NCCL_ALGO=Tree left the ring to collectives without a tree
  // (src/graph/tuning.cc).
  constexpr NcclVersion kObeysForAll{2, 24, 0};
  if (!least_us && collective != NcclCollective::AllReduce && version() < kObeysForAll) {
    choose_among(NcclAlgorithmSet{1ULL << static_cast<std::size_t>(NcclAlgorithm::Ring)});
  }
  if (!least_us) {
    throw UserError(fmt::format("NCCL {} has none of the allowed algorithms for {}{}",
                                version().to_string(), to_string(collective),
                                only ? fmt::format(" with protocol {}", to_string(*only)) : ""));
  }
  return state_->plan(collective, best, best_protocol, bytes, *least_us);
}

std::optional<NcclChoice> NcclDefault::plan(NcclCollective collective, NcclAlgorithm algorithm,
                                            Protocol protocol, std::uint64_t bytes) const {
  const auto us = state_->time_us(collective, algorithm, protocol, bytes);
  if (!us) return std::nullopt;
  return state_->plan(collective, algorithm, protocol, bytes, *us);
}

}  // namespace cclgym
