// Baselines trained beforehand on a machine without noise: a table by size, and an SVM.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/baselines/svm.hpp"
#include "agents/baselines/tuning_policy.hpp"

namespace cclgym {

/// Noiseless times of all legal actions at several sizes: the measurements of offline tuning.
struct OfflineSweep {
  std::vector<std::uint64_t> sizes;         ///< ascending
  std::vector<std::vector<double>> time_s;  ///< by size, then by position in legal_actions
};
[[nodiscard]] OfflineSweep sweep_offline(const TuningSetup& setup, CollectiveKind collective,
                                         std::size_t sizes);

/// A small set of actions such that at every size of a sweep, at least one of them takes at most
/// (1 + tolerance) times as long as the best action; and the fastest of them at each size. Chosen
/// greedily: first the action that covers the largest number of sizes; ties go to the minimum total
/// time at these sizes.
struct SweepClasses {
  std::vector<std::size_t> actions;   ///< positions in legal_actions
  std::vector<std::size_t> class_of;  ///< by size: index into actions
};
[[nodiscard]] SweepClasses classify(const OfflineSweep& sweep, double tolerance);

/// "table": takes the fastest action of a sweep of the powers of two from 1 KiB to 1 GiB of the
/// collective. A size in between takes the action of the next smaller size, as in tune-dispatch's
/// tables.
class TablePolicy : public TuningPolicy {
 public:
  static constexpr std::size_t kSizes = 21;
  TablePolicy() : TuningPolicy("table") {}

 protected:
  void begin_setup(const TuningSetup& setup) override { (void)setup, tables_.clear(); }
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  /// Best action (position in legal_actions) by the size from which it applies.
  std::map<CollectiveKind, std::map<std::uint64_t, std::size_t>> tables_;
};

/// "svm": PCCL's dispatcher (Singh et al. 2025, section IV-C): one support vector machine per
/// collective on (log2 size, log2 ranks), trained on the best action of each cell.
///
/// PCCL chooses among five libraries. Among thousands of actions few are the best twice, so the
/// classes here come from classify() with tolerance 1 % at the powers of two from 1 KiB to 1 GiB.
class SvmPolicy : public TuningPolicy {
 public:
  static constexpr std::size_t kSizes = 21;
  SvmPolicy() : TuningPolicy("svm") {}

  /// Fraction of held-out cells classified correctly; NaN before the first call of the collective.
  [[nodiscard]] double test_accuracy(CollectiveKind collective) const;

 protected:
  void begin_setup(const TuningSetup& setup) override { (void)setup, models_.clear(); }
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  struct Model {
    SweepClasses classes;
    std::unique_ptr<const SvmClassifier> classifier;
  };
  std::map<CollectiveKind, Model> models_;
};

}  // namespace cclgym
