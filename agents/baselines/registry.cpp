#include "agents/baselines/registry.hpp"

#include "agents/baselines/bandit.hpp"
#include "agents/baselines/coordinate_descent.hpp"
#include "agents/baselines/simple_policies.hpp"
#include "agents/baselines/trained_table.hpp"
#include "core/error.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

const std::vector<BaselineInfo>& baseline_infos() {
  static const std::vector<BaselineInfo> infos{
      {"nccl-default:VERSION",
       "the default choice of this release of NCCL, e.g. 2.28; without it, of the newest"},
      {"rccl-default", "the default choice of RCCL 2.20.5, on MI250X and MI300X"},
      {"cray-mpich", "Cray MPICH as PCCL found it"},
      {"pccl:WHICH",
       "PCCL's backends pccl:ring and pccl:rec, or the FILE of a dispatcher (tune-dispatch --svm)"},
      {"dispatch:FILE", "a table of size ranges written by tune-dispatch"},
      {"synth:KIND", "the fastest synthesised program: synth:pareto, synth:throughput or synth"},
      {"formula", "the synthesised program with the least alpha-beta time, without a simulation"},
      {"estimate", "the action with the least estimated time, without a simulation"},
      {"random", "any legal action"},
      {"bandit", "online UCB1 per collective and power of two of the size"},
      {"autoccl", "online coordinate descent per collective and size (AutoCCL)"},
      {"table", "the fastest action of a noiseless sweep, by size range"},
      {"svm", "PCCL's support vector machine on size and ranks, trained without noise"},
      {"oracle", "the best action, found by trying all in the machine's current regime"}};
  return infos;
}

std::unique_ptr<Policy> make_baseline(const std::string& name) {
  if (name == "estimate") return std::make_unique<EstimatePolicy>();
  if (name == "random") return std::make_unique<RandomPolicy>();
  if (name == "formula") return std::make_unique<FormulaPolicy>();
  if (name == "bandit") return std::make_unique<BanditPolicy>();
  if (name == "autoccl") return std::make_unique<CoordinateDescentPolicy>();
  if (name == "table") return std::make_unique<TablePolicy>();
  if (name == "svm") return std::make_unique<SvmPolicy>();
  if (name == "oracle") return std::make_unique<OraclePolicy>();
  if (is_tuner(name)) {
    // Environments ignore a release that is not modelled, since NCCL does not run there.
    constexpr std::string_view kNccl = "nccl-default:";
    if (name.starts_with(kNccl)) {
      const std::string_view release = std::string_view(name).substr(kNccl.size());
      (void)parse_nccl_version(release.substr(0, release.find(':')));
    }
    return std::make_unique<TunerPolicy>(name);
  }
  std::vector<std::string> names;
  for (const BaselineInfo& info : baseline_infos()) names.push_back(info.name);
  throw UserError(unknown_name_message("baseline", name, names));
}

std::vector<std::string> default_baselines(ActionProfile profile) {
  std::vector<std::string> names{"nccl-default:2.8.4", "nccl-default:2.28"};
  if (profile == ActionProfile::OpenMpi) names = default_tuners(profile);
  names.insert(names.end(), {"random", "bandit", "autoccl", "table", "svm", "oracle"});
  return names;
}

}  // namespace cclgym
