#include "synthesis/strategies/synthesize.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/allreduce_shares.hpp"
#include "synthesis/flows/alltoall.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "synthesis/sccl/pareto.hpp"
#include "synthesis/strategies/evidence_record.hpp"
#include "synthesis/strategies/make_programs.hpp"
#include "synthesis/throughput/bound.hpp"
#include "synthesis/throughput/pack.hpp"
#include "synthesis/throughput/rails.hpp"

namespace cclgym::synthesis {

namespace {

constexpr int kMaxInstances = 8;
constexpr int kMaxChannelsOfSteps = 24;  // more thread blocks than that rarely fit on a GPU
constexpr double kShareSeconds = 3;      // limit on the search for shares of roots: most need 0.1 s
constexpr std::int64_t kMaxTrees = 24;   // per root
const Rational kWorthATree(97, 100);     // rounds must fall to this part of the best so far
constexpr int kMaxUnits = 16;            // per link: more would need too many chunks

// True for AllReduce, whose schedules are those of a ReduceScatter and an AllGather.
bool is_composed(CollectiveKind collective) { return collective == CollectiveKind::AllReduce; }

bool is_inverted(CollectiveKind collective) {
  return collective == CollectiveKind::ReduceScatter || collective == CollectiveKind::Reduce;
}

CollectiveKind copied(CollectiveKind collective) {
  return is_composed(collective) ? CollectiveKind::AllGather : inverse_collective(collective);
}

class Synthesizer {
 public:
  Synthesizer(const Fabric& fabric, CollectiveKind collective, const SynthesisOptions& options)
      : fabric_(fabric),
        collective_(collective),
        options_(options),
        graph_(make_flow_graph(fabric)),
        start_(std::chrono::steady_clock::now()) {
    if (!options.certificates) return;
    record_.emplace(fabric, graph_, CertificateSubject{collective, options.root, options.group});
  }

  Synthesis run() {
    // Checks the group and the root before anything is searched.
    (void)make_demand(copied(collective_), fabric_.ranks(), 1, options_.root, options_.group);
    bound_rounds();
    if (options_.pareto) add_steps();
    if (options_.throughput) add_trees();
    finish();
    return std::move(made_);
  }

 private:
  [[nodiscard]] double left_s() const {
    return options_.time_limit_s -
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void say(const std::string& sentence) const {
    if (options_.on_progress) options_.on_progress(sentence);
  }

  void set_bounds(const CutBound& copies, const CutBound& reductions) {
    copy_bound_ = copies.value;
    reduce_bound_ = reductions.value;
    if (record_) record_->cuts(copies, reductions);
  }

  // Rounds of a link unit of the graph, per chunk of make_demand; 0 if no bound is known.
  void bound_rounds() {
    switch (copied(collective_)) {
      case CollectiveKind::AllGather:
        set_bounds(allgather_bound(graph_, options_.group),
                   allgather_bound(graph_.reversed(), options_.group));
        if (is_composed(collective_)) find_shares();
        break;
      case CollectiveKind::Broadcast:
        set_bounds(broadcast_bound(graph_, options_.root, options_.group),
                   broadcast_bound(graph_.reversed(), options_.root, options_.group));
        break;
      case CollectiveKind::AllToAll:
        if (fabric_.ranks() <= kMaxParetoRanks) {
          try {
            const auto flow = alltoall_flow(graph_, {.group = options_.group, .paths = false});
            copy_bound_ = flow.rounds;
            if (record_) record_->lengths(flow);
          } catch (const UserError&) {
            made_.notes.push_back("The bound on the rounds of AllToAll is not known exactly.");
          }
        }
        break;
      default:
        break;
    }
  }

  // Bound of this collective per chunk of SCCL's C, in link units of the graph.
  [[nodiscard]] Rational bound() const {
    const int factor = sccl_chunk_factor(collective_, members());
    if (shares_) return 1 / shares_->algbw;
    if (is_composed(collective_)) return (copy_bound_ + reduce_bound_) / factor;
    return (is_inverted(collective_) ? reduce_bound_ : copy_bound_) / factor;
  }

  [[nodiscard]] int members() const {
    return options_.group.empty() ? fabric_.ranks() : static_cast<int>(options_.group.size());
  }

  [[nodiscard]] ProgramRequest request(const std::string& variant) const {
    return {.name = fmt::format("{}{}-{}", options_.prefix, to_string(collective_), variant),
            .collective = collective_,
            .root = options_.root,
            .group = options_.group,
            .fuse = options_.fuse};
  }

  void add_steps() {
    if (fabric_.ranks() > kMaxParetoRanks) {
      made_.notes.push_back(
          fmt::format("Step schedules are searched for up to {} ranks; this "
                      "fabric has {}.",
                      kMaxParetoRanks, fabric_.ranks()));
      return;
    }
    Instance instance = make_instance(fabric_);
    std::int64_t units = 1;
    for (const Limit& limit : instance.limits) units = std::max(units, limit.units);
    if (units > kMaxUnits) {
      made_.notes.push_back(
          fmt::format("Step schedules are left out: the fastest link is {} times "
                      "the link unit, and more than {} need too many chunks.",
                      units, kMaxUnits));
      return;
    }
    if (!options_.group.empty()) {
      made_.notes.push_back("Step schedules are searched for all ranks, not for a group.");
      return;
    }
    ParetoFront copies;
    ParetoFront reductions;
    if (!is_inverted(collective_)) copies = front_of(instance, copied(collective_));
    if (is_inverted(collective_)) reductions = front_of(instance, collective_);
    if (is_composed(collective_)) {
      reductions = front_of(instance, CollectiveKind::ReduceScatter);
    }
    // Some AllReduce may take fewer steps than a ReduceScatter and an AllGather.
    made_.min_steps = std::max(copies.min_steps, reductions.min_steps);
    if (is_composed(collective_)) {
      for (const ParetoPoint& reduction : reductions.points) {
        for (const ParetoPoint& copy : copies.points) {
          if (reduction.triple.chunks == copy.triple.chunks) {
            add_step_program(instance, &reduction, &copy);
          }
        }
      }
      return;
    }
    for (const ParetoPoint& point : copies.points) add_step_program(instance, nullptr, &point);
    for (const ParetoPoint& point : reductions.points) add_step_program(instance, &point, nullptr);
  }

  ParetoFront front_of(const Instance& instance, CollectiveKind collective) {
    const double share = is_composed(collective_) ? 0.5 : 1;
    ParetoFront front =
        pareto_front(instance, collective, options_.root,
                     {.time_limit_s = std::max(options_.time_limit_s * share, 0.01)});
    for (const ParetoPoint& point : front.points) {
      say(fmt::format("{}: {} chunks, {} steps, {} rounds; proof: {}", to_string(collective),
                      point.triple.chunks, point.triple.steps, point.triple.rounds,
                      to_string(point.proof)));
    }
    if (!front.complete) {
      made_.notes.push_back(fmt::format(
          "The front of {} may go on: {} triples (chunks, steps, rounds) are undecided.",
          to_string(collective), front.open.size()));
    }
    if (record_) record_->front(instance, collective, front, options_.time_limit_s * share);
    return front;
  }

  void add_step_program(const Instance& instance, const ParetoPoint* reduction,
                        const ParetoPoint* copy) {
    const int chunks = copy != nullptr ? copy->triple.chunks : reduction->triple.chunks;
    StepPlan plan{.instance = instance,
                  .demand = make_demand(copied(collective_), fabric_.ranks(), chunks, options_.root,
                                        options_.group)};
    int steps = 0;
    int rounds = 0;
    for (const ParetoPoint* point : {reduction, copy}) {
      if (point == nullptr) continue;
      steps += point->schedule.steps();
      rounds += point->schedule.total_rounds();
    }
    // Plans have schedules of the inverse on reversed hops.
    if (reduction != nullptr) plan.reduce = reversed(reduction->schedule);
    if (copy != nullptr) plan.copy = copy->schedule;
    const int all_chunks = chunks * sccl_chunk_factor(collective_, fabric_.ranks());
    const std::string triple = fmt::format("{}-{}-{}", all_chunks, steps, rounds);
    // Different pairs of schedules may have the same costs.
    const std::string name = request(triple).name;
    for (const SynthesizedProgram& other : made_.programs) {
      if (other.name == name) return;
    }
    // One thread block cannot fill a link: copies of the program share the data.
    for (int instances = 1; instances <= kMaxInstances; instances *= 2) {
      ProgramRequest wanted =
          request(instances == 1 ? triple : fmt::format("{}-r{}", triple, instances));
      wanted.instances = instances;
      SynthesizedProgram program = make_step_program(fabric_, plan, chunks, wanted);
      if (program.program->channels > kMaxChannelsOfSteps && instances > 1) break;
      set_optimal(program);
      made_.programs.push_back(std::move(program));
    }
  }

  void set_optimal(SynthesizedProgram& program) const {
    const Rational least = bound() * Rational(units_in(program.unit_Bps));
    const bool bandwidth = least > Rational(0) && program.rounds_per_chunk() <= least;
    program.optimal = bandwidth ? "bandwidth" : "";
  }

  // Link units of the graph in a link unit of this bandwidth.
  [[nodiscard]] std::int64_t units_in(double unit_Bps) const {
    return static_cast<std::int64_t>(unit_Bps / graph_.unit_Bps + 0.5);
  }

  // Puts all programs in the order of their steps, and their rounds into the widest link unit.
  void finish() {
    double widest_Bps = graph_.unit_Bps;
    for (const SynthesizedProgram& program : made_.programs) {
      widest_Bps = std::max(widest_Bps, program.unit_Bps);
    }
    made_.min_rounds = bound() * Rational(units_in(widest_Bps));
    if (record_) {
      made_.certificates = record_->take(widest_Bps);
      for (const std::string& note : record_->notes()) made_.notes.push_back(note);
    }
    for (SynthesizedProgram& program : made_.programs) {
      program.rounds *= Rational(units_in(widest_Bps), units_in(program.unit_Bps));
      program.unit_Bps = widest_Bps;
      if (made_.min_steps == 0 || program.steps > made_.min_steps) continue;
      program.optimal = program.optimal.empty() ? "latency" : "latency and bandwidth";
    }
    std::stable_sort(
        made_.programs.begin(), made_.programs.end(),
        [](const SynthesizedProgram& a, const SynthesizedProgram& b) { return a.steps < b.steps; });
  }

  void add_trees() {
    switch (collective_) {
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
      default:
        made_.notes.push_back(
            fmt::format("Trees do not help {}: no chunk has two targets.", to_string(collective_)));
    }
  }

  // Numbers of trees per root that are worth a program: few trees need few thread blocks, many come
  // nearer to the bound.
  [[nodiscard]] std::vector<std::int64_t> numbers_of_trees() const {
    std::vector<std::int64_t> numbers;
    Rational best{0};
    const Rational bound = is_inverted(collective_) ? reduce_bound_ : copy_bound_;
    for (std::int64_t trees = 1; trees <= kMaxTrees; ++trees) {
      const Rational rounds = allgather_bound_of_trees(
          is_inverted(collective_) ? graph_.reversed() : graph_, trees, options_.group);
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
    if (is_rooted(collective_)) {
      add_packed(0);
      return;
    }
    std::vector<std::int64_t> numbers = numbers_of_trees();
    for (const std::int64_t trees : numbers) add_packed(trees);
  }

  // Shallow trees of clusters whose servers are equal.
  bool add_rails() {
    const std::optional<int> per_server = fabric_.ranks_per_server();
    if (!per_server || fabric_.servers() < 2 || is_rooted(collective_) || !options_.group.empty()) {
      return false;
    }
    TreePlan plan{.graph = graph_};
    const std::optional<RailTrees> copies = pack_rails(graph_, *per_server);
    const std::optional<RailTrees> reductions = pack_rails(graph_.reversed(), *per_server);
    if (!copies || !reductions) return false;
    if (!is_inverted(collective_)) plan.outward = copies->packing;
    if (is_inverted(collective_) || is_composed(collective_)) plan.inward = reductions->packing;
    add_tree_plan(std::move(plan), "rails");
    return true;
  }

  // `trees` per root; 0: a rooted collective, with as many trees as its narrowest cut has units.
  [[nodiscard]] TreePacking packed(const FlowGraph& graph, std::int64_t trees,
                                   const Rational& bound) const {
    if (trees > 0) return pack_allgather(graph, {.group = options_.group, .trees_per_root = trees});
    std::vector<std::int64_t> capacities;
    for (const FlowEdge& edge : graph.edges) capacities.push_back(edge.units);
    std::vector<std::int64_t> counts(at(graph.ranks), 0);
    counts[at(options_.root)] = bound.denominator() / bound.numerator();
    return pack_trees(graph, capacities, counts, options_.group);
  }

  void add_packed(std::int64_t trees) {
    TreePlan plan{.graph = graph_};
    try {
      if (!is_inverted(collective_)) plan.outward = packed(graph_, trees, copy_bound_);
      if (is_inverted(collective_) || is_composed(collective_)) {
        plan.inward = packed(graph_.reversed(), trees, reduce_bound_);
      }
      const TreePacking& first = plan.outward ? *plan.outward : *plan.inward;
      const std::int64_t parts = first.trees_of(first.trees.front().root);
      if (parts > kMaxTrees) {
        made_.notes.push_back(
            fmt::format("{} trees per root are left out: more than {} have too many chunks.", parts,
                        kMaxTrees));
        return;
      }
      add_tree_plan(std::move(plan), fmt::format("trees-{}", parts));
    } catch (const UserError& error) {
      made_.notes.push_back(fmt::format("No trees: {}", error.what()));
    }
  }

  // Optimal shares of the roots of an AllReduce, each of any size.
  void find_shares() {
    if (fabric_.ranks() > 2 * kMaxParetoRanks) return;
    try {
      shares_ = allreduce_shares(
          graph_, {.group = options_.group, .time_limit_s = std::min(left_s(), kShareSeconds)});
      if (record_) record_->shares(*shares_);
    } catch (const UserError& error) {
      made_.notes.push_back(fmt::format("No shares per root: {}", error.what()));
    }
  }

  // Trees of these shares, if they beat a ReduceScatter and an AllGather.
  void add_free_shares() {
    if (!shares_ || shares_->algbw * (copy_bound_ + reduce_bound_) <= Rational(members())) return;
    try {
      TreePlan plan{.graph = graph_};
      plan.outward = pack_trees(graph_, shares_->gather_units, shares_->counts, options_.group);
      plan.inward =
          pack_trees(graph_.reversed(), shares_->reduce_units, shares_->counts, options_.group);
      std::int64_t parts = 0;
      for (const std::int64_t count : shares_->counts) parts += count;
      add_tree_plan(std::move(plan), fmt::format("shares-{}", parts));
    } catch (const UserError&) {
      made_.notes.push_back(
          "Shares per root are left out: they need switches that copy and add, which trees of "
          "messages cannot use.");
    }
  }

  void add_tree_plan(TreePlan plan, const std::string& variant) {
    if (record_) record_->trees(plan.inward, plan.outward);
    SynthesizedProgram program = make_tree_program(fabric_, std::move(plan), request(variant));
    set_optimal(program);
    say(fmt::format("{}: {} channels, {} steps, {} thread blocks per GPU", program.name,
                    program.program->channels, program.steps,
                    program.program->most_resident_blocks()));
    made_.programs.push_back(std::move(program));
  }

  const Fabric& fabric_;
  CollectiveKind collective_;
  const SynthesisOptions& options_;
  FlowGraph graph_;
  std::chrono::steady_clock::time_point start_;
  Rational copy_bound_{0};
  Rational reduce_bound_{0};
  std::optional<AllReduceShares> shares_;
  std::optional<EvidenceRecord> record_;
  Synthesis made_;
};

}  // namespace

Synthesis synthesize(const Fabric& fabric, CollectiveKind collective,
                     const SynthesisOptions& options) {
  return Synthesizer(fabric, collective, options).run();
}

}  // namespace cclgym::synthesis
