// Compares docs/collective-tuning.md with the records from which the environment is made. With
// CCLGYM_UPDATE_DOCS=1 in the environment, the test writes the tables into the page.
#include <algorithm>
#include <sstream>

#include "env/tuning/tuning_options.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/doc_page.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::string feature_table() {
  const CollectiveTuningEnv env(
      setup_of("{fabric: ndv4, actions: offline, window: 1, workload: ddp-resnet-50}"));
  std::ostringstream table;
  table << "| feature | unit | range | source |\n| --- | --- | --- | --- |\n";
  for (const TuningFeature& feature : env.observation().features()) {
    table << "| `" << feature.name << "` | " << feature.unit << " | " << feature.low << " .. "
          << feature.high << " | " << feature.source << " |\n";
  }
  return table.str();
}

// Numbers of flat actions for AllReduce and for all collectives, like "43 / 85"; "-" if NCCL does
// not run.
std::string counts(const CollectiveTuningEnv& env, ActionProfile profile, bool as_nccl) {
  try {
    const TuningActions actions(
        env.setup().site,
        {.profile = profile, .tuners = default_tuners(profile), .as_nccl = as_nccl});
    const FlatTuningActions flat(actions);
    const auto mask = flat.mask(CollectiveKind::AllReduce);
    return std::to_string(std::ranges::count(mask, 1)) + " / " + std::to_string(flat.count());
  } catch (const UserError&) {
    return "-";
  }
}

std::string flat_action_table() {
  std::vector<std::string> fabrics;
  for (const FabricInfo& info : fabric_infos()) fabrics.push_back(info.name);
  for (const std::string name : {"ndv4", "hgx-h100", "frontier"}) {
    fabrics.push_back("{name: " + name + ", servers: 2}");
  }
  std::ostringstream table;
  table << "| fabric | GPUs | `stock-nccl` | with `legal: nccl` | `nccl-2.30` | with `legal: nccl` "
           "| `offline` | `openmpi` |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const std::string& fabric : fabrics) {
    const CollectiveTuningEnv env(setup_of("{fabric: " + fabric + ", actions: stock-nccl}"));
    table << "| `" << env.setup().fabric_label << "` | " << env.setup().fabric.ranks << " | "
          << counts(env, ActionProfile::StockNccl, false) << " | "
          << counts(env, ActionProfile::StockNccl, true) << " | "
          << counts(env, ActionProfile::Nccl230, false) << " | "
          << counts(env, ActionProfile::Nccl230, true) << " | "
          << counts(env, ActionProfile::Offline, false) << " | "
          << counts(env, ActionProfile::OpenMpi, false) << " |\n";
  }
  return table.str();
}

}  // namespace

TEST_CASE("docs/collective-tuning.md has the tables of the records", "[env][tuning-docs]") {
  DocPage page("collective-tuning.md");
  page.put("collective-tuning", collective_tuning_options());
  page.put("workload", workload_options());
  page.put("trace-call", trace_call_options());
  page.put("regimes", regimes_options());
  page.put("regime", regime_options());
  page.put("measurement", measurement_options());
  page.put("reward", reward_options());
  page.put("features", feature_table());
  page.put("flat-actions", flat_action_table());
  page.check();
}

TEST_CASE("docs/collective-tuning.md has the number of actions under knobs", "[env][tuning-docs]") {
  const std::string text = DocPage("collective-tuning.md").text();
  const auto flat = [](const std::string& knobs) {
    return std::to_string(setup_of("{fabric: ndv4" + knobs + "}")->flat_actions->count());
  };
  CHECK(text.find("`offline` has " + flat("") + " actions for AllReduce") != std::string::npos);
  for (const std::string knobs : {"{threads: nccl}", "{threads: nccl, chunk: [protocol, 128KiB]}",
                                  "{threads: nccl, chunk: protocol, channels: [4, 8, 16]}"}) {
    CHECK(text.find(knobs + "` " + flat(", knobs: " + knobs)) != std::string::npos);
  }
}

TEST_CASE("docs/collective-tuning.md names all workloads, regimes, rewards and knobs",
          "[env][tuning-docs]") {
  const std::string text = DocPage("collective-tuning.md").text();
  for (const WorkloadInfo& info : workload_infos()) {
    CHECK(text.find("`" + info.name + "`") != std::string::npos);
  }
  for (const std::string& name : noise_regimes_names()) {
    CHECK(text.find("| `" + name + "` |") != std::string::npos);
  }
  const CollectiveTuningEnv env(setup_of("{fabric: ndv4, workload: ddp-resnet-50}"));
  for (const std::string& name : env.spec().info_names) {
    CHECK(text.find("`" + name + "`") != std::string::npos);
  }
  for (const std::string& reward : reward_options().front().choices) {
    CHECK(text.find("| `" + reward + "` |") != std::string::npos);
  }
  for (const Knob knob : env.setup().actions->knobs()) {
    CHECK(text.find("| `" + std::string(to_string(knob)) + "` |") != std::string::npos);
  }
}
