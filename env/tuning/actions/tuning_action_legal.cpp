// Enumeration of the legal actions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "collectives/library/algorithm_library.hpp"
#include "core/index.hpp"
#include "core/parallel.hpp"
#include "core/tasks/run_tasks.hpp"
#include "env/tuning/actions/knob_levels.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "sim/config_checks.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

// Checks whether programs that differ only in threads and protocol fit on the GPUs. Counting the
// thread blocks is slow, so results are reused: the fewer threads a block has, the more blocks fit.
class ResidentCheck {
 public:
  /// `known`: blocks of the program on these channels; [1] with one slot.
  ResidentCheck(const CallSite& site, CollectiveKind collective, std::array<KnownBlocks, 2>& known)
      : site_(site), call_{.collective = collective, .bytes = 0}, known_(known) {}

  bool fits(const PlainConfig& plain) {
    const Fabric& fabric = *site_.fabrics.front();
    const int limit = site_.cost_model.resident_thread_blocks(plain.threads);
    if (limit != 0 && limit <= too_few_) return false;
    if (limit == 0 || limit >= enough_) return true;
    const Config config = full_config(site_.algorithms, plain);
    KnownBlocks& known = known_[config.slots == 1 ? 1 : 0];
    const bool fit =
        check_config(site_.algorithms, call_, config, fabric.ranks()).empty() &&
        check_resident(site_.algorithms, call_, config, fabric, site_.cost_model, known).empty();
    (fit ? enough_ : too_few_) = limit;
    return fit;
  }

 private:
  const CallSite& site_;
  Call call_;
  std::array<KnownBlocks, 2>& known_;
  int too_few_ = 0;
  int enough_ = std::numeric_limits<int>::max();
};

}  // namespace

TuningActions::Legal TuningActions::enumerate(CollectiveKind collective, bool large) const {
  Legal legal;
  legal.programs.assign(levels(Knob::Algorithm).size() * levels(Knob::Inter).size(), -1);
  for (std::size_t tuner = 0; tuner < tuners_.size(); ++tuner) {
    if (!tuners_[tuner] || !tuners_[tuner]->chooses_for(collective)) continue;
    Levels levels{};
    levels[at(Knob::Algorithm)] = static_cast<std::int32_t>(tuner);
    if (allowed(Knob::Algorithm, levels[at(Knob::Algorithm)])) add_action(levels, legal);
  }
  add_programs(collective, legal);
  add_schedules(collective, legal);
  if (profile_ == ActionProfile::OpenMpi) add_openmpi_programs(collective, legal);
  if (profile_ == ActionProfile::Pccl) add_pccl_plans(collective, large, legal);
  index(legal);
  return legal;
}

// On a large machine most of the time is spent compiling programs to count their thread blocks,
// which needs nothing of the other programs.
void TuningActions::add_programs(CollectiveKind collective, Legal& legal) const {
  constexpr int kLarge = 32;  // ranks
  std::vector<Legal> parts(programs_.size());
  const std::size_t threads = site_->fabrics.front()->ranks() < kLarge ? 1 : usable_cores();
  for_each_index(programs_.size(), threads, [&](std::size_t i) {
    parts[i].programs.assign(legal.programs.size(), -1);
    add_program(collective, programs_[i], parts[i]);
  });
  for (const Legal& part : parts) {
    legal.actions.insert(legal.actions.end(), part.actions.begin(), part.actions.end());
    for (std::size_t place = 0; place < part.programs.size(); ++place) {
      if (part.programs[place] >= 0) legal.programs[place] = part.programs[place];
    }
  }
}

void TuningActions::add_program(CollectiveKind collective, const TunedProgram& program,
                                Legal& legal) const {
  const AlgorithmEntry& entry = entry_of(program);
  const Fabric& fabric = *site_->fabrics.front();
  if (!supports(entry, collective) || check_ranks(entry, fabric.ranks()) ||
      check_request(entry, {.ranks = fabric.ranks(),
                            .ranks_per_server = fabric.ranks_per_server().value_or(0)}) ||
      !check_switches(entry, fabric).empty()) {
    return;
  }
  // Calls of rooted collectives have root 0.
  if (entry.fixed() && is_rooted(collective) && entry.program->contract.root() != 0) return;
  if (program.inter != kFlat && (fabric.servers() < 2 || !fabric.ranks_per_server())) return;
  Levels levels{};
  levels[at(Knob::Algorithm)] = level_index(this->levels(Knob::Algorithm), program.algorithm);
  levels[at(Knob::Inter)] = level_index(this->levels(Knob::Inter), program.inter);
  legal.programs[place_of(levels)] = program.index;
  for (const Knob knob : {Knob::Algorithm, Knob::Inter}) {
    if (!allowed(knob, levels[at(knob)])) return;
  }
  add_configurations(collective, program.index, levels, legal);
}

// Adds all actions of a program, of which `levels` has algorithm and inter, and for a schedule also
// instances.
void TuningActions::add_configurations(CollectiveKind collective, std::uint16_t program,
                                       Levels levels, Legal& legal) const {
  const AlgorithmEntry& entry = site_->algorithms.entries()[program];
  const bool interpreted = entry.traits.runtime == Runtime::Interpreter;
  const bool offline = profile_ == ActionProfile::Offline;
  const bool chunks =
      offline || (profile_ == ActionProfile::Nccl230 && (!offer_ || offer_->sets_chunks()));
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
      const PlainConfig config = config_of(collective, program, levels);
      if (!chunk_fits(chunk, collective, config)) return;
      const int slots = config.slots;
      if (slots > 0 && slots < entry.min_slots) return;
      each(Knob::Nic, offline ? site_->fabrics.size() : 1,
           [&](std::size_t) { add_action(levels, legal); });
    });
  };
  const std::size_t instances =
      entry.fixed() ? 0 : (offline && interpreted ? std::size(kInstances) : 1);
  each(Knob::Channels, entry.fixed() ? 0 : std::size(kChannels), [&](std::size_t channels) {
    std::array<KnownBlocks, 2> known;
    each(Knob::Instances, instances, [&](std::size_t r) {
      if (kChannels[channels] * kInstances[r] > kMostChannels) return;
      ResidentCheck resident(*site_, collective, known);
      each(Knob::Threads, offline ? std::size(kThreads) : 1, [&](std::size_t) {
        each(Knob::Protocol, kProtocols, [&](std::size_t protocol) {
          if (offer_ && !offer_->has(collective, entry.name, Protocol(protocol))) return;
          if (resident.fits(config_of(collective, program, levels))) with_chunks();
        });
      });
    });
  });
}

void TuningActions::add_schedules(CollectiveKind collective, Legal& legal) const {
  const std::size_t count = levels(Knob::Algorithm).size() - first_schedule_;
  legal.copies.assign(count * std::size(kInstances), -1);
  for (std::size_t i = 0; i < options_.synth.size(); ++i) {
    const CollectiveFront* front = options_.synth[i].front(collective);
    if (front == nullptr) continue;
    for (std::size_t k = 0; k < front->points.size(); ++k) {
      for (const FrontSchedule::Copies& copies : front->points[k].copies) {
        Levels levels{};
        levels[at(Knob::Algorithm)] =
            static_cast<std::int32_t>(first_schedule_ + i * SynthActions::kLevels + k);
        levels[at(Knob::Instances)] =
            level_index(this->levels(Knob::Instances), std::to_string(copies.count));
        if (levels[at(Knob::Instances)] < 0) continue;
        const auto program = static_cast<std::uint16_t>(site_->algorithms.index_of(copies.program));
        copies_at(legal, levels) = program;
        bool may = true;
        for (const Knob knob : {Knob::Algorithm, Knob::Instances}) {
          may = may && allowed(knob, levels[at(knob)]);
        }
        if (may) add_configurations(collective, program, levels, legal);
      }
    }
  }
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
      const PlainConfig config = config_of(collective, library, levels);
      if (find_openmpi_algorithm(collective, name, config.tile_bytes) == nullptr) continue;
      std::array<KnownBlocks, 2> known;
      if (!ResidentCheck(*site_, collective, known).fits(config)) continue;
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

}  // namespace cclgym
