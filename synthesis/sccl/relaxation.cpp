// The linear relaxation of step schedules: columns are the fractions of each chunk that a rank
// holds after a step, those sent over a hop in a step, and the rounds of each step per chunk.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/index.hpp"
#include "synthesis/sccl/bounds.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {
namespace {

/// A row sum of coefficients x columns >= bound, all whole numbers.
struct WholeRow {
  std::vector<std::pair<int, std::int64_t>> terms{};
  std::int64_t bound = 0;
};

/// Minimises the sum of the first `free` columns, which have no upper bound; all others are at most
/// 1, and all columns are at least 0.
struct WholeProgram {
  int free = 0;
  int columns = 0;
  std::vector<WholeRow> rows{};
};

class Relaxation {
 public:
  Relaxation(const Instance& instance, const Demand& demand, int steps)
      : instance_(&instance), demand_(&demand), steps_(steps) {
    program_.free = program_.columns = steps;
    const std::size_t chunks = demand.chunks.size();
    const std::size_t ranks = at(instance.ranks);
    held_.assign(chunks * ranks * at(steps + 1), 0);
    const std::vector<std::vector<int>> distance = instance.distances();
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const ChunkDemand& demanded = demand.chunks[chunk];
      for (int rank = 0; rank < instance.ranks; ++rank) {
        const int earliest = distance[at(demanded.source)][at(rank)];
        const bool target =
            std::binary_search(demanded.targets.begin(), demanded.targets.end(), rank);
        for (int step = 0; step <= steps; ++step) {
          int& column = held_[held_index(chunk, rank, step)];
          if (rank == demanded.source || (target && step == steps)) {
            column = kOne;
          } else if (earliest < 0 || step < earliest) {
            column = kZero;
          } else {
            column = program_.columns++;
          }
        }
        if (target && (earliest < 0 || earliest > steps)) reachable_ = false;
      }
    }
    add_rows();
  }

  [[nodiscard]] bool reachable() const { return reachable_; }
  [[nodiscard]] const WholeProgram& program() const { return program_; }

 private:
  static constexpr int kZero = -1;
  static constexpr int kOne = -2;

  [[nodiscard]] std::size_t held_index(std::size_t chunk, int rank, int step) const {
    return (chunk * at(instance_->ranks) + at(rank)) * at(steps_ + 1) + at(step);
  }

  // Adds coefficient x held; a constant moves to the bound.
  void add_held(WholeRow& row, std::size_t chunk, int rank, int step, std::int64_t coefficient) {
    const int column = held_[held_index(chunk, rank, step)];
    if (column == kOne) row.bound -= coefficient;
    if (column >= 0) row.terms.emplace_back(column, coefficient);
  }

  void add_rows() {
    const std::vector<std::vector<int>> hops_in = instance_->hops_in();
    std::vector<WholeRow> loads(instance_->limits.size() * at(steps_));
    for (std::size_t limit = 0; limit < instance_->limits.size(); ++limit) {
      for (int step = 0; step < steps_; ++step) {
        loads[limit * at(steps_) + at(step)].terms.emplace_back(step,
                                                                instance_->limits[limit].units);
      }
    }
    for (std::size_t chunk = 0; chunk < demand_->chunks.size(); ++chunk) {
      for (int rank = 0; rank < instance_->ranks; ++rank) {
        if (rank == demand_->chunks[chunk].source) continue;
        for (int step = 0; step < steps_; ++step) {
          WholeRow arrivals;
          add_held(arrivals, chunk, rank, step, 1);
          add_held(arrivals, chunk, rank, step + 1, -1);
          for (const int hop : hops_in[at(rank)]) {
            const int source = instance_->hops[at(hop)].source;
            if (held_[held_index(chunk, source, step)] == kZero) continue;
            const int send = program_.columns++;
            arrivals.terms.emplace_back(send, 1);
            WholeRow& holding = program_.rows.emplace_back();
            add_held(holding, chunk, source, step, 1);
            holding.terms.emplace_back(send, -1);
            for (const int limit : instance_->hops[at(hop)].limits) {
              loads[at(limit) * at(steps_) + at(step)].terms.emplace_back(send, -1);
            }
          }
          program_.rows.push_back(std::move(arrivals));
        }
      }
    }
    for (WholeRow& load : loads) program_.rows.push_back(std::move(load));
  }

  const Instance* instance_;
  const Demand* demand_;
  int steps_;
  bool reachable_ = true;
  std::vector<int> held_;
  WholeProgram program_;
};

/// Bound that the multipliers `duals` / `denominator` prove, all >= 0. Nothing if they prove none.
std::optional<Fraction> dual_bound(const WholeProgram& program,
                                   const std::vector<std::int64_t>& duals,
                                   std::int64_t denominator) {
  std::vector<std::int64_t> reduced(at(program.columns), 0);
  std::fill_n(reduced.begin(), program.free, denominator);
  std::int64_t bound = 0;
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    bound += duals[row] * program.rows[row].bound;
    for (const auto& [column, coefficient] : program.rows[row].terms) {
      reduced[at(column)] -= duals[row] * coefficient;
    }
  }
  for (int column = 0; column < program.columns; ++column) {
    const std::int64_t cost = reduced[at(column)];
    if (cost >= 0) continue;
    // A column is at most 1, so that it adds at least its reduced cost.
    if (column < program.free) return std::nullopt;
    bound += cost;
  }
  if (bound <= 0) return std::nullopt;
  return make_fraction(bound, denominator);
}

}  // namespace

std::optional<Fraction> relaxed_rounds(const Instance& instance, const Demand& demand, int steps) {
  constexpr int kMaxColumns = 20'000;
  constexpr std::int64_t kMaxDenominator = 2'000;
  constexpr double kTimeLimit_s = 20;
  const Relaxation relaxation(instance, demand, steps);
  const WholeProgram& program = relaxation.program();
  if (!relaxation.reachable() || program.columns > kMaxColumns) return std::nullopt;
  LinearProgram lp;
  for (int column = 0; column < program.columns; ++column) {
    const bool free = column < program.free;
    lp.add_column(free ? 1 : 0, 0, free ? kUnbounded : 1);
  }
  std::vector<Term> terms;
  for (const WholeRow& row : program.rows) {
    terms.clear();
    for (const auto& [column, coefficient] : row.terms) {
      terms.push_back({column, static_cast<double>(coefficient)});
    }
    lp.add_row(terms, static_cast<double>(row.bound), kUnbounded);
  }
  if (lp.solve(kTimeLimit_s) != LpStatus::Optimal) return std::nullopt;
  const std::vector<double> duals = lp.duals();
  std::optional<Fraction> best;
  std::vector<std::int64_t> whole(duals.size());
  for (std::int64_t denominator = 1; denominator <= kMaxDenominator; ++denominator) {
    double error = 0;
    for (std::size_t row = 0; row < duals.size(); ++row) {
      const double scaled = std::max(0.0, duals[row]) * static_cast<double>(denominator);
      whole[row] = std::llround(scaled);
      error = std::max(error, std::abs(scaled - static_cast<double>(whole[row])));
    }
    if (error > 1e-5) continue;
    const std::optional<Fraction> bound = dual_bound(program, whole, denominator);
    if (bound && (!best || *best < *bound)) best = bound;
    break;
  }
  return best;
}

}  // namespace cclgym::synthesis
