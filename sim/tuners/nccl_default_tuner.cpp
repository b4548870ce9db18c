#include "sim/tuners/nccl_default_tuner.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/split.hpp"
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

// The communicator under a forced protocol: NCCL_PROTO=LL128 is obeyed where NCCL does not trust
// LL128 by itself (src/graph/tuning.cc).
NcclComm comm_under(const Fabric& fabric, const NcclVersion& version,
                    std::optional<Protocol> protocol) {
  NcclComm comm = nccl_comm_for(fabric, version);
  if (protocol && *protocol == Protocol::LL128) comm.ll128 = true;
  return comm;
}

class NcclDefaultTuner : public Tuner {
 public:
  NcclDefaultTuner(const NcclVersion& version, const TunerSite& site,
                   const NcclAlgorithmSet& allowed, std::optional<Protocol> protocol)
      : allowed_(allowed & simulated_nccl_algorithms()),
        protocol_(protocol),
        nccl_(version, comm_under(*site.fabric, version, protocol)) {}

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
    std::string among = "Ring, Tree, PAT, NVLS and NVLSTree";
    if (allowed_.count() == 1) {
      for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
        if (allowed_[a]) among = to_string(static_cast<NcclAlgorithm>(a));
      }
    }
    return fmt::format("default choice of NCCL {} among {}{}", nccl_.version().to_string(), among,
                       protocol_ ? fmt::format(" with protocol {}", to_string(*protocol_)) : "");
  }

 private:
  [[nodiscard]] Config tuned(const Call& call, NcclCollective collective) const {
    const NcclChoice choice = nccl_.choose(collective, call.bytes, allowed_, protocol_);
    return nccl_config(choice);
  }

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

namespace {

Protocol protocol_named(std::string_view name) {
  if (const auto protocol = parse_protocol(name)) return *protocol;
  std::vector<std::string> names;
  for (const Protocol each : all_protocols()) names.emplace_back(to_string(each));
  throw UserError(unknown_name_message("protocol", name, names));
}

NcclAlgorithmSet only_algorithm(std::string_view name) {
  if (const auto algorithm = nccl_algorithm(name)) {
    return NcclAlgorithmSet{1ULL << static_cast<std::size_t>(*algorithm)};
  }
  std::vector<std::string> names;
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    const std::string_view program = program_of(static_cast<NcclAlgorithm>(a));
    if (!program.empty()) names.emplace_back(program);
  }
  throw UserError(unknown_name_message("algorithm of NCCL", name, names));
}

}  // namespace

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site,
                                                     const NcclAlgorithmSet& allowed) {
  try {
    const std::vector<std::string_view> parts = split(argument, ':');
    if (parts.size() > 3) {
      throw UserError(
          fmt::format("found {}; expected VERSION[:PROTOCOL[:ALGORITHM]]", quoted(argument)));
    }
    const NcclVersion version = parts[0].empty() ? kNewestNccl : parse_nccl_version(parts[0]);
    std::optional<Protocol> protocol;
    if (parts.size() > 1) protocol = protocol_named(parts[1]);
    return std::make_unique<const NcclDefaultTuner>(
        version, site, parts.size() > 2 ? allowed & only_algorithm(parts[2]) : allowed, protocol);
  } catch (const UserError& error) {
    throw UserError(site.where, error.what());
  }
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site) {
  return make_nccl_default_tuner(argument, site, simulated_nccl_algorithms());
}

}  // namespace cclgym
