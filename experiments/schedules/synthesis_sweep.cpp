#include "experiments/schedules/synthesis_sweep.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <vector>

#include "core/units.hpp"
#include "core/yaml/yaml.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "sim/simulator.hpp"
#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym {

std::string fabric_yaml(const FabricSpec& spec) {
  std::string yaml = "{name: " + yaml_scalar(spec.name);
  for (const FabricField& field : fabric_fields()) {
    const std::optional<OptionValue> value = field.given.get(spec);
    if (!value) continue;
    yaml += fmt::format(", {}: {}", field.key(), yaml_scalar(option_text(*value, field.spec())));
  }
  return yaml + "}";
}

void check_sizes(const std::string& text, CollectiveKind collective, int ranks,
                 const SourceLocation& where) {
  const auto is_control = [](unsigned char c) { return c < 0x20; };
  std::vector<std::string> items;
  try {
    if (std::any_of(text.begin(), text.end(), is_control)) throw UserError("control characters");
    for (const YamlValue& item : read_items(parse_yaml(text, ""), experiment_option("sizes"))) {
      items.push_back(item.as_text());
    }
  } catch (const UserError&) {
    throw UserError(where, fmt::format("sizes is {}; expected sizes, e.g. 1KiB..1GiB x4 or "
                                       "[12KiB, 48MiB]",
                                       quoted(text)));
  }
  std::set<std::uint64_t> seen;
  for (const std::string& item : items) {
    for (const std::uint64_t bytes : read_bytes_range(item, experiment_option("sizes"), where)) {
      if (!seen.insert(bytes).second) {
        throw UserError(where, fmt::format("sizes has {} more than once", format_bytes(bytes)));
      }
      if (rounded_size(collective, bytes, ranks) == 0) {
        throw UserError(where, check_size(collective, bytes, ranks));
      }
    }
  }
}

std::string sweep_yaml(const SynthesisSweep& sweep) {
  std::string algorithms;
  for (const std::string& program : sweep.programs) {
    algorithms += fmt::format("  - {{file: {}, name: {}}}\n",
                              yaml_scalar("programs/" + program + ".xml"), yaml_scalar(program));
  }
  for (const std::string& other : sweep.others) {
    algorithms += fmt::format("  - {}\n", yaml_scalar(other));
  }
  std::string yaml = fmt::format(
      "# Written by cclgym synthesize: chooses the best synthesised program for each size.\n"
      "name: {}\nfabrics: {}\ncollectives: {}\nalgorithms:\n{}sizes: {}\ncost_model: {}\nlegal: "
      "any\n",
      yaml_scalar(sweep.name), fabric_yaml(sweep.fabric), to_string(sweep.collective), algorithms,
      sweep.sizes, yaml_scalar(sweep.cost_model));
  if (is_rooted(sweep.collective)) yaml += fmt::format("root: {}\n", sweep.root);
  yaml += sweep.hockney ? "tile: [none, 64KiB, 128KiB, 256KiB, 1MiB, 4MiB]\n"
                        : "protocols: [LL, LL128, Simple]\n";
  if (!sweep.baseline.empty()) {
    yaml += fmt::format("baseline: {{algorithm: {}}}\n", yaml_scalar(sweep.baseline));
  }
  return yaml;
}

}  // namespace cclgym
