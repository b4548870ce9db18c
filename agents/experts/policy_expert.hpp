// A baseline as an expert, for behaviour cloning of PCCL's SVM or of a sweep's table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"
#include "agents/experts/expert.hpp"

namespace cclgym {

/// Answers with a baseline's choice, which must depend on the call alone (table, svm, tuners): the
/// choice is requested once per call. All environments passed to choose() share one setup.
class PolicyExpert : public Expert {
 public:
  explicit PolicyExpert(std::unique_ptr<TuningPolicy> policy) : policy_(std::move(policy)) {}

  /// Deterministic; `random` is not used.
  void choose(const CollectiveTuningEnv& environment, Random& random,
              std::span<std::int32_t> levels) override;

 private:
  std::unique_ptr<TuningPolicy> policy_;
  std::mutex mutex_;
  /// Keyed by collective, root and bytes.
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, std::vector<std::int32_t>> choices_;
};

}  // namespace cclgym
