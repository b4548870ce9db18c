#include "env/tuning/actions/tuning_action.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <stdexcept>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "core/units.hpp"
#include "env/tuning/actions/knob_levels.hpp"
#include "sim/call/config_options.hpp"
#include "sim/call/tiles.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

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

void add_level(std::vector<std::string>& levels, std::string_view name) {
  if (level_index(levels, name) < 0) levels.emplace_back(name);
}

}  // namespace

std::string_view to_string(Knob knob) {
  constexpr std::string_view kNames[] = {"algorithm", "inter",   "protocol", "channels",
                                         "instances", "threads", "chunk",    "nic",
                                         "hierarchy", "reduce",  "subcomms", "shuffle"};
  return kNames[at(knob)];
}

const std::vector<std::string>& action_profile_names() {
  static const std::vector<std::string> names{"stock-nccl", "nccl-2.30", "offline", "openmpi",
                                              "pccl"};
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
      // PCCL's actions have the vendor's library as a backend, so another vendor's is a mistake.
      if (profile_ == ActionProfile::Pccl && runs_there("rccl-default", where)) throw;
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
  if (profile_ == ActionProfile::Pccl) {
    knobs_ = {Knob::Algorithm};
    knobs_.insert(knobs_.end(), kPcclKnobs.begin(), kPcclKnobs.end());
  }
  name_levels();
  limit_levels(options.limits);
  offer_ = offer(options);
  std::vector<std::int32_t> counts;
  for (const Knob knob : knobs_) counts.push_back(static_cast<std::int32_t>(levels(knob).size()));
  space_ = MultiDiscrete(counts);
  schedules_.assign(site_->algorithms.entries().size(), nullptr);
  for (const SynthActions& item : options_.synth) {
    for (const CollectiveFront& front : item.fronts) {
      for (const FrontSchedule& point : front.points) {
        for (const FrontSchedule::Copies& copies : point.copies) {
          schedules_[site_->algorithms.index_of(copies.program)] = &point;
        }
      }
    }
  }
  const auto& wanted = options.collectives;
  if (profile_ == ActionProfile::Pccl) list_pccl_plans();
  const bool any_host = std::ranges::any_of(plans_, &EnginePlan::host);
  for (const CollectiveKind collective : all_collectives()) {
    const bool used = wanted.empty() || std::ranges::find(wanted, collective) != wanted.end();
    legal_.push_back(used ? enumerate(collective, false) : Legal{});
    if (any_host) {
      of_large_.push_back(used && is_reduction(collective) ? enumerate(collective, true) : Legal{});
    }
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
    if (profile_ == ActionProfile::Pccl) break;
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
  if (profile_ == ActionProfile::Pccl) {
    algorithms.emplace_back(kPcclEngine);
    for (const Knob knob : kPcclKnobs) levels_[at(knob)] = pccl_levels(knob);
  }
  first_schedule_ = algorithms.size();
  for (const SynthActions& item : options_.synth) {
    for (std::size_t i = 1; i <= SynthActions::kLevels; ++i) {
      algorithms.push_back(fmt::format("{}-{}", item.level_prefix(), i));
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
  if (profile_ != ActionProfile::Pccl) {
    levels_[at(Knob::Nic)] = {"fabric", "round-robin", "single-nic"};
  }
}

// OpenMPI's levels begin with undivided messages.
std::uint64_t TuningActions::chunk_of(std::size_t level) const {
  return kChunks[level + (profile_ == ActionProfile::OpenMpi ? 1 : 0)];
}

Config TuningActions::usual_tiles(CollectiveKind collective, const PlainConfig& config) const {
  return with_protocol_tiles(
      site_->cost_model, collective,
      {.algorithm = site_->algorithms.entries()[config.program].name, .protocol = config.protocol});
}

// `config` has this level. A level with the tiles of the level "protocol" is not another choice.
bool TuningActions::chunk_fits(std::size_t level, CollectiveKind collective,
                               const PlainConfig& config) const {
  const std::uint64_t chunk = chunk_of(level);
  if (chunk == kOfProtocolChunk) return true;
  const ProtocolCost& cost = site_->cost_model.protocols[static_cast<std::size_t>(config.protocol)];
  // Without slots, the level "protocol" is the same as "whole".
  if (site_->cost_model.hockney || cost.slot_bytes == 0 || cost.slots == 0) return false;
  if (chunk == kWholeChunk) return true;
  const Config usual = usual_tiles(collective, config);
  return 2 * chunk <= cost.slot_bytes * static_cast<std::uint64_t>(cost.slots) &&
         (usual.tile_bytes != chunk || usual.slots != config.slots);
}

// The size of a connection's FIFO is fixed; it holds more chunks if they are smaller.
void TuningActions::set_chunk(PlainConfig& config, CollectiveKind collective,
                              std::size_t level) const {
  const ProtocolCost& cost = site_->cost_model.protocols[static_cast<std::size_t>(config.protocol)];
  const std::uint64_t chunk = chunk_of(level);
  if (chunk == kWholeChunk) return;
  if (profile_ == ActionProfile::OpenMpi) {  // a socket takes any number of segments
    config.tile_bytes = chunk;
    return;
  }
  if (chunk == kOfProtocolChunk) {
    const Config usual = usual_tiles(collective, config);
    config.tile_bytes = usual.tile_bytes;
    config.slots = static_cast<std::uint8_t>(usual.slots);
    return;
  }
  const std::uint64_t fifo = cost.slot_bytes * static_cast<std::uint64_t>(cost.slots);
  config.tile_bytes = chunk;
  config.slots = static_cast<std::uint8_t>(std::clamp<std::uint64_t>(fifo / chunk, 1, kMostSlots));
}

PlainConfig TuningActions::config_of(CollectiveKind collective, std::uint16_t program,
                                     const Levels& levels) const {
  if (profile_ == ActionProfile::Pccl) return engine_config(program);
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
  if (entry.fixed()) {
    config.channels = static_cast<std::uint16_t>(entry.program->channels);
    config.instances = 1;  // copies of a schedule are programs of their own
  }
  if (config.threads == 0) {
    // Numbers for NCCL: NCCL_LL128_MAX_NTHREADS and NCCL_SIMPLE_MAX_NTHREADS
    // (src/include/device.h).
    const bool nccl = entry.traits.runtime == Runtime::Nccl;
    config.threads = nccl && config.protocol == Protocol::LL128 ? 640 : 512;
  }
  config.binding = static_cast<std::uint8_t>(level(Knob::Nic));
  set_chunk(config, collective, level(Knob::Chunk));
  return config;
}

}  // namespace cclgym
