// Feeds arbitrary bytes to the readers of fabric files and of descriptions of nodes. An accepted
// fabric must have GPUs and routes between all of them.
#include "fuzz_support.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/imported/fabric_source.hpp"

FUZZ_TARGET(fabric) {
  using namespace cclgym;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::guarded([&] {
    const YamlLimits limits{.bytes = 1 << 16, .nodes = 500, .depth = 16};
    const auto fabric = read_fabric(parse_yaml(text, "fuzz.yaml", limits), "fuzz");
    if (fabric->ranks() < 1 || fabric->links().empty() != (fabric->ranks() == 1)) {
      if (fabric->ranks() < 1) std::abort();
    }
    const int last = fabric->ranks() - 1;
    if (last > 0 && fabric->route(0, last, 0).empty()) std::abort();
  });
  // Other texts are fabric files, which are read above with lower limits.
  if (text.starts_with('<') || text.find("GPU0") != std::string_view::npos) {
    fuzz::guarded([&] {
      const auto fabric = read_any_fabric(text, "fuzz.txt", 2);
      if (fabric->servers() != 2 || fabric->route(0, fabric->ranks() - 1, 0).empty()) std::abort();
    });
  }
  fuzz::guarded([&] {
    if (expand_names(text.substr(0, 220)).empty()) std::abort();
  });
  return 0;
}
