// Experts for behaviour cloning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/random.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// Labels calls with actions. Thread-safe; its answers do not depend on earlier calls.
class Expert {
 public:
  Expert() = default;
  Expert(const Expert&) = delete;
  Expert& operator=(const Expert&) = delete;
  virtual ~Expert() = default;

  /// Levels of an action for the environment's next call.
  virtual void choose(const CollectiveTuningEnv& environment, Random& random,
                      std::span<std::int32_t> levels) = 0;
};

enum class ExpertKind : std::uint8_t {
  Oracle,
  Svm,
  Table,
  Formula,
  Tuner,       ///< the environment's first tuner, such as PCCL's dispatcher
  Estimate,    ///< the oracle; but the action with the least estimate if it is in its margin
  Experience,  ///< no expert: the best of the agent's own trials (agents/experts/experience.hpp)
};

struct ExpertOptions {
  ExpertKind kind = ExpertKind::Oracle;
  double temperature = 0;   ///< temperature of the oracle (agents/experts/oracle_expert.hpp)
  double margin = 0;        ///< margin of the oracle, and of the estimate
  std::size_t threads = 1;  ///< threads for the simulation of the oracle's table
};

/// Makes an expert for environments of this setup, other than Experience. `notice` (may be empty)
/// receives messages about slow parts.
[[nodiscard]] std::unique_ptr<Expert> make_expert(
    const std::shared_ptr<const TuningSetup>& setup, const ExpertOptions& options,
    const std::function<void(const std::string&)>& notice);

}  // namespace cclgym
