// Feeds arbitrary bytes to the reader of cost-model parameter sets. An accepted set is written and
// read back as the same model.
#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "cost_models/parameters/parameter_writer.hpp"
#include "cost_models/parameters/value_source.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(parameters) {
  using namespace cclgym;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::guarded([&] {
    const YamlLimits limits{.bytes = 1 << 16, .nodes = 1000, .depth = 16};
    const ParameterSet set = read_parameter_set(parse_yaml(text, "fuzz.yaml", limits));
    const std::string written = to_yaml(set, "");
    const ParameterSet again = read_parameter_set(parse_yaml(written, "written.yaml"));
    if (to_yaml(again, "") != written) std::abort();
  });
  fuzz::guarded([&] { (void)read_source(text.substr(0, 300)); });
  return 0;
}
