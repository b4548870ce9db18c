#include "sim/tuners/nccl_default_tuner.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

namespace {

std::string_view program_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::Tree:
      return "tree";
    case NcclAlgorithm::Ring:
      return "ring";
    case NcclAlgorithm::Pat:
      return "pat";
    case NcclAlgorithm::Nvls:
      return "nvls";
    case NcclAlgorithm::NvlsTree:
      return "nvls-tree";
    default:
      return {};
  }
}

class NcclDefaultTuner : public Tuner {
 public:
  NcclDefaultTuner(const NcclVersion& version, const TunerSite& site,
                   const NcclAlgorithmSet& allowed)
      : fabric_(site.fabric),
        cost_model_(site.cost_model),
        allowed_(allowed & simulated_nccl_algorithms()),
        nccl_(version, nccl_comm_for(*fabric_, version)) {}

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return collective != CollectiveKind::Custom && collective != CollectiveKind::Reduce;
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    if (!chooses_for(call.collective)) {
      throw UserError(fmt::format("NCCL's default choice: {}",
                                  call.collective == CollectiveKind::Reduce
                                      ? "NCCL reduces to a root along a ring, for which the "
                                        "library has no program; name an algorithm"
                                      : "NCCL has no custom collectives"));
    }
    const auto collective = nccl_collective(call.collective);
    return collective ? tuned(call, *collective) : sends(call);
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("default choice of NCCL {} among Ring, Tree, PAT, NVLS and NVLSTree",
                       nccl_.version().to_string());
  }

 private:
  [[nodiscard]] Config tuned(const Call& call, NcclCollective collective) const {
    const NcclChoice choice = nccl_.choose(collective, call.bytes, allowed_);
    // NCCL runs all steps of a chunk before the next chunk. The slices of a chunk follow each other
    // so closely that a step's latency is paid once per chunk.
    const std::uint64_t slices_a_chunk =
        std::max<std::uint64_t>(1, (choice.chunk_bytes + choice.slice_bytes - 1) /
                                       std::max<std::uint64_t>(1, choice.slice_bytes));
    return {.algorithm = std::string(program_of(choice.algorithm)),
            .protocol = choice.protocol,
            .channels = choice.channels,
            .threads = choice.threads,
            // A slot holds the slices that PAT aggregates.
            .tile_bytes =
                choice.algorithm == NcclAlgorithm::Pat ? choice.slice_bytes : choice.chunk_bytes,
            .slots = std::max(2, choice.slices / static_cast<int>(slices_a_chunk))};
  }

  [[nodiscard]] Config sends(const Call& call) const {
    const auto peers = call.collective == CollectiveKind::AllToNext
                           ? 1
                           : static_cast<std::uint64_t>(fabric_->ranks());
    const NcclP2pChoice choice = nccl_p2p(nccl_.version(), nccl_.comm(), call.bytes / peers);
    // A channel's block divides its warps among the peers that it serves, up to eight at a time
    // (src/collectives/device/sendrecv.h).
    constexpr std::uint64_t kAtOnce = 8;
    const std::uint64_t messages = peers * static_cast<std::uint64_t>(choice.channels);
    const auto all = static_cast<std::uint64_t>(std::max(1, nccl_.comm().channels));
    const std::uint64_t shared_by = std::clamp<std::uint64_t>(messages / all, 1, kAtOnce);
    return {.algorithm = "naive",
            .protocol = choice.protocol,
            .channels = choice.channels,
            .threads = choice.threads / static_cast<int>(shared_by),
            .tile_bytes = choice.chunk_bytes,
            .slots = choice.slices};
  }

  std::shared_ptr<const Fabric> fabric_;
  CostModel cost_model_;
  NcclAlgorithmSet allowed_;
  NcclDefault nccl_;
};

}  // namespace

NcclAlgorithmSet simulated_nccl_algorithms() {
  NcclAlgorithmSet set;
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    set[a] = !program_of(static_cast<NcclAlgorithm>(a)).empty();
  }
  return set;
}

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program) {
  for (std::size_t a = 0; a < kNcclAlgorithms && !program.empty(); ++a) {
    const auto algorithm = static_cast<NcclAlgorithm>(a);
    if (program_of(algorithm) == program) return algorithm;
  }
  return std::nullopt;
}

std::optional<NcclCollective> nccl_collective(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return NcclCollective::AllReduce;
    case CollectiveKind::AllGather:
      return NcclCollective::AllGather;
    case CollectiveKind::ReduceScatter:
      return NcclCollective::ReduceScatter;
    case CollectiveKind::Broadcast:
      return NcclCollective::Broadcast;
    case CollectiveKind::Reduce:
      return NcclCollective::Reduce;
    default:
      return std::nullopt;
  }
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site,
                                                     const NcclAlgorithmSet& allowed) {
  try {
    const NcclVersion version = argument.empty() ? kNewestNccl : parse_nccl_version(argument);
    return std::make_unique<const NcclDefaultTuner>(version, site, allowed);
  } catch (const UserError& error) {
    throw UserError(site.where, error.what());
  }
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site) {
  return make_nccl_default_tuner(argument, site, simulated_nccl_algorithms());
}

}  // namespace cclgym
