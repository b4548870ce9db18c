// Feeds arbitrary bytes to the experiment loader. It may only throw UserError with a printable
// line, or return a sound experiment. So that a run takes little time, every fabric is one small
// machine, which is built once, experiments are small, and nothing is synthesised.
#include <set>

#include "experiments/sweep/load_experiment.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

constexpr std::size_t kMostFuzzCells = 64;

std::shared_ptr<const Fabric> small_fabric(const FabricSpec& spec) {
  // One with NVLink and a shipped parameter set, and one of plain links.
  static const std::shared_ptr<const Fabric> dgx1 = make_fabric({.name = "dgx1"});
  static const std::shared_ptr<const Fabric> ring = make_fabric({.name = "ring", .gpus = 4});
  return spec.name == "dgx1" ? dgx1 : ring;
}

}  // namespace

FUZZ_TARGET(experiment) {
  const std::string_view text = fuzz::text_of(data, size);
  if (text.find("synth") != std::string_view::npos) return 0;
  fuzz::guarded([&] {
    // An alias of an alias may stand for a million values.
    (void)parse_yaml(text, "fuzz.yaml", {.bytes = 1 << 16, .nodes = 1000, .depth = 32});
    const Experiment experiment = parse_experiment(
        text, "fuzz.yaml",
        {.on_progress = {}, .fabric_maker = small_fabric, .most_cells = kMostFuzzCells});
    if (experiment.cells.empty() || experiment.cells.size() > kMostFuzzCells) std::abort();
    if (experiment.name.empty() || experiment.fabrics.empty()) std::abort();
    std::set<std::string> keys;
    for (const Cell& cell : experiment.cells) {
      if (cell.call.bytes == 0 || cell.fabric >= experiment.fabrics.size()) std::abort();
      if (!keys.insert(cell_key(experiment, cell)).second) std::abort();
    }
  });
  return 0;
}
