#include "synthesis/flows/step_relaxation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/flows/graph_orbits.hpp"

namespace cclgym::synthesis {

namespace {

// Members of each orbit, in the order of the smallest members.
std::vector<std::vector<int>> members_of(DisjointSets& sets) {
  std::vector<std::vector<int>> members;
  const std::vector<int> numbers = sets.numbers();
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (at(numbers[k]) == members.size()) members.emplace_back();
    members[at(numbers[k])].push_back(static_cast<int>(k));
  }
  return members;
}

// Orbits of chunks: equal chunks in any order count as images of each other.
std::vector<std::vector<int>> chunk_orbits(const Demand& demand,
                                           const std::vector<InstanceSymmetry>& symmetries) {
  std::map<std::pair<int, std::vector<int>>, std::vector<int>> chunks_at;
  for (std::size_t k = 0; k < demand.chunks.size(); ++k) {
    chunks_at[{demand.chunks[k].source, demand.chunks[k].targets}].push_back(static_cast<int>(k));
  }
  DisjointSets sets(demand.chunks.size());
  for (const auto& [key, equal] : chunks_at) {
    for (const int chunk : equal) sets.unite(equal.front(), chunk);
    for (const InstanceSymmetry& symmetry : symmetries) {
      std::vector<int> targets;
      for (const int target : key.second) targets.push_back(symmetry.ranks[at(target)]);
      std::sort(targets.begin(), targets.end());
      const auto found = chunks_at.find({symmetry.ranks[at(key.first)], targets});
      if (found == chunks_at.end() || found->second.size() != equal.size()) {
        throw UserError(
            fmt::format("a symmetry maps a chunk of rank {} to no chunk of the demand", key.first));
      }
      sets.unite(equal.front(), found->second.front());
    }
  }
  return members_of(sets);
}

std::vector<std::vector<int>> limit_orbits(const Instance& instance,
                                           const std::vector<InstanceSymmetry>& symmetries) {
  DisjointSets sets(instance.limits.size());
  for (const InstanceSymmetry& symmetry : symmetries) {
    for (std::size_t k = 0; k < instance.limits.size(); ++k) {
      const int image = symmetry.limits[k];
      if (instance.limits[at(image)].units != instance.limits[k].units) {
        throw UserError(
            fmt::format("a symmetry maps limit {} to limit {} of other units", k, image));
      }
      sets.unite(static_cast<int>(k), image);
    }
    for (std::size_t k = 0; k < instance.hops.size(); ++k) {
      const Hop& hop = instance.hops[k];
      const Hop& image = instance.hops[at(symmetry.hops[k])];
      std::vector<int> limits;
      for (const int limit : hop.limits) limits.push_back(symmetry.limits[at(limit)]);
      std::sort(limits.begin(), limits.end());
      if (image.source != symmetry.ranks[at(hop.source)] ||
          image.target != symmetry.ranks[at(hop.target)] || image.limits != limits) {
        throw UserError(fmt::format("a symmetry maps hop {} to hop {}, which is no image of it", k,
                                    symmetry.hops[k]));
      }
    }
  }
  return members_of(sets);
}

// Adds the chunks of a demand to the linear program, one at a time.
class RelaxedChunks {
 public:
  RelaxedChunks(const Instance& instance, const Demand& demand, int steps,
                const StepRelaxationOptions& options)
      : instance_(instance),
        steps_(steps),
        chunks_(chunk_orbits(demand, options.symmetries)),
        distance_(instance.distances()),
        orbit_of_limit_(instance.limits.size()),
        capacity_(at(std::max(steps, 0))) {
    const std::vector<std::vector<int>> limits = limit_orbits(instance, options.symmetries);
    for (std::size_t orbit = 0; orbit < limits.size(); ++orbit) {
      for (const int limit : limits[orbit]) orbit_of_limit_[at(limit)] = orbit;
    }
    // No step needs more rounds than there are (chunk, hop) pairs.
    const auto longest = static_cast<std::int64_t>(demand.chunks.size() * instance.hops.size());
    for (int step = 0; step < steps; ++step) program_.add_column(1, 0, longest);
    for (int step = 0; step < steps; ++step) {
      for (const std::vector<int>& orbit : limits) {
        const std::int64_t units = instance.limits[at(orbit.front())].units;
        capacity_[at(step)].push_back(program_.add_row(
            {{step, -units * static_cast<std::int64_t>(orbit.size())}}, std::nullopt, 0));
      }
    }
    for (const std::vector<int>& orbit : chunks_) {
      const ChunkDemand& chunk = demand.chunks[at(orbit.front())];
      check_reach(chunk);
      const auto copies = static_cast<std::int64_t>(orbit.size());
      if (options.copying == Copying::PerChunk && chunk.targets.size() != 1) {
        add_copied(chunk, copies);
      } else {
        add_flows(chunk, copies);
      }
    }
  }

  [[nodiscard]] ExactProgram take() { return std::move(program_); }

 private:
  void check_reach(const ChunkDemand& chunk) const {
    for (const int target : chunk.targets) {
      const int hops = distance_[at(chunk.source)][at(target)];
      if (hops >= 0 && hops <= steps_) continue;
      throw UserError(fmt::format("rank {} is {} hops from rank {}; {} steps are too few", target,
                                  hops, chunk.source, steps_));
    }
  }

  // Adds a term to the capacity rows of the hop's limits.
  void use(const Hop& hop, int step, int column, std::int64_t copies) {
    std::map<std::size_t, std::int64_t> uses;
    for (const int limit : hop.limits) uses[orbit_of_limit_[at(limit)]] += copies;
    for (const auto& [limit, count] : uses) {
      program_.rows[at(capacity_[at(step)][limit])].terms.push_back({column, count});
    }
  }

  void add_term(int row, int column, std::int64_t coefficient) {
    program_.rows[at(row)].terms.push_back({column, coefficient});
  }

  void add_copied(const ChunkDemand& chunk, std::int64_t copies) {
    std::vector<char> wanted(at(instance_.ranks), 0);
    for (const int target : chunk.targets) wanted[at(target)] = 1;
    // Columns of the part that a rank holds before the step; -1: none, for the source all.
    std::vector<int> held(at(instance_.ranks), -1);
    for (int step = 0; step < steps_; ++step) {
      std::vector<int> next(at(instance_.ranks), -1);
      std::vector<int> gain(at(instance_.ranks), -1);
      for (int rank = 0; rank < instance_.ranks; ++rank) {
        const int hops = distance_[at(chunk.source)][at(rank)];
        if (rank == chunk.source || hops < 0 || hops > step + 1) continue;
        const bool all = step + 1 == steps_ && wanted[at(rank)];
        next[at(rank)] = program_.add_column(0, all ? 1 : 0, 1);
        gain[at(rank)] = program_.add_row({{next[at(rank)], 1}}, std::nullopt, 0);
        if (held[at(rank)] >= 0) add_term(gain[at(rank)], held[at(rank)], -1);
      }
      for (const Hop& hop : instance_.hops) {
        const bool from_source = hop.source == chunk.source;
        if (hop.target == chunk.source || (!from_source && held[at(hop.source)] < 0)) continue;
        const int sent = program_.add_column(0, 0, 1);
        if (!from_source) {
          program_.add_row({{sent, 1}, {held[at(hop.source)], -1}}, std::nullopt, 0);
        }
        add_term(gain[at(hop.target)], sent, -1);
        use(hop, step, sent, copies);
      }
      held = std::move(next);
    }
  }

  // One flow per target; a hop carries the largest of them.
  void add_flows(const ChunkDemand& chunk, std::int64_t copies) {
    const bool one = chunk.targets.size() == 1;
    const std::size_t hops = instance_.hops.size();
    std::vector<int> carried(hops * at(steps_), -1);
    for (const int target : chunk.targets) {
      std::vector<int> balance(at(instance_.ranks), -1);  // rows before the step
      for (int step = 0; step < steps_; ++step) {
        std::vector<int> next(at(instance_.ranks), -1);
        for (int rank = 0; rank < instance_.ranks; ++rank) {
          if (!useful(chunk.source, rank, target, step + 1)) continue;
          const std::int64_t excess = step + 1 == steps_ ? 1 : 0;  // only the target is left then
          next[at(rank)] = program_.add_row({}, excess, excess);
        }
        for (int rank = 0; rank < instance_.ranks; ++rank) {
          const bool first = step == 0 && rank == chunk.source;
          if (!first && balance[at(rank)] < 0) continue;
          add_flow(balance[at(rank)], next[at(rank)]);  // kept
        }
        for (std::size_t k = 0; k < hops; ++k) {
          const Hop& hop = instance_.hops[k];
          const bool first = step == 0 && hop.source == chunk.source;
          if ((!first && balance[at(hop.source)] < 0) || next[at(hop.target)] < 0) continue;
          const int sent = add_flow(balance[at(hop.source)], next[at(hop.target)]);
          int& carries = carried[at(step) * hops + k];
          if (one) {
            use(hop, step, sent, copies);
            continue;
          }
          if (carries < 0) {
            carries = program_.add_column(0, 0, 1);
            use(hop, step, carries, copies);
          }
          program_.add_row({{sent, 1}, {carries, -1}}, std::nullopt, 0);
        }
        balance = std::move(next);
      }
    }
  }

  // True if a part can be at the rank after so many steps and still reach the target.
  [[nodiscard]] bool useful(int source, int rank, int target, int step) const {
    const int there = distance_[at(source)][at(rank)];
    const int left = distance_[at(rank)][at(target)];
    return there >= 0 && there <= step && left >= 0 && left <= steps_ - step;
  }

  // A column that leaves one balance row and enters another; -1: none.
  int add_flow(int from, int into) {
    if (into < 0) return -1;
    const int column = program_.add_column(0, 0, 1);
    if (from >= 0) add_term(from, column, -1);
    add_term(into, column, 1);
    return column;
  }

  const Instance& instance_;
  int steps_;
  std::vector<std::vector<int>> chunks_;
  std::vector<std::vector<int>> distance_;
  std::vector<std::size_t> orbit_of_limit_;
  std::vector<std::vector<int>> capacity_;  // rows, by step and orbit of limits
  ExactProgram program_;
};

}  // namespace

ExactProgram step_relaxation_program(const Instance& instance, const Demand& demand, int steps,
                                     const StepRelaxationOptions& options) {
  return RelaxedChunks(instance, demand, steps, options).take();
}

StepRelaxation step_relaxation(const Instance& instance, const Demand& demand, int steps,
                               const StepRelaxationOptions& options) {
  const ExactProgram program = step_relaxation_program(instance, demand, steps, options);
  DualCertificate certificate =
      solve_bound(program, fmt::format("the relaxation of {} steps on '{}'", steps, instance.name),
                  options.deadline);
  return {steps, certificate.bound, std::move(certificate)};
}

std::string check_step_relaxation(const Instance& instance, const Demand& demand,
                                  const StepRelaxation& relaxation,
                                  const StepRelaxationOptions& options) {
  try {
    if (relaxation.certificate.program !=
        step_relaxation_program(instance, demand, relaxation.steps, options)) {
      return "the certificate is about another linear program";
    }
  } catch (const UserError& error) {
    return error.what();
  }
  if (relaxation.certificate.bound != relaxation.rounds) {
    return fmt::format("the certificate proves {} rounds; expected {}",
                       text_of(relaxation.certificate.bound), text_of(relaxation.rounds));
  }
  return check_dual(relaxation.certificate);
}

}  // namespace cclgym::synthesis
