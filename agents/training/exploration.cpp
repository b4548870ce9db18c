#include "agents/training/exploration.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

OptionSpec bytes(const std::string& name, const std::string& description) {
  return {.name = name, .kind = OptionKind::Bytes, .description = description, .min = 1};
}

}  // namespace

bool ExplorationRule::fits(const CollectiveTuningEnv& environment) const {
  const Call& call = environment.next_call().call;
  const TuningSetup& setup = environment.setup();
  const auto among = [](const auto& list, const auto& one) {
    return list.empty() || std::ranges::find(list, one) != list.end();
  };
  if (!among(collectives, call.collective)) return false;
  if (!among(fabrics, setup.site->fabrics.front()->name())) return false;
  if (servers != Servers::Any && (servers == Servers::One) != (setup.fabric.servers == 1)) {
    return false;
  }
  if (call.bytes < least_bytes || call.bytes > most_bytes) return false;
  return !shared || environment.observation().shared_network();
}

const std::vector<OptionSpec>& exploration_options() {
  static const std::vector<OptionSpec> specs = [] {
    return std::vector<OptionSpec>{
        {.name = "collectives",
         .kind = OptionKind::Choice,
         .shape = OptionShape::OneOrList,
         .description = "collectives of the calls; all if not given",
         .choices = collective_names()},
        {.name = "fabrics",
         .shape = OptionShape::OneOrList,
         .description = "names of machines; all if not given"},
        // The names are in the order of ExplorationRule::Servers.
        {.name = "nodes",
         .kind = OptionKind::Choice,
         .description = "number of nodes of the machine",
         .default_text = "any",
         .choices = {"any", "one", "several"},
         .aliases = {"servers"}},
        bytes("least", "min size of the calls"),
        bytes("most", "max size of the calls"),
        {.name = "shared",
         .kind = OptionKind::Flag,
         .description = "true to match only while feature network_shared is 1",
         .default_text = "false"},
        {.name = "entropy",
         .kind = OptionKind::Real,
         .description = "weight of the entropy for these calls at the beginning; falls to 0",
         .min = 0,
         .max = 10,
         .required = true}};
  }();
  return specs;
}

ExplorationRule read_exploration_rule(const YamlValue& mapping, std::vector<std::string> fabrics) {
  const std::vector<OptionSpec>& specs = exploration_options();
  check_keys(mapping, specs, "rule");
  const auto spec = [&](std::string_view key) -> const OptionSpec& {
    return find_option(specs, key);
  };
  const auto value = [&](std::string_view key) { return option_value(mapping, spec(key)); };
  ExplorationRule rule;
  if (const YamlValue given = value("collectives"); !given.is_null()) {
    for (const std::size_t i : read_choices(given, spec("collectives"))) {
      rule.collectives.push_back(all_collectives()[i]);
    }
  }
  if (const YamlValue given = value("fabrics"); !given.is_null()) {
    rule.fabrics = read_texts(given, spec("fabrics"));
    for (const FabricInfo& info : fabric_infos()) fabrics.push_back(info.name);
    for (const std::string& name : rule.fabrics) {
      if (std::ranges::find(fabrics, name) != fabrics.end()) continue;
      throw UserError(given.location(), unknown_name_message("fabric", name, fabrics));
    }
  }
  rule.servers = static_cast<ExplorationRule::Servers>(read_choice(value("nodes"), spec("nodes")));
  if (const YamlValue given = value("least"); !given.is_null()) {
    rule.least_bytes = read_bytes(given, spec("least"));
  }
  if (const YamlValue given = value("most"); !given.is_null()) {
    rule.most_bytes = read_bytes(given, spec("most"));
    if (rule.most_bytes < rule.least_bytes) {
      throw UserError(given.location(), "most must be at least as large as least");
    }
  }
  rule.shared = read_flag(value("shared"), spec("shared"));
  rule.entropy = read_real(value("entropy"), spec("entropy"));
  return rule;
}

double exploration_weight(std::span<const ExplorationRule> rules, const Environment& environment,
                          double otherwise) {
  const auto* tuning = dynamic_cast<const CollectiveTuningEnv*>(&environment);
  if (tuning == nullptr) return otherwise;
  const auto found =
      std::ranges::find_if(rules, [&](const ExplorationRule& rule) { return rule.fits(*tuning); });
  return found == rules.end() ? otherwise : found->entropy;
}

}  // namespace cclgym
