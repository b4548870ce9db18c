#include "synthesis/flows/allreduce_shares.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <numeric>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/flows/share_program.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

namespace {

// Shares and capacities as multiples of 1 / scale.
struct WholeShares {
  std::vector<std::int64_t> shares;                         // by rank
  std::array<std::vector<std::int64_t>, 2> by_direction{};  // by edge

  template <class Number>
  WholeShares(const FlowGraph& graph, const ShareColumns& columns, Number number_of_column) {
    for (int rank = 0; rank < graph.ranks; ++rank) {
      const int column = columns.of_node[at(rank)];
      shares.push_back(column < 0 ? 0 : number_of_column(column));
    }
    for (std::size_t way = 0; way < 2; ++way) {
      for (const int column : columns.of_edge[way]) {
        by_direction[way].push_back(number_of_column(column));
      }
    }
  }
};

class CuttingPlanes {
 public:
  CuttingPlanes(const FlowGraph& graph, const AllReduceOptions& options)
      : graph_(graph),
        options_(options),
        columns_(make_share_columns(graph, options)),
        rows_(program_) {
    if (options.max_iterations > 0) solver_.limit_iterations(options.max_iterations);
    add_capacity_rows(graph, options, columns_, program_, rows_);
    flows_.push_back(std::make_unique<ShareFlow>(graph, columns_, false));
    if (!columns_.duplex) flows_.push_back(std::make_unique<ShareFlow>(graph, columns_, true));
    for (std::size_t way = 0; way < flows_.size(); ++way) {
      for (const int target : columns_.targets) {
        ShareCut cut{.reduce = way == 1};
        cut.side.assign(at(graph.nodes), 1);
        cut.side[at(target)] = 0;
        add(cut);
      }
    }
  }

  AllReduceShares solve() {
    for (;;) {
      program_.load(solver_);
      if (solver_.solve(options_.deadline) != LpStatus::Optimal) {
        throw UserError(fmt::format(
            "AllReduce on '{}' has no proven optimum within {}; its algbw is at most {} link units "
            "({} cuts)",
            graph_.name,
            options_.deadline.over() ? fmt::format("{} s", options_.deadline.limit_s())
                                     : counted(options_.max_iterations, "iteration"),
            best_, cuts_.size()));
      }
      best_ = -solver_.objective();
      if (separate_rounded()) continue;
      std::optional<AllReduceShares> shares = exact_shares();
      if (shares) return std::move(*shares);
    }
  }

 private:
  bool add(const ShareCut& cut) {
    if (!add_cut_row(graph_, columns_, cut, rows_)) return false;
    cuts_.push_back(cut);
    return true;
  }

  bool separate(const WholeShares& whole, std::int64_t slack) {
    bool found = false;
    for (std::size_t way = 0; way < flows_.size(); ++way) {
      flows_[way]->set(whole.shares, whole.by_direction[way]);
      for (const int target : columns_.targets) {
        const std::optional<ShareCut> cut = flows_[way]->violated(target, slack);
        if (cut && add(*cut)) found = true;
      }
    }
    return found;
  }

  bool separate_rounded() {
    constexpr double kScale = 1e7;
    constexpr std::int64_t kSlack = 1000;
    const std::vector<double> values = solver_.solution();
    const WholeShares whole(graph_, columns_, [&](int column) {
      return std::max<std::int64_t>(0, std::llround(values[at(column)] * kScale));
    });
    return separate(whole, kSlack);
  }

  // The solution as fractions, with its proof; none if it violated further cuts, which were added.
  std::optional<AllReduceShares> exact_shares() {
    const std::vector<double> values = solver_.solution();
    const std::optional<ExactSolution> solution = certify_solution(program_, values);
    const auto denominator =
        solution ? common_denominator(solution->values) : std::optional<std::int64_t>{};
    if (!denominator) {
      throw UserError(
          fmt::format("the AllReduce shares on '{}' do not round to exact fractions; "
                      "algbw is at most about {} link units",
                      graph_.name, best_));
    }
    if (solution->cost == Rational(0)) {
      throw UserError(fmt::format("AllReduce on '{}' is impossible: some rank cannot reach another",
                                  graph_.name));
    }
    WholeShares whole(graph_, columns_, [&](int column) {
      return numerator_over(solution->values[at(column)], *denominator);
    });
    if (separate(whole, 0)) return std::nullopt;
    std::optional<DualCertificate> certificate = certify_dual(program_, solver_.duals());
    if (!certificate || certificate->bound != solution->cost) {
      throw UserError(
          fmt::format("the AllReduce bound on '{}' is not proved exactly; algbw is at "
                      "least {} and at most about {} link units",
                      graph_.name, text_of(-solution->cost), best_));
    }
    AllReduceShares result;
    result.algbw = -solution->cost;
    std::int64_t divisor = *denominator;
    for (auto* numbers : {&whole.shares, &whole.by_direction[0], &whole.by_direction[1]}) {
      for (const std::int64_t number : *numbers) divisor = std::gcd(divisor, number);
    }
    for (auto* numbers : {&whole.shares, &whole.by_direction[0], &whole.by_direction[1]}) {
      for (std::int64_t& number : *numbers) number /= divisor;
    }
    result.parts_per_unit = *denominator / divisor;
    result.counts = std::move(whole.shares);
    result.gather_units = std::move(whole.by_direction[0]);
    result.reduce_units = std::move(whole.by_direction[1]);
    result.cuts = std::move(cuts_);
    result.certificate = std::move(*certificate);
    return result;
  }

  const FlowGraph& graph_;
  const AllReduceOptions& options_;
  ShareColumns columns_;
  ExactProgram program_;
  RowSet rows_;
  std::vector<ShareCut> cuts_;
  std::vector<std::unique_ptr<ShareFlow>> flows_;  // gather; reduce unless duplex
  LinearProgram solver_;
  double best_ = kUnbounded;
};

}  // namespace

AllReduceShares allreduce_shares(const FlowGraph& graph, const AllReduceOptions& options) {
  return CuttingPlanes(graph, options).solve();
}

std::string check_allreduce_shares(const FlowGraph& graph, const AllReduceOptions& options,
                                   const AllReduceShares& shares) {
  const std::vector<char> participates = participants(graph, options.group);
  const std::size_t edges = graph.edges.size();
  if (shares.counts.size() != at(graph.ranks) || shares.gather_units.size() != edges ||
      shares.reduce_units.size() != edges || shares.parts_per_unit < 1) {
    return "the shares do not belong to this flow graph";
  }
  for (std::size_t k = 0; k < edges; ++k) {
    const std::int64_t gather = shares.gather_units[k];
    const std::int64_t reduce = shares.reduce_units[k];
    const std::int64_t capacity = graph.edges[k].units * shares.parts_per_unit;
    if (gather >= 0 && reduce >= 0 && gather <= capacity - reduce) continue;
    return fmt::format("edge {} carries {} parts of out-trees and {} of in-trees; it has {}", k,
                       gather, reduce, capacity);
  }
  for (int node = 0; node < graph.nodes; ++node) {
    if (!conserves(graph, participates, node)) continue;
    for (const auto* units : {&shares.gather_units, &shares.reduce_units}) {
      std::int64_t excess = 0;
      for (std::size_t k = 0; k < edges; ++k) {
        if (graph.edges[k].target == node) excess += (*units)[k];
        if (graph.edges[k].source == node) excess -= (*units)[k];
      }
      if (excess != 0) {
        return fmt::format("node {} receives {} parts more than it sends; it cannot compute", node,
                           excess);
      }
    }
  }
  std::int64_t total = 0;
  for (int rank = 0; rank < graph.ranks; ++rank) {
    const std::int64_t count = shares.counts[at(rank)];
    if (count < 0 || (count > 0 && !participates[at(rank)])) {
      return fmt::format("rank {} has {} parts", rank, count);
    }
    total += count;
  }
  if (Rational(total, shares.parts_per_unit) != shares.algbw) {
    return fmt::format("the shares add up to {} parts of 1/{} link unit; expected {}", total,
                       shares.parts_per_unit, text_of(shares.algbw));
  }
  ShareColumns every_rank;
  every_rank.of_node.assign(at(graph.nodes), -1);
  for (int rank = 0; rank < graph.ranks; ++rank) {
    if (participates[at(rank)]) every_rank.of_node[at(rank)] = rank;
  }
  for (const bool reduce : {false, true}) {
    ShareFlow flow(graph, every_rank, reduce);
    flow.set(shares.counts, reduce ? shares.reduce_units : shares.gather_units);
    for (int rank = 0; rank < graph.ranks; ++rank) {
      if (!participates[at(rank)] || !flow.violated(rank, 0)) continue;
      return fmt::format("the {} of all roots do not fit at rank {}",
                         reduce ? "in-trees" : "out-trees", rank);
    }
  }
  try {
    if (shares.certificate.program != allreduce_program(graph, options, shares.cuts)) {
      return "the certificate is about another linear program than that of the cuts";
    }
  } catch (const UserError& error) {
    return error.what();
  }
  if (shares.certificate.bound != -shares.algbw) {
    return fmt::format("the certificate proves {}; the shares reach {}",
                       text_of(-shares.certificate.bound), text_of(shares.algbw));
  }
  return check_dual(shares.certificate);
}

}  // namespace cclgym::synthesis
