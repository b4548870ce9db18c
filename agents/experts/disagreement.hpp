// Calls at which PCCL's dispatcher is not at the optimum, for training that draws them more often.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "agents/experts/expert.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// The expert disagrees with the optimum if its action takes longer than the best one by more than
/// this fraction.
inline constexpr double kDisagreement = 0.01;

/// Weights of the workload's listed calls (Workload::weigh): `weight` where the expert disagrees
/// with the optimum of the machine without noise, 1 elsewhere. Simulates the legal actions of every
/// call with `threads` threads (PCCL analysis, section 10.4).
[[nodiscard]] std::vector<double> disagreement_weights(
    const std::shared_ptr<const TuningSetup>& setup, Expert& expert, double weight,
    std::size_t threads);

}  // namespace cclgym
