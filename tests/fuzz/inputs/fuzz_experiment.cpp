// Feeds arbitrary bytes to the experiment loader. It may only throw UserError with a printable
// line, or return a sound experiment.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "experiments/sweep/load_experiment.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cclgym;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Experiment experiment = parse_experiment(text, "fuzz.yaml");
    if (experiment.cells.empty() || experiment.cells.size() > kMostCells) std::abort();
    if (experiment.name.empty() || experiment.fabrics.empty()) std::abort();
    // The first cells are representative of the others.
    constexpr std::size_t kLookedAt = 200;
    std::set<std::string> keys;
    for (std::size_t i = 0; i < experiment.cells.size() && i < kLookedAt; ++i) {
      const Cell& cell = experiment.cells[i];
      if (cell.call.bytes == 0 || cell.fabric >= experiment.fabrics.size()) std::abort();
      if (!keys.insert(cell_key(experiment, cell)).second) std::abort();
    }
  } catch (const UserError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() > 2000) std::abort();
    for (const char c : message) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
  }
  return 0;
}
