#include "experiments/experiment.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/units.hpp"
#include "experiments/hash.hpp"
#include "experiments/version.hpp"

namespace cclgym {

bool CellSelector::matches(const Cell& cell) const {
  return (!fabric || *fabric == cell.fabric) &&
         (!collective || *collective == cell.call.collective) &&
         (!algorithm || *algorithm == cell.config.algorithm) &&
         (!protocol || *protocol == cell.config.protocol) &&
         (!channels || *channels == cell.config.channels) &&
         (!threads || *threads == cell.config.threads) && (!bytes || *bytes == cell.call.bytes);
}

std::string Experiment::hash() const {
  TextHash hash;
  hash.add(program_version());
  hash.add(engine);
  hash.add(repetitions);
  for (const ExperimentFabric& fabric : fabrics) {
    hash.add(fabric.label);
    hash.add(fabric.fabric->canonical_text());
    hash.add(fabric.cost_model.name);
    hash.add(fabric.cost_model.canonical_text());
  }
  for (const Cell& cell : cells) {
    hash.add(cell_key(*this, cell));
    hash.add(static_cast<std::uint64_t>(cell.call.root));
  }
  return hash.hex();
}

std::string key_label(std::string label) {
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == '/' || c == ' '; }, '_');
  return label;
}

std::string cell_key(const Experiment& experiment, const Cell& cell) {
  std::string key = fmt::format(
      "{}/{}/{}/{}/c{}/t{}/{}/s{}", key_label(experiment.fabrics[cell.fabric].label),
      to_string(cell.call.collective), cell.config.algorithm, to_string(cell.config.protocol),
      cell.config.channels, cell.config.threads, format_bytes(cell.call.bytes), cell.seed);
  if (cell.config.tile_bytes > 0) key += "/tile" + format_bytes(cell.config.tile_bytes);
  if (cell.config.slots > 0) key += fmt::format("/slots{}", cell.config.slots);
  return key;
}

std::string cost_model_hash(const CostModel& model) {
  TextHash hash;
  hash.add(model.canonical_text());
  return hash.hex();
}

}  // namespace cclgym
