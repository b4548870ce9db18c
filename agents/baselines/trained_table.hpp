// Baselines that are trained beforehand, on a machine without noise: a table by size, and an SVM.
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

/// The times of all legal actions at some sizes, without noise: what offline tuning measures.
struct OfflineSweep {
  std::vector<std::uint64_t> sizes;         ///< ascending
  std::vector<std::vector<double>> time_s;  ///< by size, then by place in legal_actions
};
[[nodiscard]] OfflineSweep sweep_offline(const TuningSetup& setup, CollectiveKind collective,
                                         std::size_t sizes);

/// A few actions such that every size of a sweep has one among them that is at most 1 + tolerance
/// times slower than its best (greedily the one that covers most sizes first, of equals the one of
/// the least total time there), and which of them is fastest at each size.
struct SweepClasses {
  std::vector<std::size_t> actions;   ///< places in legal_actions
  std::vector<std::size_t> class_of;  ///< by size: index into actions
};
[[nodiscard]] SweepClasses classify(const OfflineSweep& sweep, double tolerance);

/// "table": at each size what was fastest in a sweep of the powers of two from 1 KiB to 1 GiB for
/// this collective; sizes between two of them go with the smaller one, as tune-dispatch's tables
/// do.
class TablePolicy : public TuningPolicy {
 public:
  static constexpr std::size_t kSizes = 21;
  TablePolicy() : TuningPolicy("table") {}

 protected:
  void begin_setup(const TuningSetup& setup) override { (void)setup, tables_.clear(); }
  void choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) override;

 private:
  /// Best place in legal_actions from a size on.
  std::map<CollectiveKind, std::map<std::uint64_t, std::size_t>> tables_;
};

/// "svm": PCCL's dispatcher (Singh et al. 2025, section IV-C): for the machine and each collective
/// a support vector machine on (log2 size, log2 ranks), trained on the best action of each cell.
///
/// Its classes are those of classify with 1 % at the powers of two from 1 KiB to 1 GiB, since with
/// thousands of actions hardly any is best twice; PCCL chooses among five libraries.
class SvmPolicy : public TuningPolicy {
 public:
  static constexpr std::size_t kSizes = 21;
  SvmPolicy() : TuningPolicy("svm") {}

  /// Share of the held-out cells that it classifies rightly; NaN before the first call of the
  /// collective.
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
