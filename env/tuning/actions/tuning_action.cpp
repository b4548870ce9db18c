#include "env/tuning/actions/tuning_action.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <stdexcept>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "core/units.hpp"
#include "sim/call/config_options.hpp"
#include "sim/lowering/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kFlat = "flat";
constexpr std::string_view kHierarchical = "hierarchical";

// Algorithms of the library that are levels of the action, in the order of the levels: append new
// ones at the end.
constexpr std::string_view kTunedAlgorithms[] = {"ring",
                                                 "tree",
                                                 "pat",
                                                 "naive",
                                                 "all-pairs",
                                                 "one-step",
                                                 "recursive-doubling",
                                                 "recursive-halving",
                                                 "halving-doubling",
                                                 "spread-ring",
                                                 "chain",
                                                 "hierarchical",
                                                 "hierarchical-composed",
                                                 "hierarchical-all-pairs",
                                                 "two-step",
                                                 "two-step-composed",
                                                 "three-step",
                                                 "all-to-next",
                                                 "nvls",
                                                 "nvls-tree"};
constexpr std::size_t kMaxLevels = 32;  // bits of Prefix::values

constexpr std::int32_t kChannels[] = {1, 2, 4, 8, 16, 24, 32};
constexpr std::int32_t kInstances[] = {1, 2, 4, 8, 16, 24};
// Threads per thread block; 0 is NCCL's own number.
constexpr std::int32_t kThreads[] = {0, 256, 128, 64};
// Chunk sizes in bytes; 0 is the protocol's own chunk, 1 an undivided message.
constexpr std::uint64_t kOfProtocolChunk = 0;
constexpr std::uint64_t kWholeChunk = 1;
constexpr std::uint64_t kChunks[] = {kOfProtocolChunk, kWholeChunk, 32 << 10,
                                     128 << 10,        512 << 10,   2 << 20};
constexpr int kMostChannels = 32;

std::int32_t level_index(const std::vector<std::string>& levels, std::string_view name) {
  const auto found = std::ranges::find(levels, name);
  return found == levels.end() ? -1 : static_cast<std::int32_t>(found - levels.begin());
}

// Checks whether programs that differ only in threads and protocol fit on the GPUs. Counting the
// thread blocks is slow, so results are reused: the fewer threads a block has, the more blocks fit.
class ResidentCheck {
 public:
  ResidentCheck(const CallSite& site, CollectiveKind collective)
      : site_(site), call_{.collective = collective, .bytes = 0} {}

  bool fits(const PlainConfig& plain) {
    const Fabric& fabric = *site_.fabrics.front();
    const int limit = site_.cost_model.resident_thread_blocks(plain.threads);
    if (limit != 0 && limit <= too_few_) return false;
    if (limit == 0 || limit >= enough_) return true;
    const Config config = full_config(site_.algorithms, plain);
    const bool fit =
        check_config(site_.algorithms, call_, config, fabric.ranks()).empty() &&
        check_resident(site_.algorithms, call_, config, fabric, site_.cost_model).empty();
    (fit ? enough_ : too_few_) = limit;
    return fit;
  }

 private:
  const CallSite& site_;
  Call call_;
  int too_few_ = 0;
  int enough_ = std::numeric_limits<int>::max();
};

void add_level(std::vector<std::string>& levels, std::string_view name) {
  if (level_index(levels, name) < 0) levels.emplace_back(name);
}

}  // namespace

std::string_view to_string(Knob knob) {
  constexpr std::string_view kNames[] = {"algorithm", "inter",   "protocol", "channels",
                                         "instances", "threads", "chunk",    "nic"};
  return kNames[at(knob)];
}

const std::vector<std::string>& action_profile_names() {
  static const std::vector<std::string> names{"stock-nccl", "nccl-2.30", "offline", "openmpi"};
  return names;
}

std::vector<std::string> default_tuners(ActionProfile profile) {
  return {profile == ActionProfile::OpenMpi ? "openmpi-default" : "nccl-default"};
}

namespace {

bool runs_there(std::string_view tuner, const TunerSite& site) {
  try {
    (void)make_tuner(std::string(tuner), site);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

TuningActions::TuningActions(std::shared_ptr<const CallSite> site, const Options& options)
    : site_(std::move(site)),
      options_(options),
      tuner_names_(options.tuners),
      profile_(options.profile) {
  const TunerSite where{.fabric = site_->fabrics.front(),
                        .fabric_label = options.fabric_label,
                        .cost_model = site_->cost_model,
                        .where = options.where,
                        .algorithms = site_->algorithms,
                        .collectives = options.collectives};
  for (const std::string& name : tuner_names_) {
    if (!is_tuner(name)) (void)make_tuner(name, where);  // throws UserError
    try {
      tuners_.push_back(make_tuner(name, where));
    } catch (const UserError&) {
      // NCCL does not run on every fabric. A table that cannot be read is an error, and so is a
      // release that is not modelled if NCCL runs on the fabric.
      constexpr std::string_view kNewest = "nccl-default";
      if (!name.starts_with(kNewest) || runs_there(kNewest, where)) throw;
      tuners_.push_back(nullptr);
    }
  }
  list_programs(options);
  knobs_ = {Knob::Algorithm, Knob::Protocol, Knob::Channels};
  if (profile_ == ActionProfile::Nccl230) knobs_.push_back(Knob::Chunk);
  if (profile_ == ActionProfile::Offline) {
    knobs_ = {Knob::Algorithm, Knob::Inter,   Knob::Protocol, Knob::Channels,
              Knob::Instances, Knob::Threads, Knob::Chunk,    Knob::Nic};
  }
  if (profile_ == ActionProfile::OpenMpi) knobs_ = {Knob::Algorithm, Knob::Chunk};
  name_levels();
  limit_levels(options.limits);
  offer_ = offer(options);
  std::vector<std::int32_t> counts;
  for (const Knob knob : knobs_) counts.push_back(static_cast<std::int32_t>(levels(knob).size()));
  space_ = MultiDiscrete(counts);
  const auto& wanted = options.collectives;
  for (const CollectiveKind collective : all_collectives()) {
    const bool used = wanted.empty() || std::ranges::find(wanted, collective) != wanted.end();
    legal_.push_back(used ? enumerate(collective) : Legal{});
  }
}

void TuningActions::list_programs(const Options& options) {
  const auto program_of = [&](std::string_view name) {
    const std::size_t index = site_->algorithms.index_of(name);
    const AlgorithmEntry& entry = site_->algorithms.entries()[index];
    const bool flat = entry.across_servers.empty();
    return TunedProgram{.index = static_cast<std::uint16_t>(index),
                        .algorithm = flat ? entry.name : std::string(kHierarchical),
                        .inter = flat ? std::string(kFlat) : entry.across_servers};
  };
  for (const std::string_view name : kTunedAlgorithms) {
    TunedProgram program = program_of(name);
    add_level(levels_[at(Knob::Inter)], program.inter);
    const bool here = profile_ == ActionProfile::Offline ||
                      (profile_ != ActionProfile::OpenMpi && entry_of(program).in_nccl);
    if (here) programs_.push_back(std::move(program));
  }
  for (const std::string& name : options.programs) {
    TunedProgram program = program_of(name);
    const auto same = [&](const TunedProgram& other) { return other.index == program.index; };
    if (std::ranges::any_of(programs_, same)) {
      throw UserError(options.programs_where,
                      fmt::format("program {} is an action already", quoted(name)));
    }
    add_level(levels_[at(Knob::Inter)], program.inter);
    programs_.push_back(std::move(program));
  }
}

const AlgorithmEntry& TuningActions::entry_of(const TunedProgram& program) const {
  return site_->algorithms.entries()[program.index];
}

void TuningActions::name_levels() {
  std::vector<std::string>& algorithms = levels_[at(Knob::Algorithm)];
  algorithms = tuner_names_;
  for (const TunedProgram& program : programs_) add_level(algorithms, program.algorithm);
  if (profile_ == ActionProfile::OpenMpi) {
    for (const OpenMpiAlgorithm& row : openmpi_algorithms()) {
      add_level(algorithms, row.algorithm);
    }
  }
  if (algorithms.size() > kMaxLevels) {
    throw UserError(options_.programs_where,
                    fmt::format("the action has {} algorithms and tuners; expected at most {}",
                                algorithms.size(), kMaxLevels));
  }
  for (const Protocol protocol : all_protocols()) {
    levels_[at(Knob::Protocol)].emplace_back(to_string(protocol));
  }
  for (const std::int32_t channels : kChannels) {
    levels_[at(Knob::Channels)].push_back(std::to_string(channels));
  }
  for (const std::int32_t instances : kInstances) {
    levels_[at(Knob::Instances)].push_back(std::to_string(instances));
  }
  for (const std::int32_t threads : kThreads) {
    levels_[at(Knob::Threads)].push_back(threads == 0 ? "nccl" : std::to_string(threads));
  }
  for (const std::uint64_t chunk : kChunks) {
    if (profile_ == ActionProfile::OpenMpi && chunk == kOfProtocolChunk) continue;
    levels_[at(Knob::Chunk)].push_back(chunk == kOfProtocolChunk ? "protocol"
                                       : chunk == kWholeChunk    ? "whole"
                                                                 : format_bytes(chunk));
  }
  levels_[at(Knob::Nic)] = {"fabric", "round-robin", "single-nic"};
}

TuningActions::Legal TuningActions::enumerate(CollectiveKind collective) const {
  Legal legal;
  legal.programs.assign(levels(Knob::Algorithm).size() * levels(Knob::Inter).size(), -1);
  for (std::size_t tuner = 0; tuner < tuners_.size(); ++tuner) {
    if (!tuners_[tuner] || !tuners_[tuner]->chooses_for(collective)) continue;
    Levels levels{};
    levels[at(Knob::Algorithm)] = static_cast<std::int32_t>(tuner);
    if (allowed(Knob::Algorithm, levels[at(Knob::Algorithm)])) add_action(levels, legal);
  }
  for (const TunedProgram& program : programs_) add_program(collective, program, legal);
  if (profile_ == ActionProfile::OpenMpi) add_openmpi_programs(collective, legal);
  index(legal);
  return legal;
}

void TuningActions::add_program(CollectiveKind collective, const TunedProgram& program,
                                Legal& legal) const {
  const AlgorithmEntry& entry = entry_of(program);
  const Fabric& fabric = *site_->fabrics.front();
  if (!supports(entry, collective) || check_ranks(entry, fabric.ranks()) ||
      !check_switches(entry, fabric).empty()) {
    return;
  }
  // Calls of rooted collectives have root 0.
  if (entry.fixed() && is_rooted(collective) && entry.program->contract.root() != 0) return;
  if (program.inter != kFlat && (fabric.servers() < 2 || !fabric.ranks_per_server())) return;
  const bool interpreted = entry.traits.runtime == Runtime::Interpreter;
  const bool offline = profile_ == ActionProfile::Offline;
  const bool chunks = offline || profile_ == ActionProfile::Nccl230;
  const std::uint16_t library = program.index;
  Levels levels{};
  levels[at(Knob::Algorithm)] = level_index(this->levels(Knob::Algorithm), program.algorithm);
  levels[at(Knob::Inter)] = level_index(this->levels(Knob::Inter), program.inter);
  legal.programs[place_of(levels)] = library;
  for (const Knob knob : {Knob::Algorithm, Knob::Inter}) {
    if (!allowed(knob, levels[at(knob)])) return;
  }
  // Visits the levels that may be used; only the first one if the program has no such knob.
  const auto each = [&](Knob knob, std::size_t count, const auto& visit) {
    if (count == 0) return visit(std::size_t{0});
    for (std::size_t level = 0; level < count; ++level) {
      if (!allowed(knob, static_cast<std::int32_t>(level))) continue;
      levels[at(knob)] = static_cast<std::int32_t>(level);
      visit(level);
    }
    levels[at(knob)] = 0;
  };
  const auto with_chunks = [&] {
    each(Knob::Chunk, chunks ? std::size(kChunks) : 1, [&](std::size_t chunk) {
      if (!offline && chunk_of(chunk) == kWholeChunk) return;
      const auto protocol = static_cast<Protocol>(levels[at(Knob::Protocol)]);
      if (!chunk_fits(chunk, protocol)) return;
      const int slots = config_of(library, levels).slots;
      if (slots > 0 && slots < entry.min_slots) return;
      each(Knob::Nic, offline ? site_->fabrics.size() : 1,
           [&](std::size_t) { add_action(levels, legal); });
    });
  };
  const std::size_t instances =
      entry.fixed() ? 0 : (offline && interpreted ? std::size(kInstances) : 1);
  each(Knob::Channels, entry.fixed() ? 0 : std::size(kChannels), [&](std::size_t channels) {
    each(Knob::Instances, instances, [&](std::size_t r) {
      if (kChannels[channels] * kInstances[r] > kMostChannels) return;
      ResidentCheck resident(*site_, collective);
      each(Knob::Threads, offline ? std::size(kThreads) : 1, [&](std::size_t) {
        each(Knob::Protocol, kProtocols, [&](std::size_t protocol) {
          if (offer_ && !offer_->has(collective, entry.name, Protocol(protocol))) return;
          if (resident.fits(config_of(library, levels))) with_chunks();
        });
      });
    });
  });
}

void TuningActions::add_openmpi_programs(CollectiveKind collective, Legal& legal) const {
  const int ranks = site_->fabrics.front()->ranks();
  for (const std::string& name : levels(Knob::Algorithm)) {
    const AlgorithmEntry* entry = site_->algorithms.find(name);  // null for tuners
    if (entry == nullptr || !supports(*entry, collective) || check_ranks(*entry, ranks)) continue;
    Levels levels{};
    levels[at(Knob::Algorithm)] = level_index(this->levels(Knob::Algorithm), name);
    const auto library = static_cast<std::uint16_t>(site_->algorithms.index_of(name));
    for (std::size_t chunk = 0; chunk < this->levels(Knob::Chunk).size(); ++chunk) {
      levels[at(Knob::Chunk)] = static_cast<std::int32_t>(chunk);
      if (!allowed(Knob::Algorithm, levels[at(Knob::Algorithm)])) continue;
      if (!allowed(Knob::Chunk, levels[at(Knob::Chunk)])) continue;
      const PlainConfig config = config_of(library, levels);
      if (find_openmpi_algorithm(collective, name, config.tile_bytes) == nullptr) continue;
      if (!ResidentCheck(*site_, collective).fits(config)) continue;
      legal.programs[place_of(levels)] = library;
      add_action(levels, legal);
    }
  }
}

void TuningActions::add_action(const Levels& levels, Legal& legal) const {
  for (const Knob knob : knobs_) legal.actions.push_back(levels[at(knob)]);
}

// Sorts the actions and builds the tree of their prefixes: breadth first, so that the children of a
// node are consecutive.
void TuningActions::index(Legal& legal) const {
  const std::size_t n = knobs_.size();
  std::vector<std::span<const std::int32_t>> rows;
  for (std::size_t i = 0; i < legal.actions.size(); i += n) {
    rows.emplace_back(legal.actions.data() + i, n);
  }
  std::ranges::sort(rows,
                    [](auto a, auto b) { return std::ranges::lexicographical_compare(a, b); });
  std::vector<std::int32_t> sorted;
  for (const auto& row : rows) sorted.insert(sorted.end(), row.begin(), row.end());
  legal.actions = std::move(sorted);

  std::size_t offset = 0;
  std::vector<std::size_t> offsets;
  for (const Discrete& dimension : space_.dimensions) {
    offsets.push_back(offset);
    offset += static_cast<std::size_t>(dimension.n);
  }
  legal.marginal.assign(offset, 0);
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Range> ranges{{0, rows.size()}};
  for (std::size_t depth = 0; depth < n; ++depth) {
    std::vector<Range> below;
    std::size_t child = legal.prefixes.size() + ranges.size();
    for (const Range& range : ranges) {
      Prefix prefix{.first_child = static_cast<std::uint32_t>(child)};
      for (std::size_t row = range.begin; row < range.end;) {
        const std::int32_t value = legal.actions[row * n + depth];
        prefix.values |= 1U << static_cast<unsigned>(value);
        legal.marginal[offsets[depth] + static_cast<std::size_t>(value)] = 1;
        const std::size_t begin = row;
        while (row < range.end && legal.actions[row * n + depth] == value) ++row;
        below.push_back({begin, row});
        ++child;
      }
      legal.prefixes.push_back(prefix);
    }
    ranges = std::move(below);
  }
}

// OpenMPI's levels begin with undivided messages.
std::uint64_t TuningActions::chunk_of(std::size_t level) const {
  return kChunks[level + (profile_ == ActionProfile::OpenMpi ? 1 : 0)];
}

bool TuningActions::chunk_fits(std::size_t level, Protocol protocol) const {
  const std::uint64_t chunk = chunk_of(level);
  if (chunk == kOfProtocolChunk) return true;
  const ProtocolCost& cost = site_->cost_model.protocols[static_cast<std::size_t>(protocol)];
  // Without slots, the level "protocol" is the same as "whole".
  if (site_->cost_model.hockney || cost.slot_bytes == 0 || cost.slots == 0) return false;
  return chunk == kWholeChunk ||
         2 * chunk <= cost.slot_bytes * static_cast<std::uint64_t>(cost.slots);
}

// The size of a connection's FIFO is fixed; it holds more chunks if they are smaller.
void TuningActions::set_chunk(PlainConfig& config, std::size_t level) const {
  const ProtocolCost& cost = site_->cost_model.protocols[static_cast<std::size_t>(config.protocol)];
  const std::uint64_t chunk = chunk_of(level);
  if (chunk == kWholeChunk) return;
  if (profile_ == ActionProfile::OpenMpi) {  // a socket takes any number of segments
    config.tile_bytes = chunk;
    return;
  }
  if (chunk == kOfProtocolChunk) {
    config.tile_bytes = cost.tile_bytes();
    config.slots = static_cast<std::uint8_t>(cost.tile_slots());
    return;
  }
  const std::uint64_t fifo = cost.slot_bytes * static_cast<std::uint64_t>(cost.slots);
  config.tile_bytes = chunk;
  config.slots = static_cast<std::uint8_t>(std::clamp<std::uint64_t>(fifo / chunk, 1, kMostSlots));
}

PlainConfig TuningActions::config_of(std::uint16_t program, const Levels& levels) const {
  const auto level = [&](Knob knob) { return static_cast<std::size_t>(levels[at(knob)]); };
  const AlgorithmEntry& entry = site_->algorithms.entries()[program];
  PlainConfig config;
  config.program = program;
  config.protocol = profile_ == ActionProfile::OpenMpi
                        ? Protocol::Simple
                        : static_cast<Protocol>(level(Knob::Protocol));
  config.channels = static_cast<std::uint16_t>(kChannels[level(Knob::Channels)]);
  config.instances = static_cast<std::uint16_t>(kInstances[level(Knob::Instances)]);
  config.threads = static_cast<std::uint16_t>(kThreads[level(Knob::Threads)]);
  if (entry.fixed()) config.channels = static_cast<std::uint16_t>(entry.program->channels);
  if (config.threads == 0) {
    // Numbers for NCCL: NCCL_LL128_MAX_NTHREADS and NCCL_SIMPLE_MAX_NTHREADS
    // (src/include/device.h).
    const bool nccl = entry.traits.runtime == Runtime::Nccl;
    config.threads = nccl && config.protocol == Protocol::LL128 ? 640 : 512;
  }
  config.binding = static_cast<std::uint8_t>(level(Knob::Nic));
  set_chunk(config, level(Knob::Chunk));
  return config;
}

}  // namespace cclgym
