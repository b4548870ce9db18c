#include "sim/config_checks.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "collectives/compiler/resident_blocks.hpp"
#include "collectives/library/logical_rings.hpp"
#include "collectives/library/program_entry.hpp"
#include "cost_models/nccl/nccl_tree_pattern.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

bool limits_blocks(const CostModel& model) { return !model.hockney && model.max_thread_blocks > 0; }

void require_resident(const ProgramOutline& program, const CostModel& model, int threads) {
  if (!limits_blocks(model)) return;
  const std::int64_t blocks = program.launched_blocks();
  const int limit = model.resident_thread_blocks(threads);
  if (blocks <= limit) return;
  throw UserError(fmt::format(
      "program '{}' needs {} thread blocks on a GPU; cost model {} runs {} of {} threads at once",
      program.name, blocks, model.name, limit, threads));
}

AlgorithmRequest request_of(const AlgorithmEntry& algorithm, const Call& call, const Config& config,
                            const Fabric& fabric, const CostModel& model,
                            const std::vector<std::vector<int>>& rings) {
  AlgorithmRequest request{.collective = call.collective,
                           .ranks = fabric.ranks(),
                           .channels = config.channels,
                           .root = call.root,
                           .rings = rings,
                           .ranks_per_server = fabric.ranks_per_server().value_or(0),
                           .tree_children = child_places(tree_pattern(fabric)),
                           .tree_orders = tree_orders(fabric)};
  // The simulation covers the program that would be deployed. Under model "hockney" a sender is
  // busy until its message has arrived, so that a fused step would end too late for steps that wait
  // only for its receive.
  if (!model.hockney) request.compile = deployed_compile_options(algorithm);
  request.compile.instances = config.instances;
  if (config.slots == 1) request.compile.slots = 1;
  return request;
}

std::string check_config(const AlgorithmLibrary& library, const Call& call, const Config& config,
                         int ranks) {
  const AlgorithmEntry& algorithm = library.at(config.algorithm);
  if (!supports(algorithm, call.collective)) {
    return fmt::format("algorithm '{}' has no {}; it has {}", config.algorithm,
                       to_string(call.collective), collectives_text(algorithm));
  }
  if (const auto reason = check_ranks(algorithm, ranks)) return *reason;
  if (config.channels < 1) return fmt::format("channels must be >= 1, found {}", config.channels);
  if (config.instances < 1) {
    return fmt::format("instances must be >= 1, found {}", config.instances);
  }
  if (config.threads < 1) return fmt::format("threads must be >= 1, found {}", config.threads);
  if (config.slots < 0 || config.slots > kMostSlots) {
    return fmt::format("slots must be 0 (unbounded) to {}, found {}", kMostSlots, config.slots);
  }
  if (call.root < 0 || call.root >= ranks) {
    return fmt::format("root must be a rank from 0 to {}, found {}", ranks - 1, call.root);
  }
  if (const auto reason =
          check_fixed_program(algorithm, config.channels, config.instances, call.root)) {
    return *reason;
  }
  if (config.slots > 0 && config.slots < algorithm.min_slots) {
    return fmt::format(
        "program '{}' deadlocks where a connection holds {} message{}; expected "
        "slots 0 (unbounded) or at least {}",
        config.algorithm, config.slots, config.slots == 1 ? "" : "s", algorithm.min_slots);
  }
  return {};
}

std::string check_switches(const AlgorithmEntry& algorithm, const Fabric& fabric) {
  if (algorithm.switches == SwitchUse::None) return {};
  if (algorithm.switches == SwitchUse::Network && fabric.servers() < 2) {
    return fmt::format("{} needs switches between nodes, and fabric '{}' has one node",
                       algorithm.name, fabric.name());
  }
  const bool inside = algorithm.switches != SwitchUse::Network &&
                      fabric.ranks_per_server().value_or(fabric.ranks()) > 1;
  const bool between = algorithm.switches != SwitchUse::InServers && fabric.servers() > 1;
  for (const NodeKind kind : {NodeKind::NvSwitch, NodeKind::NetworkSwitch}) {
    if (kind == NodeKind::NvSwitch ? !inside : !between) continue;
    const auto computes = [&](const Node& node) { return node.kind != kind || node.computes; };
    const auto is_one = [&](const Node& node) { return node.kind == kind; };
    if (std::ranges::any_of(fabric.nodes(), is_one) &&
        std::ranges::all_of(fabric.nodes(), computes)) {
      continue;
    }
    return fmt::format("{} needs switches that copy and add, and fabric '{}' has no such {}",
                       algorithm.name, fabric.name(), to_string(kind));
  }
  return {};
}

std::string check_nics(const CostTraits& traits, const Fabric& fabric) {
  if (traits.nic == NicUse::Fabric || fabric.bindable()) return {};
  return fmt::format(
      "nic={}, but the GPUs of fabric '{}' have no choice of NICs (option nic_binding); expected "
      "nic=fabric",
      to_string(traits.nic), fabric.name());
}

std::string check_resident(const AlgorithmLibrary& library, const Call& call, const Config& config,
                           const Fabric& fabric, const CostModel& cost_model) {
  KnownBlocks known;
  return check_resident(library, call, config, fabric, cost_model, known);
}

std::string check_resident(const AlgorithmLibrary& library, const Call& call, const Config& config,
                           const Fabric& fabric, const CostModel& cost_model, KnownBlocks& known) {
  const AlgorithmEntry& algorithm = library.at(config.algorithm);
  if (std::string reason = check_switches(algorithm, fabric); !reason.empty()) return reason;
  if (const std::string reason = check_nics(algorithm.traits, fabric); !reason.empty()) {
    return fmt::format("{}: {}", algorithm.name, reason);
  }
  AlgorithmRequest request = request_of(algorithm, call, config, fabric, cost_model, {});
  if (const auto reason = check_request(algorithm, request)) return *reason;
  if (!limits_blocks(cost_model)) return {};
  const int limit = cost_model.resident_thread_blocks(config.threads);
  const bool nccl = algorithm.traits.runtime == Runtime::Nccl;
  // Number of blocks if they join the chunks that they pass on; otherwise there are half to twice
  // as many.
  if (!nccl && !known.joined) known.joined = thread_blocks_per_gpu(algorithm, request);
  const std::int64_t joined =
      std::int64_t{config.instances} * (nccl ? config.channels : *known.joined);
  const bool exact = nccl || algorithm.fixed();
  if ((exact ? 1 : 2) * joined <= limit) return {};
  std::int64_t needed = exact ? joined : (joined + 1) / 2;
  const bool at_least = !exact && needed > limit;
  if (!at_least && !exact) {
    const bool same = known.instances == config.instances;
    if (!known.compiled || !(same || known.compiled->by_instance)) {
      request.rings = logical_rings(fabric);
      known.compiled =
          compiled_resident_blocks(trace_algorithm(algorithm, request), request.compile);
      known.instances = config.instances;
    }
    needed = known.compiled->count * config.instances / known.instances;
    if (needed <= limit) return {};
  }
  return fmt::format(
      "{} with {} channel{}{} needs {}{} thread blocks per GPU; cost model {} runs {} of {} "
      "threads at once",
      config.algorithm, config.channels, config.channels == 1 ? "" : "s",
      config.instances == 1 ? "" : fmt::format(" and {} instances", config.instances),
      at_least ? "at least " : "", needed, cost_model.name, limit, config.threads);
}

std::string check_size(CollectiveKind collective, std::uint64_t bytes, int ranks,
                       int element_bytes) {
  if (bytes == 0) return "a size must be > 0";
  const int slices = size_granularity(collective, ranks);
  const auto unit = static_cast<std::uint64_t>(slices) * static_cast<std::uint64_t>(element_bytes);
  if (bytes % unit == 0) return {};
  const std::uint64_t below = bytes / unit * unit;
  return fmt::format("{} of {} B is not a multiple of {} B ({}{} B elements); nearest: {}{} B",
                     to_string(collective), bytes, unit,
                     slices > 1 ? fmt::format("{} ranks x ", slices) : std::string(), element_bytes,
                     below > 0 ? fmt::format("{} or ", below) : std::string(), below + unit);
}

std::uint64_t rounded_size(CollectiveKind collective, std::uint64_t bytes, int ranks,
                           int element_bytes) {
  if (check_size(collective, bytes, ranks, element_bytes).empty()) return bytes;
  // nccl-tests, src/all_gather.cu: the bytes of a rank are a multiple of 16.
  constexpr std::uint64_t kAlignedBytes = 16;
  const auto parts = static_cast<std::uint64_t>(size_granularity(collective, ranks));
  const std::uint64_t part = bytes / parts;
  const std::uint64_t unit = parts > 1 && part >= kAlignedBytes
                                 ? kAlignedBytes
                                 : static_cast<std::uint64_t>(element_bytes);
  return part / unit * unit * parts;
}

std::string rounding_text(CollectiveKind collective, std::uint64_t bytes, int ranks,
                          std::uint64_t rounded) {
  return fmt::format("{} of {} B on {} ranks runs with {} B", to_string(collective), bytes, ranks,
                     rounded);
}

}  // namespace cclgym
