#include "synthesis/teccl/epoch_program.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

EpochState EpochState::initial(const EpochGrid& grid, const Demand& demand) {
  EpochState state;
  state.held.assign(demand.chunks.size(), std::vector<char>(at(grid.timed.instance.ranks), 0));
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    state.held[chunk][at(demand.chunks[chunk].source)] = 1;
  }
  state.busy.assign(grid.timed.instance.limits.size(), 0);
  return state;
}

namespace {

// Columns of consecutive epochs.
struct EpochColumns {
  int first = 0;
  std::vector<int> columns{};

  [[nodiscard]] int end() const { return first + static_cast<int>(columns.size()); }
  // Column of an epoch; -1 outside the range.
  [[nodiscard]] int of(int epoch) const {
    return epoch < first || epoch >= end() ? -1 : columns[at(epoch - first)];
  }
};

class EpochProgram {
 public:
  EpochProgram(const EpochGrid& grid, const Demand& demand, const EpochState& state, int epochs,
               const EpochOptions& options, bool is_round)
      : grid_(grid),
        timed_(grid.timed),
        instance_(grid.timed.instance),
        demand_(demand),
        state_(state),
        epochs_(epochs),
        options_(options),
        is_round_(is_round),
        distance_(tick_distances(grid.timed)),
        hops_in_(instance_.hops_in()),
        flow_(demand.chunks.size() * instance_.hops.size()),
        buffer_(demand.chunks.size() * at(instance_.ranks)) {
    for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) add_columns(chunk);
    for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) add_chunk_rows(chunk);
    for (std::size_t limit = 0; limit < instance_.limits.size(); ++limit) add_capacity(limit);
  }

  EpochResult solve() {
    EpochResult result{.columns = program_.columns(), .rows = program_.rows()};
    if (!possible_) {
      result.status = MipStatus::Infeasible;
      return result;
    }
    const MipSolution solution = program_.solve(options_.deadline, options_.relative_gap);
    result.status = solution.status;
    if (solution.values.empty()) return result;
    result.objective = -solution.objective;
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      for (std::size_t hop = 0; hop < instance_.hops.size(); ++hop) {
        const EpochColumns& flow = flow_[chunk * instance_.hops.size() + hop];
        for (int epoch = flow.first; epoch < flow.end(); ++epoch) {
          if (solution.values[at(flow.of(epoch))] < 0.5) continue;
          result.schedule.sends.push_back({epoch, static_cast<int>(chunk), static_cast<int>(hop)});
        }
      }
    }
    std::ranges::sort(result.schedule.sends);
    return result;
  }

 private:
  const EpochGrid& grid_;
  const TimedInstance& timed_;
  const Instance& instance_;
  const Demand& demand_;
  const EpochState& state_;
  int epochs_;
  const EpochOptions& options_;
  bool is_round_;
  std::vector<std::vector<int>> distance_;
  std::vector<std::vector<int>> hops_in_;
  MixedIntegerProgram program_{};
  std::vector<EpochColumns> flow_;  // F, by (chunk, hop)
  std::vector<EpochColumns>
      buffer_;  // B, by (chunk, rank); empty if the rank holds it from the start
  bool possible_ = true;

  bool holds(std::size_t chunk, int rank) const { return state_.held[chunk][at(rank)] != 0; }
  double weight(std::size_t chunk) const {
    return options_.weights.empty() ? 1 : options_.weights[chunk];
  }
  EpochColumns& buffer(std::size_t chunk, int rank) {
    return buffer_[chunk * at(instance_.ranks) + at(rank)];
  }

  // First epoch at which a rank can hold a chunk.
  int earliest(std::size_t chunk, int rank) const {
    int epoch = kNeverTick;
    for (int holder = 0; holder < instance_.ranks; ++holder) {
      if (holds(chunk, holder)) epoch = std::min(epoch, distance_[at(holder)][at(rank)]);
    }
    for (const LateArrival& late : state_.late) {
      if (at(late.chunk) != chunk) continue;
      epoch = std::min(epoch, late.epoch + distance_[at(late.rank)][at(rank)]);
    }
    return epoch;
  }

  // Last epoch of use of a chunk at a rank. A round looks beyond its end.
  int last_use(std::size_t chunk, int rank) const {
    int nearest = kNeverTick;
    for (const int target : demand_.chunks[chunk].targets) {
      nearest = std::min(nearest, distance_[at(rank)][at(target)]);
    }
    if (is_round_) return nearest == kNeverTick ? -1 : epochs_;
    return epochs_ - nearest;
  }

  EpochColumns new_columns(int first, int last, bool whole) {
    EpochColumns range{.first = first};
    for (int epoch = first; epoch <= last; ++epoch) {
      range.columns.push_back(program_.add_column(0, 0, 1, whole));
    }
    return range;
  }

  void add_columns(std::size_t chunk) {
    for (int rank = 0; rank < instance_.ranks; ++rank) {
      if (holds(chunk, rank) || timed_.is_switch(rank)) continue;
      buffer(chunk, rank) = new_columns(earliest(chunk, rank), last_use(chunk, rank), false);
    }
    for (std::size_t id = 0; id < instance_.hops.size(); ++id) {
      const Hop& hop = instance_.hops[id];
      if (holds(chunk, hop.target)) continue;
      int first = earliest(chunk, hop.source);
      for (const int limit : hop.limits) first = std::max(first, state_.busy[at(limit)]);
      const int last = is_round_ ? std::min(epochs_ - 1, last_use(chunk, hop.target))
                                 : last_use(chunk, hop.target) - timed_.duration[id];
      flow_[chunk * instance_.hops.size() + id] = new_columns(first, last, true);
    }
  }

  // Appends F of the sends that reach a rank at an epoch; returns the number of late arrivals that
  // do.
  int arrivals(std::size_t chunk, int rank, int epoch, double sign, std::vector<Term>& terms) {
    for (const int hop : hops_in_[at(rank)]) {
      const int column =
          flow_[chunk * instance_.hops.size() + at(hop)].of(epoch - timed_.duration[at(hop)]);
      if (column >= 0) terms.push_back({column, sign});
    }
    return static_cast<int>(std::ranges::count_if(state_.late, [&](const LateArrival& late) {
      return at(late.chunk) == chunk && late.rank == rank && late.epoch == epoch;
    }));
  }

  void add_chunk_rows(std::size_t chunk) {
    for (int rank = 0; rank < instance_.ranks; ++rank) {
      const EpochColumns& held = buffer(chunk, rank);
      for (int epoch = held.first; epoch < held.end(); ++epoch) {
        std::vector<Term> terms{{held.of(epoch), 1}};
        if (epoch > held.first) terms.push_back({held.of(epoch - 1), -1});
        const int late = arrivals(chunk, rank, epoch, -1, terms);
        program_.add_row(terms, late, late);
      }
      if (is_round_ && !timed_.is_switch(rank)) add_single_arrival(chunk, rank);
    }
    for (std::size_t hop = 0; hop < instance_.hops.size(); ++hop) add_source_rows(chunk, hop);
    for (const int target : demand_.chunks[chunk].targets) {
      if (holds(chunk, target)) continue;
      add_delivery(chunk, target);
      if (is_round_) add_logical_edges(chunk, target);
    }
  }

  // A chunk reaches a rank once, also if it does so after the round.
  void add_single_arrival(std::size_t chunk, int rank) {
    const bool is_late = std::ranges::any_of(state_.late, [&](const LateArrival& late) {
      return at(late.chunk) == chunk && late.rank == rank;
    });
    std::vector<Term> terms;
    for (const int hop : hops_in_[at(rank)]) {
      for (const int column : flow_[chunk * instance_.hops.size() + at(hop)].columns) {
        terms.push_back({column, 1});
      }
    }
    if (!terms.empty()) program_.add_row(terms, -kUnbounded, is_late ? 0 : 1);
  }

  // F <= B of the hop's source, or at a switch <= the arrivals.
  void add_source_rows(std::size_t chunk, std::size_t id) {
    const int source = instance_.hops[id].source;
    if (holds(chunk, source)) return;
    const EpochColumns& flow = flow_[chunk * instance_.hops.size() + id];
    for (int epoch = flow.first; epoch < flow.end(); ++epoch) {
      std::vector<Term> terms{{flow.of(epoch), 1}};
      int late = 0;
      if (timed_.is_switch(source)) {
        late = arrivals(chunk, source, epoch, -1, terms);
      } else if (const int held = buffer(chunk, source).of(epoch); held >= 0) {
        terms.push_back({held, -1});
      }
      program_.add_row(terms, -kUnbounded, late);
    }
  }

  // R <= B, its reward, and R = 1 in the last epoch.
  void add_delivery(std::size_t chunk, int target) {
    const EpochColumns& held = buffer(chunk, target);
    const int at_end = held.of(epochs_);
    if (!is_round_ && at_end < 0) possible_ = false;
    if (!is_round_ && at_end >= 0) program_.add_row(std::vector<Term>{{at_end, 1}}, 1, 1);
    if (options_.feasibility) return;
    for (int epoch = std::max(0, held.first - 1); epoch < epochs_; ++epoch) {
      const int after = held.of(epoch + 1);
      if (after < 0) continue;
      const int delivered = program_.add_column(-weight(chunk) / (epoch + 1), 0, 1, false);
      program_.add_row(std::vector<Term>{{delivered, 1}, {after, -1}}, -kUnbounded, 0);
    }
  }

  // One unit to a target from a rank that holds the chunk at the end of the round, or will soon,
  // and is nearer than all that held it before.
  void add_logical_edges(std::size_t chunk, int target) {
    int before = kNeverTick;
    for (int rank = 0; rank < instance_.ranks; ++rank) {
      if (holds(chunk, rank)) before = std::min(before, distance_[at(rank)][at(target)]);
    }
    for (const LateArrival& late : state_.late) {
      if (at(late.chunk) != chunk) continue;
      before = std::min(before, distance_[at(late.rank)][at(target)]);
    }
    std::vector<Term> all;
    for (int rank = 0; rank < instance_.ranks; ++rank) {
      const int distance = distance_[at(rank)][at(target)];
      if (distance >= before) continue;
      const double covered = (before - distance) / (before + 1.0);
      const int edge = program_.add_column(-weight(chunk) / (epochs_ + 1) * covered, 0, 1, false);
      all.push_back({edge, 1});
      std::vector<Term> terms{{edge, 1}};
      if (const int held = buffer(chunk, rank).of(epochs_); held >= 0) terms.push_back({held, -1});
      int late = 0;
      const int longest = *std::ranges::max_element(timed_.duration);
      for (int epoch = epochs_ + 1; epoch < epochs_ + longest; ++epoch) {
        late += arrivals(chunk, rank, epoch, -1, terms);
      }
      program_.add_row(terms, -kUnbounded, late);
    }
    if (!all.empty()) program_.add_row(all, -kUnbounded, 1);
  }

  void add_capacity(std::size_t limit) {
    const int window = timed_.occupancy[limit];
    for (int last = 0; last < epochs_; ++last) {
      std::vector<Term> terms;
      for (int epoch = std::max(0, last - window + 1); epoch <= last; ++epoch) {
        for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
          for (const int hop : instance_.limits[limit].hops) {
            const int column = flow_[chunk * instance_.hops.size() + at(hop)].of(epoch);
            if (column >= 0) terms.push_back({column, 1});
          }
        }
      }
      const int capacity = grid_.capacity[limit];
      if (static_cast<int>(terms.size()) > capacity) {
        program_.add_row(terms, -kUnbounded, capacity);
      }
    }
  }
};

void check_program(const EpochGrid& grid, const Demand& demand, int epochs,
                   const EpochOptions& options) {
  if (epochs < 1) throw UserError(fmt::format("{} epochs; expected at least 1", epochs));
  if (demand.ranks != grid.timed.instance.ranks) {
    throw UserError(fmt::format("the demand has {} ranks, the instance {}", demand.ranks,
                                grid.timed.instance.ranks));
  }
  if (!options.weights.empty() && options.weights.size() != demand.chunks.size()) {
    throw UserError(
        fmt::format("{} weights for {} chunks", options.weights.size(), demand.chunks.size()));
  }
  for (const double weight : options.weights) {
    if (!(weight > 0) || !std::isfinite(weight)) {
      throw UserError(fmt::format("a weight of {}; expected more than 0", weight));
    }
  }
}

}  // namespace

EpochResult solve_epochs(const EpochGrid& grid, const Demand& demand, int epochs,
                         const EpochOptions& options) {
  check_program(grid, demand, epochs, options);
  const EpochState state = EpochState::initial(grid, demand);
  EpochResult result = EpochProgram(grid, demand, state, epochs, options, false).solve();
  if (result.status == MipStatus::Optimal || result.status == MipStatus::Feasible) {
    result.schedule = without_idle_sends(grid.timed, demand, result.schedule);
    result.schedule.ticks = finish_tick(grid.timed, demand, result.schedule);
  }
  return result;
}

MinimumEpochs minimum_epochs(const EpochGrid& grid, const Demand& demand,
                             const EpochOptions& options, int first, int max_epochs) {
  const std::vector<std::vector<int>> distance = tick_distances(grid.timed);
  int farthest = 1;
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      farthest = std::max(farthest, distance[at(chunk.source)][at(target)]);
    }
  }
  MinimumEpochs found{.refuted = farthest - 1};
  EpochOptions step = options;
  step.feasibility = true;
  for (int epochs = std::max(first, farthest); epochs <= max_epochs; ++epochs) {
    found.result = solve_epochs(grid, demand, epochs, step);
    if (found.result.status == MipStatus::Unknown) return found;
    if (found.result.status != MipStatus::Infeasible) {
      found.epochs = epochs;
      return found;
    }
    found.refuted = epochs;
  }
  return found;
}

EpochResult solve_round(const EpochGrid& grid, const Demand& demand, const EpochState& state,
                        int epochs, const EpochOptions& options) {
  check_program(grid, demand, epochs, options);
  EpochOptions rewarded = options;
  rewarded.feasibility = false;
  return EpochProgram(grid, demand, state, epochs, rewarded, true).solve();
}

}  // namespace cclgym::synthesis
