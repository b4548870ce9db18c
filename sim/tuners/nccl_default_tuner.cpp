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
#include "core/units.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "cost_models/symmetric/nccl_symmetric.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

namespace {

// The program of grouped sends and receives.
constexpr std::string_view kSends = "naive";

// The only CollNet algorithm of 2.8.4 is a chain.
constexpr std::string_view kOnlyCollNet = "collnet-chain";
bool is_only_collnet(const NcclVersion& version, NcclAlgorithm algorithm) {
  return family(version) == NcclFamily::V2_8 && algorithm == NcclAlgorithm::CollNetDirect;
}

// The communicator under a forced protocol: NCCL_PROTO=LL128 is obeyed where NCCL does not trust
// LL128 by itself (src/graph/tuning.cc).
NcclComm comm_under(const Fabric& fabric, const NcclVersion& version,
                    std::optional<Protocol> protocol) {
  NcclComm comm = nccl_comm_for(fabric, version);
  if (protocol && *protocol == Protocol::LL128) comm.ll128 = true;
  return comm;
}

// Restrictions of the choice, and properties of its calls.
struct NcclRules {
  NcclAlgorithmSet allowed;
  std::optional<Protocol> protocol{};
  bool symmetric = false;  // buffers are registered in symmetric windows
};

class NcclDefaultTuner : public Tuner {
 public:
  NcclDefaultTuner(const NcclVersion& version, const TunerSite& site, const NcclRules& rules)
      : allowed_(rules.allowed & simulated_nccl_algorithms()),
        protocol_(rules.protocol),
        nccl_(version, comm_under(*site.fabric, version, rules.protocol)),
        symmetric_(rules.symmetric && uses_symmetric_memory(version, nccl_.comm())),
        fabric_without_symmetric_(rules.symmetric && !symmetric_ ? site.fabric->name() : "") {}

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return collective != CollectiveKind::Custom;
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    if (!chooses_for(call.collective)) {
      throw UserError("NCCL's default choice: NCCL has no custom collectives");
    }
    if (const auto choice = symmetric_choice(call)) return symmetric_config(*choice);
    const auto collective = nccl_collective(call.collective);
    return collective ? tuned(call, *collective)
                      : nccl_sends_config(nccl_.version(), nccl_.comm(), call);
  }

  [[nodiscard]] std::string note(const Call& call) const override {
    const std::string version = nccl_.version().to_string();
    if (kNewestNccl < nccl_.version()) {
      const std::string newest = kNewestNccl.to_string();
      return fmt::format(
          "NCCL {} is newer than {}, the newest release with which the choice was compared; it is "
          "that of {}",
          version, newest, newest);
    }
    if (!fabric_without_symmetric_.empty()) {
      return fmt::format(
          "NCCL {} has kernels for symmetric memory only on one node with NVLink between all of "
          "its GPUs, unlike fabric '{}'; its ordinary kernels carry out the calls",
          version, fabric_without_symmetric_);
    }
    if (!symmetric_ || symmetric_choice(call)) return {};
    return fmt::format(
        "NCCL {} has no kernel for symmetric memory for {} of {}; an ordinary kernel carries out "
        "the call",
        version, to_string(call.collective), format_bytes(call.bytes));
  }

  [[nodiscard]] std::string description() const override {
    std::string among = nccl_.comm().collnet ? "Ring, Tree, PAT, NVLS, NVLSTree and CollNet"
                                             : "Ring, Tree, PAT, NVLS and NVLSTree";
    if (allowed_.count() == 1) {
      for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
        if (allowed_[a]) among = to_string(static_cast<NcclAlgorithm>(a));
      }
    }
    return fmt::format("default choice of NCCL {} among {}{}{}", nccl_.version().to_string(),
                       symmetric_ ? "its kernels for symmetric memory, then " : "", among,
                       protocol_ ? fmt::format(" with protocol {}", to_string(*protocol_)) : "");
  }

 private:
  [[nodiscard]] std::optional<SymmetricChoice> symmetric_choice(const Call& call) const {
    const auto collective = nccl_collective(call.collective);
    if (!collective || !symmetric_) return std::nullopt;
    return choose_symmetric(nccl_.version(), nccl_.comm(), *collective, call.bytes);
  }

  [[nodiscard]] Config tuned(const Call& call, NcclCollective collective) const {
    const NcclChoice choice = nccl_.choose(collective, call.bytes, allowed_, protocol_);
    Config config = nccl_config(choice);
    if (is_only_collnet(nccl_.version(), choice.algorithm)) config.algorithm = kOnlyCollNet;
    return config;
  }

  NcclAlgorithmSet allowed_;
  std::optional<Protocol> protocol_;
  NcclDefault nccl_;
  bool symmetric_;
  std::string fabric_without_symmetric_;  // name, if symmetric memory is asked for in vain
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

Config symmetric_config(const SymmetricChoice& choice) {
  Config config{.channels = choice.channels, .threads = kSymmetricThreads};
  switch (choice.access) {
    case SymmetricAccess::Lines:
    case SymmetricAccess::SwitchedLines:
      config.algorithm =
          choice.access == SymmetricAccess::Lines ? "symmetric-ll" : "symmetric-llmc";
      config.protocol = Protocol::LL;
      config.tile_bytes = 8 * kSymmetricThreads;  // a line of each thread
      break;
    case SymmetricAccess::LoadStore:
      config.algorithm = "symmetric-ldst";  // loads and stores fill the links in turn
      break;
    case SymmetricAccess::SwitchedLoadStore:
      config.algorithm = "symmetric-ldstmc";
      config.tile_bytes = 128 * kSymmetricThreads;  // 8 loads of 16 B of each thread
      break;
  }
  return config;
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
  return {.algorithm = std::string(kSends),
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

bool is_of_nccl(std::string_view program, std::string_view tuner) {
  const bool by_default = tuner.starts_with("nccl-default") || tuner.starts_with("rccl-default");
  const std::optional<NcclAlgorithm> algorithm = nccl_algorithm(program);
  const bool collnet =
      algorithm == NcclAlgorithm::CollNetDirect || algorithm == NcclAlgorithm::CollNetChain;
  return (algorithm && !collnet) || (by_default && program == kSends);
}

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program, const NcclVersion& version) {
  if (family(version) != NcclFamily::V2_8) return nccl_algorithm(program);
  if (program == kOnlyCollNet) return NcclAlgorithm::CollNetDirect;
  return program == program_of(NcclAlgorithm::CollNetDirect) ? std::nullopt
                                                             : nccl_algorithm(program);
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

constexpr std::string_view kSymmetric = "symmetric";

Protocol protocol_named(std::string_view name) {
  if (const auto protocol = parse_protocol(name)) return *protocol;
  std::vector<std::string> names;
  for (const Protocol each : all_protocols()) names.emplace_back(to_string(each));
  names.emplace_back(kSymmetric);
  throw UserError(unknown_name_message("protocol", name, names));
}

// Checks the parts of VERSION:symmetric.
void check_symmetric(const std::vector<std::string_view>& parts, const NcclVersion& version) {
  if (parts.size() > 2) {
    const std::string_view other = parts[1] == kSymmetric ? parts[2] : parts[1];
    throw UserError(fmt::format(
        "found {} beside '{}', whose kernels NCCL chooses itself; expected {}:{}, or leave '{}' "
        "out",
        quoted(other), kSymmetric, parts[0], kSymmetric, kSymmetric));
  }
  if (version < kFirstSymmetric) {
    throw UserError(fmt::format(
        "NCCL {} has no kernels for symmetric memory; they came with {} (nearest: {}:{})",
        version.to_string(), kFirstSymmetric.to_string(), kFirstSymmetric.to_string(), kSymmetric));
  }
}

NcclAlgorithmSet only_algorithm(std::string_view name, const NcclVersion& version) {
  if (const auto algorithm = nccl_algorithm(name, version)) {
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

std::optional<NcclVersion> nccl_release_of(std::string_view tuner) {
  const std::vector<std::string_view> parts = split(tuner, ':');
  if (parts[0] != "nccl-default") return std::nullopt;
  return parts.size() < 2 || parts[1].empty() ? kNewestNccl : parse_nccl_version(parts[1]);
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site,
                                                     const NcclAlgorithmSet& allowed) {
  try {
    const std::vector<std::string_view> parts = split(argument, ':');
    if (parts.size() > 3) {
      throw UserError(fmt::format("found {}; expected VERSION[:PROTOCOL[:ALGORITHM]] or VERSION:{}",
                                  quoted(argument), kSymmetric));
    }
    const NcclVersion version = parts[0].empty() ? kNewestNccl : parse_nccl_version(parts[0]);
    NcclRules rules{.allowed = allowed};
    rules.symmetric = parts.size() > 1 && std::ranges::find(parts, kSymmetric) != parts.end();
    if (rules.symmetric) check_symmetric(parts, version);
    const bool any_protocol = parts.size() == 3 && parts[1].empty();
    if (parts.size() > 1 && !rules.symmetric && !any_protocol) {
      rules.protocol = protocol_named(parts[1]);
    }
    if (parts.size() > 2) rules.allowed &= only_algorithm(parts[2], version);
    return std::make_unique<const NcclDefaultTuner>(version, site, rules);
  } catch (const UserError& error) {
    throw UserError(site.where, error.what());
  }
}

std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site) {
  return make_nccl_default_tuner(argument, site, simulated_nccl_algorithms());
}

}  // namespace cclgym
