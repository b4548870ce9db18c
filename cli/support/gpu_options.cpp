#include "cli/support/gpu_options.hpp"

#include <algorithm>

namespace cclgym {

void add_record_options(ArgumentReader& reader, const std::vector<OptionSpec>& specs,
                        const std::vector<std::string>& besides) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == "timeout" || std::ranges::find(besides, spec.name) != besides.end()) continue;
    reader.option(spec, "V");
  }
}

OptionTexts record_texts(const Arguments& arguments, const std::vector<OptionSpec>& specs) {
  OptionTexts texts;
  for (const OptionSpec& spec : specs) {
    if (arguments.has(spec.name)) texts[spec.name] = arguments.text(spec.name);
  }
  return texts;
}

}  // namespace cclgym
