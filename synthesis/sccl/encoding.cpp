#include "synthesis/sccl/encoding.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "core/index.hpp"
#include "synthesis/sccl/step_formula.hpp"

namespace cclgym::synthesis {
namespace {

constexpr int kNever = std::numeric_limits<int>::max() / 4;

}  // namespace

std::optional<std::vector<Permutation>> chunk_permutations(const Demand& demand,
                                                           const InstanceGroup& group) {
  // Chunks of each kind, in order.
  std::map<std::pair<int, std::vector<int>>, std::vector<int>> kinds;
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    kinds[{demand.chunks[chunk].source, demand.chunks[chunk].targets}].push_back(
        static_cast<int>(chunk));
  }
  std::vector<Permutation> result;
  for (const InstanceSymmetry& symmetry : group) {
    Permutation& images = result.emplace_back(demand.chunks.size(), -1);
    for (const auto& [kind, chunks] : kinds) {
      std::vector<int> targets;
      for (const int target : kind.second) targets.push_back(symmetry.ranks[at(target)]);
      std::sort(targets.begin(), targets.end());
      const auto image = kinds.find({symmetry.ranks[at(kind.first)], targets});
      if (image == kinds.end() || image->second.size() != chunks.size()) return std::nullopt;
      for (std::size_t k = 0; k < chunks.size(); ++k) images[at(chunks[k])] = image->second[k];
    }
  }
  return result;
}

StepEncoding::StepEncoding(const Instance& instance, const Demand& demand, int steps, int rounds,
                           const StepRestriction& restriction, SatSolver& solver)
    : instance_(&instance), demand_(&demand), solver_(&solver), steps_(steps) {
  represent_chunks(restriction.group);
  find_windows(restriction.shortest_paths);
  add_variables();
  add_arrivals();
  add_paths();
  add_loads(restriction.group, rounds);
  order_equal_chunks();
}

void StepEncoding::represent_chunks(const InstanceGroup* group) {
  const std::size_t chunks = demand_->chunks.size();
  representative_.resize(chunks);
  to_hops_.assign(chunks, nullptr);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    representative_[chunk] = static_cast<int>(chunk);
  }
  if (group == nullptr) return;
  const std::optional<std::vector<Permutation>> images = chunk_permutations(*demand_, *group);
  for (std::size_t element = 0; images && element < images->size(); ++element) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const int image = (*images)[element][chunk];
      if (image >= representative_[chunk]) continue;
      representative_[chunk] = image;
      to_hops_[chunk] = &(*group)[element].hops;
    }
  }
}

std::size_t StepEncoding::place(int chunk, int rank) const {
  return at(chunk) * at(instance_->ranks) + at(rank);
}

void StepEncoding::find_windows(bool shortest_paths) {
  const std::vector<std::vector<int>> distance = instance_->distances();
  const auto hops_between = [&](int source, int target) {
    const int hops = distance[at(source)][at(target)];
    return hops < 0 ? kNever : hops;
  };
  const std::size_t places = demand_->chunks.size() * at(instance_->ranks);
  earliest_.assign(places, kNever);
  latest_.assign(places, -1);
  held_.resize(places);
  for (std::size_t k = 0; k < demand_->chunks.size(); ++k) {
    const int chunk = static_cast<int>(k);
    if (representative_[k] != chunk) continue;
    const int source = demand_->chunks[k].source;
    const std::vector<int>& targets = demand_->chunks[k].targets;
    for (int rank = 0; rank < instance_->ranks; ++rank) {
      int& latest = latest_[place(chunk, rank)];
      const int earliest = hops_between(source, rank);
      earliest_[place(chunk, rank)] = earliest;
      for (const int target : targets) {
        const bool detour = earliest + hops_between(rank, target) > hops_between(source, target);
        if (shortest_paths && targets.size() == 1 && detour) continue;
        latest = std::max(latest, steps_ - hops_between(rank, target));
      }
    }
  }
}

Literal StepEncoding::held(int chunk, int rank, int step) const {
  const ChunkDemand& demand = demand_->chunks[at(chunk)];
  if (rank == demand.source) return kTrue;
  const std::size_t index = place(chunk, rank);
  if (step < earliest_[index] || held_[index].empty()) return kFalse;
  return held_[index][at(std::min(step, latest_[index]) - earliest_[index])];
}

Literal& StepEncoding::send_variable(int chunk, int hop, int step) {
  return sends_[(at(chunk) * instance_->hops.size() + at(hop)) * at(steps_) + at(step)];
}

Literal StepEncoding::send(int chunk, int hop, int step) const {
  const std::size_t representative = at(representative_[at(chunk)]);
  if (to_hops_[at(chunk)] != nullptr) hop = (*to_hops_[at(chunk)])[at(hop)];
  return sends_[(representative * instance_->hops.size() + at(hop)) * at(steps_) + at(step)];
}

void StepEncoding::add_variables() {
  sends_.assign(demand_->chunks.size() * instance_->hops.size() * at(steps_), kFalse);
  for (std::size_t k = 0; k < demand_->chunks.size(); ++k) {
    const int chunk = static_cast<int>(k);
    if (representative_[k] != chunk) continue;
    const ChunkDemand& demand = demand_->chunks[k];
    for (int rank = 0; rank < instance_->ranks; ++rank) {
      if (rank == demand.source) continue;
      const bool target = std::binary_search(demand.targets.begin(), demand.targets.end(), rank);
      const std::size_t index = place(chunk, rank);
      std::vector<Literal>& held = held_[index];
      for (int step = earliest_[index]; step <= latest_[index]; ++step) {
        held.push_back(target && step == steps_ ? kTrue : solver_->new_variable());
        if (held.size() > 1) add_simplified(*solver_, {negated(held.end()[-2]), held.back()});
      }
      // A target that the chunk cannot reach in time.
      if (target && held.empty()) add_simplified(*solver_, {});
    }
    for (std::size_t hop = 0; hop < instance_->hops.size(); ++hop) {
      const auto [source, target] =
          std::pair(instance_->hops[hop].source, instance_->hops[hop].target);
      // A chunk with one target stops there.
      const bool leaves_target = demand.targets.size() == 1 && source == demand.targets.front();
      if (target == demand.source || leaves_target) continue;
      const int last = std::min(steps_, latest_[place(chunk, target)]);
      for (int step = earliest_[place(chunk, source)]; step < last; ++step) {
        send_variable(chunk, static_cast<int>(hop), step) = solver_->new_variable();
      }
    }
  }
}

void StepEncoding::add_arrivals() {
  const std::vector<std::vector<int>> hops_in = instance_->hops_in();
  for (std::size_t k = 0; k < demand_->chunks.size(); ++k) {
    const int chunk = static_cast<int>(k);
    if (representative_[k] != chunk) continue;
    for (int rank = 0; rank < instance_->ranks; ++rank) {
      if (rank == demand_->chunks[k].source) continue;
      for (int step = 0; step < steps_; ++step) {
        const Literal before = held(chunk, rank, step);
        const Literal after = held(chunk, rank, step + 1);
        std::vector<Literal> arrivals;
        for (const int hop : hops_in[at(rank)]) {
          const Literal arrival = send_variable(chunk, hop, step);
          if (arrival == kFalse) continue;
          arrivals.push_back(arrival);
          add_simplified(*solver_, {-arrival, held(chunk, instance_->hops[at(hop)].source, step)});
          add_simplified(*solver_, {-arrival, negated(before)});
          add_simplified(*solver_, {-arrival, after});
        }
        add_at_most(*solver_, arrivals, 1);
        arrivals.push_back(before);
        arrivals.push_back(negated(after));
        add_simplified(*solver_, arrivals);
      }
    }
  }
}

void StepEncoding::add_paths() {
  const std::vector<std::vector<int>> hops_out = instance_->hops_out();
  for (std::size_t k = 0; k < demand_->chunks.size(); ++k) {
    const int chunk = static_cast<int>(k);
    if (representative_[k] != chunk || demand_->chunks[k].targets.size() != 1) continue;
    for (int rank = 0; rank < instance_->ranks; ++rank) {
      if (rank == demand_->chunks[k].targets.front()) continue;
      std::vector<Literal> departures;
      for (int step = 0; step < steps_; ++step) {
        for (const int hop : hops_out[at(rank)]) {
          const Literal departure = send_variable(chunk, hop, step);
          if (departure != kFalse) departures.push_back(departure);
        }
      }
      add_at_most(*solver_, departures, 1);
      departures.push_back(negated(held(chunk, rank, steps_)));
      add_simplified(*solver_, departures);
    }
  }
}

void StepEncoding::add_loads(const InstanceGroup* group, int rounds) {
  RoundBits bits(*solver_, steps_, rounds);
  for (std::size_t limit = 0; limit < instance_->limits.size(); ++limit) {
    const bool first =
        group == nullptr || std::none_of(group->begin(), group->end(), [&](const auto& symmetry) {
          return at(symmetry.limits[limit]) < limit;
        });
    if (!first) continue;
    for (int step = 0; step < steps_; ++step) {
      std::vector<Literal> sends;
      for (std::size_t chunk = 0; chunk < demand_->chunks.size(); ++chunk) {
        for (const int hop : instance_->limits[limit].hops) {
          const Literal literal = send(static_cast<int>(chunk), hop, step);
          if (literal != kFalse) sends.push_back(literal);
        }
      }
      bits.add_load(*solver_, sends, instance_->limits[limit].units, step);
    }
  }
}

void StepEncoding::order_equal_chunks() {
  const std::vector<std::vector<int>> hops_out = instance_->hops_out();
  std::map<std::pair<int, std::vector<int>>, int> last;
  for (std::size_t k = 0; k < demand_->chunks.size(); ++k) {
    const int chunk = static_cast<int>(k);
    if (representative_[k] != chunk) continue;
    const ChunkDemand& demand = demand_->chunks[k];
    const auto [entry, added] = last.insert({{demand.source, demand.targets}, chunk});
    if (added) continue;
    const int earlier = entry->second;
    entry->second = chunk;
    // The first hops of the earlier chunk, as a word, are not less than those of the later one.
    Literal equal = kTrue;
    for (int step = 0; step < steps_; ++step) {
      for (const int hop : hops_out[at(demand.source)]) {
        const Literal high = send_variable(earlier, hop, step);
        const Literal low = send_variable(chunk, hop, step);
        if (high == kFalse) continue;
        add_simplified(*solver_, {negated(equal), high, -low});
        const Literal still = solver_->new_variable();
        add_simplified(*solver_, {negated(equal), -low, still});
        add_simplified(*solver_, {negated(equal), high, still});
        equal = still;
      }
    }
  }
}

StepSchedule StepEncoding::schedule() const {
  std::vector<StepSend> sends;
  for (int chunk = 0; chunk < static_cast<int>(demand_->chunks.size()); ++chunk) {
    for (int hop = 0; hop < static_cast<int>(instance_->hops.size()); ++hop) {
      for (int step = 0; step < steps_; ++step) {
        const Literal literal = send(chunk, hop, step);
        if (literal != kFalse && solver_->value(literal)) sends.push_back({step, chunk, hop});
      }
    }
  }
  return tidy_schedule(*instance_, *demand_, steps_, std::move(sends));
}

}  // namespace cclgym::synthesis
