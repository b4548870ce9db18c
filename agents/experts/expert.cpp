#include "agents/experts/expert.hpp"

#include <chrono>
#include <fmt/core.h>

#include "agents/baselines/simple_policies.hpp"
#include "agents/baselines/trained_table.hpp"
#include "agents/experts/oracle_expert.hpp"
#include "agents/experts/policy_expert.hpp"

namespace cclgym {

std::unique_ptr<Expert> make_expert(const std::shared_ptr<const TuningSetup>& setup,
                                    const ExpertOptions& options,
                                    const std::function<void(const std::string&)>& notice) {
  const auto say = [&](const std::string& text) {
    if (notice) notice(text);
  };
  if (options.kind == ExpertKind::Oracle || options.kind == ExpertKind::Estimate) {
    auto expert = std::make_unique<OracleExpert>(setup, options.temperature, options.margin,
                                                 options.kind == ExpertKind::Estimate);
    say("simulating the oracle's table of " + setup->fabric_label);
    // One line after some seconds, and one whenever the time has doubled.
    const auto start = std::chrono::steady_clock::now();
    std::chrono::duration<double> next(5);
    const auto progress = [&](std::size_t done) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (passed < next) return;
      next = 2 * passed;
      say(fmt::format("{} cells of the oracle's table after {:.0f} s", done, passed.count()));
    };
    say(fmt::format("the oracle's table has {} cells", expert->fill(options.threads, progress)));
    return expert;
  }
  if (options.kind == ExpertKind::Formula) {
    return std::make_unique<PolicyExpert>(std::make_unique<FormulaPolicy>());
  }
  if (options.kind == ExpertKind::Tuner) {
    return std::make_unique<PolicyExpert>(std::make_unique<FirstTunerPolicy>());
  }
  say("the expert for " + setup->fabric_label + " sweeps sizes at its first call");
  if (options.kind == ExpertKind::Svm) {
    return std::make_unique<PolicyExpert>(std::make_unique<SvmPolicy>());
  }
  return std::make_unique<PolicyExpert>(std::make_unique<TablePolicy>());
}

}  // namespace cclgym
