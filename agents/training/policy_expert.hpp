// A baseline as an expert: behaviour cloning of PCCL's SVM, or of the table of a sweep.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "agents/baselines/tuning_policy.hpp"
#include "agents/training/expert.hpp"

namespace cclgym {

/// Answers with what a baseline chooses, which must depend on the call alone (table, svm,
/// tuners): it is asked once for each call. All environments that choose() is given share one
/// setup.
class PolicyExpert : public Expert {
 public:
  explicit PolicyExpert(std::unique_ptr<TuningPolicy> policy) : policy_(std::move(policy)) {}

  /// Draws nothing.
  void choose(const CollectiveTuningEnv& environment, Random& random,
              std::span<std::int32_t> levels) override;

 private:
  std::unique_ptr<TuningPolicy> policy_;
  std::mutex mutex_;
  /// By collective, root and bytes.
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, std::vector<std::int32_t>> choices_;
};

}  // namespace cclgym
