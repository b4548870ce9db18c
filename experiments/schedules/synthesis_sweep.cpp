#include "experiments/schedules/synthesis_sweep.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym {

namespace {

// A text as a YAML scalar in double quotes, which JSON's are.
std::string scalar(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

std::string fabric_yaml(const FabricSpec& spec) {
  std::string yaml = "{name: " + scalar(spec.name);
  for (const FabricField& field : fabric_fields()) {
    const std::optional<OptionValue> value = field.given.get(spec);
    if (!value) continue;
    yaml += fmt::format(", {}: {}", field.key(), scalar(option_text(*value, field.spec())));
  }
  return yaml + "}";
}

std::string sweep_yaml(const SynthesisSweep& sweep) {
  std::string algorithms;
  for (const std::string& program : sweep.programs) {
    algorithms += fmt::format("  - {{file: {}, name: {}}}\n",
                              scalar("programs/" + program + ".xml"), scalar(program));
  }
  for (const std::string& other : sweep.others) {
    algorithms += fmt::format("  - {}\n", scalar(other));
  }
  std::string yaml = fmt::format(
      "# Written by cclgym synthesize: chooses the best synthesised program for each size.\n"
      "name: {}\nfabrics: {}\ncollectives: {}\nalgorithms:\n{}sizes: {}\ncost_model: {}\n",
      scalar(sweep.name), fabric_yaml(sweep.fabric), to_string(sweep.collective), algorithms,
      sweep.sizes, scalar(sweep.cost_model));
  if (is_rooted(sweep.collective)) yaml += fmt::format("root: {}\n", sweep.root);
  yaml += sweep.hockney ? "tile: [0B, 64KiB, 256KiB, 1MiB, 4MiB]\n"
                        : "protocols: [LL, LL128, Simple]\ntile: protocol\nslots: protocol\n";
  if (!sweep.baseline.empty()) {
    yaml += fmt::format("baseline: {{algorithm: {}}}\n", scalar(sweep.baseline));
  }
  return yaml;
}

}  // namespace cclgym
