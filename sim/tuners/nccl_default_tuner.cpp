#include "sim/tuners/nccl_default_tuner.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
                   const NcclAlgorithmSet& allowed, std::optional<Protocol> protocol)
      : fabric_(site.fabric),
        cost_model_(site.cost_model),
        allowed_(allowed & simulated_nccl_algorithms()),
        protocol_(protocol),
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
    return collective ? tuned(call, *collective)
                      : nccl_sends_config(nccl_.version(), nccl_.comm(), call);
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("default choice of NCCL {} among Ring, Tree, PAT, NVLS and NVLSTree{}",
                       nccl_.version().to_string(),
                       protocol_ ? fmt::format(" with protocol {}", to_string(*protocol_)) : "");
  }

 private:
  [[nodiscard]] Config tuned(const Call& call, NcclCollective collective) const {
    const NcclChoice choice = nccl_.choose(collective, call.bytes, allowed_, protocol_);
    return nccl_config(choice);
  }

  std::shared_ptr<const Fabric> fabric_;
  CostModel cost_model_;
  NcclAlgorithmSet allowed_;
  std::optional<Protocol> protocol_;
  NcclDefault nccl_;
};

}  // namespace

Config nccl_config(const NcclChoice& choice) {
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

Config nccl_sends_config(const NcclVersion& version, const NcclComm& comm, const Call& call) {
  const auto peers =
      call.collective == CollectiveKind::AllToNext ? 1 : static_cast<std::uint64_t>(comm.ranks);
  const NcclP2pChoice choice = nccl_p2p(version, comm, call.bytes / peers);
  // A channel's block divides its warps among the peers that it serves, up to eight at a time
  // (src/collectives/device/sendrecv.h).
  constexpr std::uint64_t kAtOnce = 8;
  const std::uint64_t messages = peers * static_cast<std::uint64_t>(choice.channels);
  const auto all = static_cast<std::uint64_t>(std::max(1, comm.channels));
  const std::uint64_t shared_by = std::clamp<std::uint64_t>(messages / all, 1, kAtOnce);
  return {.algorithm = "naive",
          .protocol = choice.protocol,
          .channels = choice.channels,
          .threads = choice.threads / static_cast<int>(shared_by),
          .tile_bytes = choice.chunk_bytes,
          .slots = choice.slices};
}

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
    const std::size_t colon = std::min(argument.find(':'), argument.size());
    const std::string_view release = argument.substr(0, colon);
    std::optional<Protocol> protocol;
    if (colon < argument.size()) {
      const std::string_view name = argument.substr(colon + 1);
      protocol = parse_protocol(name);
      if (!protocol) {
        std::vector<std::string> names;
        for (const Protocol each : all_protocols()) names.emplace_back(to_string(each));
        throw UserError(unknown_name_message("protocol", name, names));
      }
    }
    const NcclVersion version = release.empty() ? kNewestNccl : parse_nccl_version(release);
    return std::make_unique<const NcclDefaultTuner>(version, site, allowed, protocol);
  } catch (const UserError& error) {
    throw UserError(site.where, error.what());
  }
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site) {
  return make_nccl_default_tuner(argument, site, simulated_nccl_algorithms());
}

}  // namespace cclgym
