#include <algorithm>
#include <fmt/format.h>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/strategies/make_programs.hpp"
#include "synthesis/strategies/request.hpp"
#include "synthesis/strategies/work.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/part_counts.hpp"
#include "synthesis/throughput/rails.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::int64_t kMaxTrees = 24;  // per root
const Rational kWorthATree(97, 100);    // rounds must fall to this part of the best so far
constexpr int kMaxRanksOfParts = 2 * kMaxParetoRanks;  // the search takes 0.2 s for 32 ranks
constexpr int kMaxShallowRanks = 64;                   // more would take seconds

class TreeSynthesis {
 public:
  explicit TreeSynthesis(SynthesisWork& work) : work_(work) {}

  void run() {
    switch (work_.collective) {
      case CollectiveKind::AllGather:
      case CollectiveKind::ReduceScatter:
      case CollectiveKind::Broadcast:
      case CollectiveKind::Reduce:
        add_tree_programs();
        break;
      case CollectiveKind::AllReduce:
        add_tree_programs();
        add_free_shares();
        break;
      case CollectiveKind::AllToAll:
        add_flow_programs(work_);
        break;
      default:
        work_.made.notes.push_back(fmt::format("Trees do not help {}: no chunk has two targets.",
                                               to_string(work_.collective)));
    }
  }

 private:
  // Numbers of trees per root that are worth a program: few trees need few thread blocks, many come
  // nearer to the bound.
  [[nodiscard]] std::vector<std::int64_t> numbers_of_trees() const {
    std::vector<std::int64_t> numbers;
    Rational best{0};
    const Rational bound = is_inverted(work_.collective) ? work_.reduce_bound : work_.copy_bound;
    for (std::int64_t trees = 1; trees <= kMaxTrees; ++trees) {
      const Rational rounds = allgather_bound_of_trees(
          is_inverted(work_.collective) ? work_.graph.reversed() : work_.graph, trees,
          work_.options.group);
      const bool better = best == Rational(0) || rounds < best * kWorthATree;
      if (better || (rounds == bound && best != bound)) {
        numbers.push_back(trees);
        best = rounds;
      }
      if (rounds == bound) break;
    }
    return numbers;
  }

  void add_tree_programs() {
    if (add_rails()) return;
    if (is_rooted(work_.collective)) {
      add_packed(trees_of_root());
      return;
    }
    for (const std::int64_t trees : numbers_of_trees()) add_packed(trees);
    if (is_composed(work_.collective)) add_parts();
  }

  [[nodiscard]] bool is_small() const { return work_.graph.ranks <= kMaxShallowRanks; }

  // As many trees as the narrowest cut has units; if these are too many, the smallest number that
  // comes near the best.
  [[nodiscard]] std::int64_t trees_of_root() const {
    const bool inverted = is_inverted(work_.collective);
    const Rational bound = inverted ? work_.reduce_bound : work_.copy_bound;
    const std::int64_t units = bound.denominator() / bound.numerator();
    if (units <= kMaxTrees) return units;
    const FlowGraph graph = inverted ? work_.graph.reversed() : work_.graph;
    std::vector<Rational> rounds;
    for (std::int64_t trees = 1; trees <= kMaxTrees; ++trees) {
      rounds.push_back(capacity_of_root(graph, work_.options.root, trees, work_.options.group) /
                       trees);
    }
    const Rational near = *std::min_element(rounds.begin(), rounds.end()) / kWorthATree;
    const auto first = std::find_if(rounds.begin(), rounds.end(),
                                    [&](const Rational& each) { return each <= near; });
    return first - rounds.begin() + 1;
  }

  // Shallow trees of clusters whose servers are equal.
  bool add_rails() {
    const std::optional<int> per_server = work_.fabric.ranks_per_server();
    if (!per_server || work_.fabric.servers() < 2 || is_rooted(work_.collective) ||
        !work_.options.group.empty()) {
      return false;
    }
    TreePlan plan{.graph = work_.graph};
    const std::optional<RailTrees> copies = pack_rails(work_.graph, *per_server);
    const std::optional<RailTrees> reductions = pack_rails(work_.graph.reversed(), *per_server);
    if (!copies || !reductions) return false;
    if (!is_inverted(work_.collective)) plan.outward = copies->packing;
    if (is_inverted(work_.collective) || is_composed(work_.collective))
      plan.inward = reductions->packing;
    add_tree_plan(std::move(plan), "rails");
    return true;
  }

  [[nodiscard]] TreePacking packed(const FlowGraph& graph, std::int64_t trees) const {
    if (!is_rooted(work_.collective)) {
      return pack_allgather(
          graph, {.group = work_.options.group, .trees_per_root = trees, .shallow = is_small()});
    }
    const int root = work_.options.root;
    std::vector<std::int64_t> counts(at(graph.ranks), 0);
    counts[at(root)] = trees;
    return with_capacity(graph, capacity_of_root(graph, root, trees, work_.options.group), counts);
  }

  // counts[r] trees of each rank r; a link of c units has floor(c * capacity) of them.
  [[nodiscard]] TreePacking with_capacity(const FlowGraph& graph, const Rational& capacity,
                                          const std::vector<std::int64_t>& counts) const {
    std::int64_t parts = 0;
    for (const std::int64_t count : counts) parts += count;
    TreePacking packing = pack_trees(graph, floor_capacities(graph, capacity, parts), counts,
                                     work_.options.group, SplitMethod::Even, is_small());
    packing.capacity_numerator = capacity.numerator();
    packing.capacity_denominator = capacity.denominator();
    return packing;
  }

  // `trees` per root.
  void add_packed(std::int64_t trees) {
    TreePlan plan{.graph = work_.graph};
    try {
      if (!is_inverted(work_.collective)) plan.outward = packed(work_.graph, trees);
      if (is_inverted(work_.collective) || is_composed(work_.collective)) {
        plan.inward = packed(work_.graph.reversed(), trees);
      }
      add_tree_plan(std::move(plan), fmt::format("trees-{}", trees));
    } catch (const UserError& error) {
      work_.made.notes.push_back(fmt::format("No trees: {}", error.what()));
    }
  }

  // Trees of an AllReduce with one or two parts per root, if they are better than one part each.
  void add_parts() {
    if (work_.graph.ranks > kMaxRanksOfParts) return;
    const Rational half = std::max(work_.copy_bound, work_.reduce_bound);
    const std::optional<PartCounts> found =
        few_parts(work_.graph, work_.options.group, half / kWorthATree);
    // Equal counts are those of a number of trees per root.
    if (!found || found->parts % work_.members() == 0) return;
    const Rational rounds = found->capacity * work_.members() / found->parts;
    const Rational of_one = allgather_bound_of_trees(work_.graph, 1, work_.options.group);
    if (rounds >= of_one * kWorthATree) return;
    try {
      TreePlan plan{.graph = work_.graph};
      plan.outward = with_capacity(work_.graph, found->capacity, found->counts);
      plan.inward = with_capacity(work_.graph.reversed(), found->capacity, found->counts);
      add_tree_plan(std::move(plan), fmt::format("parts-{}", found->parts));
    } catch (const UserError& error) {
      work_.made.notes.push_back(
          fmt::format("No trees of {} parts: {}", found->parts, error.what()));
    }
  }

  // Trees of these shares, if they beat a ReduceScatter and an AllGather.
  void add_free_shares() {
    if (!work_.shares ||
        work_.shares->algbw * (work_.copy_bound + work_.reduce_bound) <= Rational(work_.members()))
      return;
    try {
      TreePlan plan{.graph = work_.graph};
      plan.outward = pack_trees(work_.graph, work_.shares->gather_units, work_.shares->counts,
                                work_.options.group);
      plan.inward = pack_trees(work_.graph.reversed(), work_.shares->reduce_units,
                               work_.shares->counts, work_.options.group);
      std::int64_t parts = 0;
      for (const std::int64_t count : work_.shares->counts) parts += count;
      add_tree_plan(std::move(plan), fmt::format("shares-{}", parts));
    } catch (const UserError&) {
      work_.made.notes.push_back(
          "Shares per root are left out: they need switches that copy and add, which trees of "
          "messages cannot use.");
    }
  }

  void add_tree_plan(TreePlan plan, const std::string& variant) {
    if (work_.record) work_.record->trees(plan.inward, plan.outward);
    SynthesizedProgram program =
        make_tree_program(work_.fabric, std::move(plan), work_.request(variant));
    work_.set_optimal(program);
    work_.say(fmt::format("{}: {}, {}, {} per GPU", program.name,
                          counted(program.program->channels, "channel"),
                          counted(program.steps, "step"),
                          counted(program.program->most_resident_blocks(), "thread block")));
    work_.made.programs.push_back(std::move(program));
  }

  SynthesisWork& work_;
};

}  // namespace

void add_tree_programs(SynthesisWork& work) { TreeSynthesis(work).run(); }

}  // namespace cclgym::synthesis
