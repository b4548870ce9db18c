// Trials of an agent itself: mean rewards by class of calls and action, budgets of
// exploration, and the best action so far, which it can imitate. Knows nothing but rewards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "core/random.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// How much is explored. A cell is a class of calls (size_class) and a level of the first knob, the
/// algorithm, on one machine (GC3 12.7: about 50 reward samples per cell, then narrow to cells with
/// much to gain; SCCL: a hard cap per size and collective).
struct ExplorationBudget {
  /// Samples of a cell before its class narrows to the algorithms that are nearly the best; 0: no
  /// cells, all actions are drawn alike.
  int samples = 0;
  /// Hard cap of the explored calls of a class; 0: none.
  int cap = 0;
  /// After that, only algorithms whose best reward is within this of the class's best are explored.
  double contenders = 0.1;
  /// True if a class begins with the rule of thumb: Tree LL, Ring LL128, Ring Simple by size.
  bool rule = true;
  /// Temperature with which the alpha-beta prior reduces the samples of a cell, to a fifth at
  /// least; 0: the prior is not used.
  double prior = 0.5;

  friend bool operator==(const ExplorationBudget&, const ExplorationBudget&) = default;
};

/// Knowledge of an agent before it has tried anything.
struct PriorKnowledge {
  /// Estimate of the log speedup of the best action with a level of the first knob, relative to the
  /// best of all: at most 0. Empty: no estimate.
  std::function<double(const Call& call, std::int32_t level)> level{};
  /// Action of the rule of thumb for a call; nullopt if it is not legal. Empty: no rule.
  std::function<std::optional<std::vector<std::int32_t>>(const Call& call)> rule{};
};

/// Experience on one machine. Reading is thread-safe; `merge` is not.
class Experience {
 public:
  /// A call as it was played.
  struct Trial {
    std::uint32_t call_class = 0;
    std::uint64_t action = 0;
    double reward = 0;
    bool explored = false;
  };
  /// Trials of one environment since the last merge, and their numbers.
  class Notes {
   public:
    void start();
    void add(const Trial& trial);
    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }

    /// Explored calls of a class.
    [[nodiscard]] int explored(std::uint32_t call_class) const;

   private:
    std::vector<Trial> trials_;
  };

  /// `levels` are the sizes of the action's dimensions.
  Experience(std::vector<std::size_t> levels, const ExplorationBudget& budget,
             PriorKnowledge prior = {});

  /// Draws an action to explore for a call, whose legal levels are `masks`. `slots` environments
  /// explore side by side and do not see each other's notes; budgets hold for all of them together.
  /// `weight` scales the samples of a cell. Returns false, without an action, if the budget is
  /// spent.
  [[nodiscard]] bool propose(const Call& call, const ConditionalMasks& masks, const Notes& notes,
                             std::size_t slots, double weight, Random& random,
                             std::span<std::int32_t> levels) const;
  /// The action of a class with the best mean reward, less the standard error that a single trial
  /// would have divided by the square root of its trials; nullopt if none was tried.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> best(const Call& call) const;
  /// Adds the notes of all environments, in their order.
  void merge(std::span<const Notes> notes);

  /// Trials of a cell, and explored calls of a class.
  [[nodiscard]] int samples(const Call& call, std::int32_t level) const;
  [[nodiscard]] int explored(const Call& call) const;

  [[nodiscard]] std::uint64_t code(std::span<const std::int32_t> levels) const;
  void decode(std::uint64_t action, std::span<std::int32_t> levels) const;
  [[nodiscard]] const ExplorationBudget& budget() const { return budget_; }

  /// State for checkpoints; the same state gives the same bytes.
  [[nodiscard]] std::string bytes() const;
  /// Replaces the state by that of bytes(); returns false, and changes nothing, if they are
  /// damaged.
  [[nodiscard]] bool restore(std::string_view bytes);

 private:
  struct Tried {
    std::uint64_t count = 0;
    double mean = 0;
    double squares = 0;  ///< sum of squared deviations from the mean
  };
  struct Class {
    std::uint64_t explored = 0;
    std::map<std::uint64_t, Tried> tried;
    std::map<std::int32_t, std::uint64_t> samples;  ///< by level of the first knob
  };
  [[nodiscard]] const Class* class_of(std::uint32_t call_class) const;
  /// Best action of each level of the first knob, with its score.
  struct Best {
    std::uint64_t action = 0;
    double score = 0;
  };
  [[nodiscard]] std::map<std::int32_t, Best> best_of(const Class& one) const;
  [[nodiscard]] std::optional<Best> best_of_all(const Class& one) const;
  [[nodiscard]] std::vector<std::int32_t> open_levels(const Call& call, const Class& own,
                                                      std::span<const std::uint8_t> legal,
                                                      const Notes& notes, std::size_t slots,
                                                      double weight) const;
  void draw(const Call& call, const Class& own, std::span<const std::int32_t> open,
            const ConditionalMasks& masks, Random& random, std::span<std::int32_t> levels) const;
  [[nodiscard]] static double deviation(const Class& one);
  [[nodiscard]] std::int32_t first_level(std::uint64_t action) const;
  void narrow(const Class& own, std::uint32_t call_class, const ConditionalMasks& masks,
              Random& random, std::span<std::int32_t> levels) const;
  void complete(std::size_t from, const ConditionalMasks& masks, Random& random,
                std::span<std::int32_t> levels) const;
  void mutate(std::uint64_t parent, const ConditionalMasks& masks, Random& random,
              std::span<std::int32_t> levels) const;

  std::vector<std::size_t> sizes_;
  ExplorationBudget budget_;
  PriorKnowledge prior_;
  std::map<std::uint32_t, Class> classes_;
};

}  // namespace cclgym
