#include "experiments/sweep/experiment.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/library/program_entry.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

bool CellSelector::matches(const Experiment& experiment, const Cell& cell) const {
  const bool call =
      (!fabric || *fabric == cell.fabric) && (!collective || *collective == cell.call.collective) &&
      (!algorithm || *algorithm == cell.named()) &&
      (!bytes || cell.call.bytes == rounded_size(cell.call.collective, *bytes,
                                                 experiment.fabrics[cell.fabric].fabric->ranks(),
                                                 experiment.element_bytes));
  if (!call) return false;
  if (!protocol && !channels && !instances && !threads && !tile_bytes && !slots) return true;
  if (!cell.tuner.empty()) return false;
  const Config& config = cell.config;
  const Config wanted =
      with_tiles(experiment.fabrics[cell.fabric].cost_model, cell.call.collective, config,
                 tile_bytes.value_or(config.tile_bytes), slots.value_or(config.slots));
  return (!protocol || *protocol == config.protocol) &&
         (!channels || *channels == config.channels) &&
         (!instances || *instances == config.instances) &&
         (!threads || *threads == config.threads) && config.tile_bytes == wanted.tile_bytes &&
         config.slots == wanted.slots;
}

namespace {

// The part of a key that every configuration has.
std::string config_key(const Config& config) {
  return fmt::format("{}/{}/c{}/t{}", config.algorithm, to_string(config.protocol), config.channels,
                     config.threads);
}

// The optional part of a key: what is not as usual.
std::string config_suffix(const CostModel& model, CollectiveKind collective, const Config& config) {
  const ConfigChoice choice = choice_under(model, collective, config);
  std::string key;
  if (config.instances > 1) key += fmt::format("/r{}", config.instances);
  if (choice.tile_bytes) key += "/tile-" + tile_text(choice.tile_bytes);
  if (choice.slots) key += "/slots-" + slots_text(choice.slots);
  return key;
}

}  // namespace

std::string_view to_string(TimeOf part) { return part == TimeOf::Call ? "call" : "across-nodes"; }

std::string Experiment::hash() const {
  TextHash hash;
  hash.add(program_version());
  hash.add(engine);
  hash.add(repetitions);
  if (time_of != TimeOf::Call) hash.add(to_string(time_of));
  for (const ExperimentFabric& fabric : fabrics) {
    hash.add(fabric.label);
    hash.add(fabric.fabric->canonical_text());
    hash.add(fabric.cost_model.name);
    hash.add(fabric.cost_model.canonical_text());
    if (!fabric.noise.none()) hash.add(fabric.noise.canonical_text());
  }
  for (const Cell& cell : cells) {
    hash.add(cell_key(*this, cell));
    // A key does not contain a tuner's choice.
    if (!cell.tuner.empty()) {
      hash.add(config_key(cell.config) +
               config_suffix(fabrics[cell.fabric].cost_model, cell.call.collective, cell.config));
    }
    hash.add(static_cast<std::uint64_t>(cell.call.root));
  }
  for (const AlgorithmEntry& entry : algorithms.entries()) {
    const auto names_it = [&](const Cell& cell) { return cell.config.algorithm == entry.name; };
    if (!entry.fixed() || std::ranges::none_of(cells, names_it)) continue;
    hash.add(entry.name);
    hash.add(program_hash(*entry.program));
  }
  return hash.hex();
}

std::string key_label(std::string label) {
  std::replace_if(
      label.begin(), label.end(), [](char c) { return c == '/' || c == ' '; }, '_');
  return label;
}

std::string cell_key(const Experiment& experiment, const Cell& cell) {
  const bool chosen = !cell.tuner.empty();
  return fmt::format("{}/{}/{}/{}/s{}{}", key_label(experiment.fabrics[cell.fabric].label),
                     to_string(cell.call.collective),
                     chosen ? key_label(cell.tuner) : config_key(cell.config),
                     format_bytes(cell.call.bytes), cell.seed,
                     chosen ? std::string()
                            : config_suffix(experiment.fabrics[cell.fabric].cost_model,
                                            cell.call.collective, cell.config));
}

std::string legal_in(const Experiment& experiment, const Cell& cell) {
  const ExperimentFabric& fabric = experiment.fabrics[cell.fabric];
  if (!fabric.offer) return "-";
  const Config& config = cell.config;
  const ConfigChoice choice = choice_under(fabric.cost_model, cell.call.collective, config);
  const bool own =
      cell.tuner.starts_with("nccl-default") && is_of_nccl(config.algorithm, cell.tuner);
  const bool settable =
      config.instances == 1 && !choice.slots && (!choice.tile_bytes || fabric.offer->sets_chunks());
  const bool legal = own || (settable && fabric.offer->has(cell.call.collective, config.algorithm,
                                                           config.protocol));
  return legal ? "NCCL " + fabric.offer->version().to_string() : "-";
}

std::string cost_model_hash(const CostModel& model) {
  TextHash hash;
  hash.add(model.canonical_text());
  return hash.hex();
}

}  // namespace cclgym
