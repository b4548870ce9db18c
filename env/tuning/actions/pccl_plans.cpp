#include "env/tuning/actions/pccl_plans.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "core/index.hpp"

namespace cclgym {

namespace {

enum Division : std::uint8_t { DivisionNodes, DivisionFlat, DivisionPairs, DivisionFirstSplit };
constexpr int kNodeSplits[] = {2, 4, 16};

// Ranks of a fabric whose nodes are alike.
struct PcclMachine {
  int gpus = 1;
  int nodes = 1;
  int nics = 0;
};

std::optional<PcclMachine> pccl_machine(const Fabric& fabric) {
  const std::optional<int> gpus = fabric.ranks_per_server();
  if (!gpus || fabric.ranks() < 2) return std::nullopt;
  PcclMachine machine{.gpus = *gpus, .nodes = fabric.ranks() / *gpus};
  for (const Node& node : fabric.nodes()) {
    machine.nics += node.kind == NodeKind::Nic && node.server == 0 ? 1 : 0;
  }
  return machine;
}

// Factors of a division, innermost first; empty if it does not fit the machine.
std::vector<int> factors_of(std::size_t division, const PcclMachine& machine) {
  const auto [gpus, nodes, nics] = machine;
  if (division == DivisionFlat) return {gpus * nodes};
  if (gpus < 2) return {};
  if (division == DivisionNodes) return nodes > 1 ? std::vector{gpus, nodes} : std::vector<int>{};
  if (division == DivisionPairs) {
    if (gpus < 4 || gpus % 2 != 0) return {};
    return nodes > 1 ? std::vector{2, gpus / 2, nodes} : std::vector{2, gpus / 2};
  }
  const int split = kNodeSplits[division - DivisionFirstSplit];
  if (nodes <= split || nodes % split != 0) return {};
  return {gpus, split, nodes / split};
}

// Number of innermost levels, which are inside nodes and run rings, as in PCCL.
std::size_t inside_nodes(const std::vector<int>& factors, const PcclMachine& machine) {
  int ranks = 1;
  std::size_t inside = 0;
  while (inside < factors.size() && ranks * factors[inside] <= machine.gpus) {
    ranks *= factors[inside++];
  }
  return machine.nodes > 1 ? inside : inside - 1;  // on one node, the outermost level has a choice
}

class PlanLister {
 public:
  PlanLister(const PcclMachine& machine, const std::function<bool(Knob, std::int32_t)>& allowed)
      : machine_(machine), allowed_(allowed) {}

  std::vector<PcclPlan> list() {
    for (std::size_t division = 0; division < pccl_levels(Knob::Hierarchy).size(); ++division) {
      factors_ = factors_of(division, machine_);
      if (!factors_.empty()) visit(0, division);
    }
    return std::move(plans_);
  }

 private:
  // Visits the levels of knob `i` and of those after it.
  void visit(std::size_t i, std::size_t division) {
    if (i == kPcclKnobs.size()) return add();
    const Knob knob = kPcclKnobs[i];
    const std::size_t count = pccl_levels(knob).size();
    for (std::size_t level = 0; level < count; ++level) {
      if (knob == Knob::Hierarchy && level != division) continue;
      const bool has_choice = has_meaning(knob);
      if (!has_choice && level > 0) break;
      if (has_choice && !(fits(knob, level) && allowed_(knob, static_cast<std::int32_t>(level)))) {
        continue;
      }
      levels_[i] = static_cast<std::int32_t>(level);
      visit(i + 1, division);
    }
    levels_[i] = 0;
  }

  [[nodiscard]] bool has_meaning(Knob knob) const {
    if (knob == Knob::Hierarchy || knob == Knob::Inter) return true;
    if (knob == Knob::Nic) return machine_.nodes > 1 && machine_.nics > 1;
    if (knob == Knob::Reduce) return machine_.nodes > 1;
    if (factors_.size() == 1) return false;
    return knob == Knob::Shuffle || (machine_.nodes > 1 && machine_.gpus > 1);
  }

  [[nodiscard]] bool fits(Knob knob, std::size_t level) const {
    if (knob == Knob::Inter && pccl_levels(knob)[level] == "recursive") {
      const auto first = static_cast<std::ptrdiff_t>(inside_nodes(factors_, machine_));
      return std::all_of(factors_.begin() + first, factors_.end(), [](int factor) {
        return std::has_single_bit(static_cast<unsigned>(factor));
      });
    }
    // Half of two groups is one.
    if (knob == Knob::Subcomms) return level != 1 || machine_.gpus > 2;
    return true;
  }

  void add() {
    const auto name = [&](Knob knob) -> const std::string& {
      return pccl_levels(knob)[at(level_of(knob))];
    };
    std::vector<std::string_view> algorithms(inside_nodes(factors_, machine_), "ring");
    algorithms.resize(factors_.size(), name(Knob::Inter));
    std::string program =
        fmt::format("hierarchical:{}:{}", fmt::join(factors_, "x"), fmt::join(algorithms, "+"));
    if (level_of(Knob::Shuffle) != 0) program += ":" + name(Knob::Shuffle);
    if (level_of(Knob::Subcomms) != 0) {
      program += fmt::format(":subcomms={}", level_of(Knob::Subcomms) == 1 ? machine_.gpus / 2 : 1);
    }
    if (level_of(Knob::Reduce) != 0) program += ":reduce=" + name(Knob::Reduce);
    if (level_of(Knob::Nic) != 0) program += ":nic=" + name(Knob::Nic);
    plans_.push_back({.levels = levels_, .program = std::move(program)});
  }

  [[nodiscard]] std::int32_t level_of(Knob knob) const {
    return PcclPlan{.levels = levels_, .program = {}}.level(knob);
  }

  PcclMachine machine_;
  const std::function<bool(Knob, std::int32_t)>& allowed_;
  std::vector<int> factors_;
  std::array<std::int32_t, kPcclKnobs.size()> levels_{};
  std::vector<PcclPlan> plans_;
};

}  // namespace

const std::vector<std::string>& pccl_levels(Knob knob) {
  static const std::vector<std::string> hierarchy = [] {
    std::vector<std::string> names{"nodes", "flat", "pairs"};
    for (const int split : kNodeSplits) names.push_back(fmt::format("nodes-{}", split));
    return names;
  }();
  static const std::vector<std::string> inter{"ring", "recursive", "bruck", "broadcast-reduce",
                                              "all-pairs"};
  static const std::vector<std::string> nic{"fabric", "round-robin", "topology-aware",
                                            "single-nic"};
  static const std::vector<std::string> reduce{"gpu", "host"};
  static const std::vector<std::string> subcomms{"all", "half", "one"};
  static const std::vector<std::string> shuffle{"after", "before", "avoided", "overlapped"};
  switch (knob) {
    case Knob::Hierarchy:
      return hierarchy;
    case Knob::Inter:
      return inter;
    case Knob::Nic:
      return nic;
    case Knob::Reduce:
      return reduce;
    case Knob::Subcomms:
      return subcomms;
    case Knob::Shuffle:
      return shuffle;
    default:
      throw std::logic_error("pccl_levels: not a knob of the engine");
  }
}

std::int32_t PcclPlan::level(Knob knob) const {
  const auto found = std::ranges::find(kPcclKnobs, knob);
  return levels[static_cast<std::size_t>(found - kPcclKnobs.begin())];
}

std::vector<PcclPlan> pccl_plans(const Fabric& fabric,
                                 const std::function<bool(Knob, std::int32_t)>& allowed) {
  const std::optional<PcclMachine> machine = pccl_machine(fabric);
  if (!machine) return {};
  return PlanLister(*machine, allowed).list();
}

}  // namespace cclgym
