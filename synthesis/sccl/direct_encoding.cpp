#include "synthesis/sccl/direct_encoding.hpp"

#include <stdexcept>

#include "core/index.hpp"
#include "synthesis/sccl/step_formula.hpp"

namespace cclgym::synthesis {
namespace {

class DirectEncoding {
 public:
  DirectEncoding(const Instance& instance, const Demand& demand, int steps, int rounds,
                 SatSolver& solver)
      : instance_(&instance), demand_(&demand), solver_(&solver), steps_(steps) {
    const std::size_t chunks = demand.chunks.size();
    for (std::size_t k = 0; k < chunks * at(instance.ranks) * at(steps + 1); ++k) {
      held_.push_back(solver.new_variable());
    }
    for (std::size_t k = 0; k < chunks * instance.hops.size() * at(steps); ++k) {
      sends_.push_back(solver.new_variable());
    }
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) add_chunk(chunk);
    RoundBits bits(solver, steps, rounds);
    for (const Limit& limit : instance.limits) {
      for (int step = 0; step < steps; ++step) {
        std::vector<Literal> sends;
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
          for (const int hop : limit.hops) sends.push_back(send(chunk, hop, step));
        }
        bits.add_load(solver, sends, limit.units, step);
      }
    }
  }

  [[nodiscard]] StepSchedule schedule() const {
    std::vector<StepSend> sends;
    for (std::size_t chunk = 0; chunk < demand_->chunks.size(); ++chunk) {
      for (int hop = 0; hop < static_cast<int>(instance_->hops.size()); ++hop) {
        for (int step = 0; step < steps_; ++step) {
          if (solver_->value(send(chunk, hop, step))) {
            sends.push_back({step, static_cast<int>(chunk), hop});
          }
        }
      }
    }
    return tidy_schedule(*instance_, *demand_, steps_, std::move(sends));
  }

 private:
  [[nodiscard]] Literal held(std::size_t chunk, int rank, int step) const {
    return held_[(chunk * at(instance_->ranks) + at(rank)) * at(steps_ + 1) + at(step)];
  }
  [[nodiscard]] Literal send(std::size_t chunk, int hop, int step) const {
    return sends_[(chunk * instance_->hops.size() + at(hop)) * at(steps_) + at(step)];
  }

  void add_chunk(std::size_t chunk) {
    const ChunkDemand& demand = demand_->chunks[chunk];
    const std::vector<std::vector<int>> hops_in = instance_->hops_in();
    for (int rank = 0; rank < instance_->ranks; ++rank) {
      const Literal at_start = held(chunk, rank, 0);
      solver_->add_clause({rank == demand.source ? at_start : -at_start});
      for (int step = 0; step < steps_; ++step) {
        const Literal before = held(chunk, rank, step);
        const Literal after = held(chunk, rank, step + 1);
        solver_->add_clause({-before, after});
        std::vector<Literal> reasons{-after, before};
        for (const int hop : hops_in[at(rank)]) {
          const Literal arrival = send(chunk, hop, step);
          reasons.push_back(arrival);
          solver_->add_clause({-arrival, after});
          solver_->add_clause({-arrival, held(chunk, instance_->hops[at(hop)].source, step)});
        }
        solver_->add_clause(reasons);
      }
    }
    for (const int target : demand.targets) solver_->add_clause({held(chunk, target, steps_)});
  }

  const Instance* instance_;
  const Demand* demand_;
  SatSolver* solver_;
  int steps_;
  std::vector<Literal> held_;   ///< by chunk, rank and step
  std::vector<Literal> sends_;  ///< by chunk, hop and step
};

}  // namespace

StepAnswer solve_steps_directly(const Instance& instance, const Demand& demand, int steps,
                                int rounds, const StepSearchOptions& options) {
  SatSolver solver;
  solver.set_seed(options.seed);
  const DirectEncoding encoding(instance, demand, steps, rounds, solver);
  StepAnswer answer{.status = solver.solve({}, options.deadline)};
  if (answer.status != SatResult::Satisfiable) return answer;
  answer.schedule = encoding.schedule();
  const std::string problem = check_schedule(instance, demand, answer.schedule);
  if (!problem.empty()) throw std::logic_error("the direct formula is wrong: " + problem);
  return answer;
}

}  // namespace cclgym::synthesis
