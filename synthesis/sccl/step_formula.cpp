#include "synthesis/sccl/step_formula.hpp"

#include <algorithm>

#include "core/index.hpp"

namespace cclgym::synthesis {

void add_simplified(SatSolver& solver, std::span<const Literal> literals) {
  std::vector<Literal> clause;
  for (const Literal literal : literals) {
    if (literal == kTrue) return;
    if (literal != kFalse) clause.push_back(literal);
  }
  solver.add_clause(clause);
}

RoundBits::RoundBits(SatSolver& solver, int steps, int rounds)
    : extra_(rounds - steps), bits_(at(steps)) {
  std::vector<Literal> all;
  for (std::vector<Literal>& bits : bits_) {
    for (int k = 0; k < extra_; ++k) {
      bits.push_back(solver.new_variable());
      all.push_back(bits.back());
      if (k > 0) solver.add_clause({-bits[at(k)], bits[at(k - 1)]});
    }
  }
  add_at_most(solver, all, extra_);
}

void RoundBits::add_load(SatSolver& solver, std::span<const Literal> sends, std::int64_t units,
                         int step) {
  if (std::ssize(sends) <= units) return;
  const std::vector<Literal> counts = add_counter(solver, sends, units * (extra_ + 1));
  for (int k = 0; k < extra_; ++k) {
    const std::int64_t level = units * (k + 1);
    if (level < std::ssize(counts)) solver.add_clause({-counts[at(level)], bits_[at(step)][at(k)]});
  }
}

StepSchedule tidy_schedule(const Instance& instance, const Demand& demand, int steps,
                           std::vector<StepSend> sends) {
  const std::size_t ranks = at(instance.ranks);
  const auto place = [&](int chunk, int rank) { return at(chunk) * ranks + at(rank); };
  std::vector<char> wanted(demand.chunks.size() * ranks, 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    for (const int target : demand.chunks[chunk].targets) wanted[chunk * ranks + at(target)] = 1;
  }
  std::sort(sends.begin(), sends.end());
  // First arrivals only; then backwards, sends that someone needs.
  std::vector<char> held(wanted.size(), 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    held[chunk * ranks + at(demand.chunks[chunk].source)] = 1;
  }
  std::erase_if(sends, [&](const StepSend& send) {
    char& arrived = held[place(send.chunk, instance.hops[at(send.hop)].target)];
    const bool again = arrived != 0;
    arrived = 1;
    return again;
  });
  StepSchedule schedule;
  for (auto send = sends.rbegin(); send != sends.rend(); ++send) {
    const Hop& hop = instance.hops[at(send->hop)];
    if (!wanted[place(send->chunk, hop.target)]) continue;
    wanted[place(send->chunk, hop.source)] = 1;
    schedule.sends.push_back(*send);
  }
  std::reverse(schedule.sends.begin(), schedule.sends.end());
  std::vector<std::int64_t> load(at(steps) * instance.limits.size(), 0);
  schedule.rounds.assign(at(steps), 1);
  for (const StepSend& send : schedule.sends) {
    int& rounds = schedule.rounds[at(send.step)];
    for (const int limit : instance.hops[at(send.hop)].limits) {
      const std::int64_t units = instance.limits[at(limit)].units;
      const std::int64_t chunks = ++load[at(send.step) * instance.limits.size() + at(limit)];
      rounds = std::max(rounds, static_cast<int>((chunks + units - 1) / units));
    }
  }
  return schedule;
}

}  // namespace cclgym::synthesis
