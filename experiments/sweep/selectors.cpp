#include "experiments/sweep/selectors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "core/units.hpp"
#include "core/yaml/empty_values.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

// Value of `key`, which must be on the axis; nullopt if it is not given. `parse` reads it, and
// `text_of` writes an axis value for messages.
template <class Value, class Parse, class Text>
std::optional<Value> select(const YamlValue& selector, const std::string& key,
                            const Axis<Value>& axis, Parse parse, Text text_of) {
  constexpr std::size_t kMostShown = 50;
  const YamlValue* value = selector.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::optional<Value> wanted = parse(*value);
  std::vector<std::string> names;
  for (const Located<Value>& one : axis) {
    if (wanted && *wanted == one.value) return wanted;
    if (names.size() < kMostShown) names.emplace_back(text_of(one.value));
  }
  if (axis.size() > kMostShown) names.emplace_back("…");
  throw UserError(value->location(),
                  unknown_name_message(key + " of the experiment", value->as_text(), names));
}

std::optional<int> select_number(const YamlValue& selector, const std::vector<OptionSpec>& specs,
                                 const std::string& key, const Axis<int>& axis) {
  const auto parse = [&](const YamlValue& value) -> std::optional<int> {
    const std::int64_t number = read_integer(value, find_option(specs, key));
    if (number < 0 || number > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(number);
  };
  return select(selector, key, axis, parse, [](int number) { return std::to_string(number); });
}

// Channels or instances, by `key`, of the cells of an algorithm, or of all if it is empty.
std::optional<int> select_copies(const YamlValue& selector, const std::vector<OptionSpec>& specs,
                                 const std::string& key, const Experiment& experiment,
                                 const ExperimentAxes& axes, const std::string& algorithm) {
  const Axis<int> axis = copies_axis(axes, key, experiment.algorithms, algorithm);
  const AlgorithmEntry* entry = experiment.algorithms.find(algorithm);
  if (entry == nullptr || !entry->fixed()) return select_number(selector, specs, key, axis);
  const YamlValue* value = selector.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::int64_t wanted = read_integer(*value, find_option(specs, key));
  if (wanted == axis.front().value) return axis.front().value;
  throw UserError(value->location(), own_number_message(key, *entry, axis.front().value, wanted));
}

std::optional<std::size_t> select_fabric(const YamlValue& selector, const Experiment& experiment) {
  Axis<std::string> labels;
  std::vector<std::string> known;
  for (const ExperimentFabric& fabric : experiment.fabrics) {
    labels.push_back({fabric.label, {}});
    known.push_back(fabric.label);
  }
  const auto parse = [&](const YamlValue& value) -> std::optional<std::string> {
    const std::string* label = find_fabric_label(known, value.as_text());
    return label == nullptr ? value.as_text() : *label;
  };
  const auto label =
      select(selector, "fabric", labels, parse, [](const std::string& text) { return text; });
  if (!label) return std::nullopt;
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [&](const auto& one) { return one.value == *label; });
  return static_cast<std::size_t>(found - labels.begin());
}

// Throws UserError for a key that a tuner chooses.
void refuse_choices_of_tuner(const YamlValue& selector) {
  const YamlValue* algorithm = selector.find("algorithm");
  if (algorithm == nullptr || !is_tuner(algorithm->as_text())) return;
  for (const OptionSpec& spec : config_options()) {
    const YamlValue* value = selector.find(spec.name);
    if (value == nullptr || spec.name == "algorithm") continue;
    throw UserError(value->location(), fmt::format("{} is chosen by {}; leave it out", spec.name,
                                                   quoted(algorithm->as_text())));
  }
}

}  // namespace

CellSelector read_selector(const YamlValue& value, const std::vector<OptionSpec>& specs,
                           std::string_view what, const Experiment& experiment,
                           const ExperimentAxes& axes) {
  check_keys(value, specs, what);
  refuse_empty_values(value, specs);
  const auto name_text = [](auto one) { return to_string(one); };
  refuse_choices_of_tuner(value);
  CellSelector selector;
  selector.location = value.location();
  selector.fabric = select_fabric(value, experiment);
  selector.collective = select(
      value, "collective", axes.collectives,
      [](const YamlValue& one) { return parse_collective(one.as_text()); }, name_text);
  selector.algorithm = select(
      value, "algorithm", axes.algorithms,
      [&](const YamlValue& one) {
        const AlgorithmEntry* entry = experiment.algorithms.find(one.as_text());
        return std::optional<std::string>(entry == nullptr ? one.as_text() : entry->name);
      },
      [](const std::string& text) { return text; });
  selector.protocol = select(
      value, "protocol", axes.protocols,
      [](const YamlValue& one) { return parse_protocol(one.as_text()); }, name_text);
  const std::string algorithm = selector.algorithm.value_or("");
  selector.channels = select_copies(value, specs, "channels", experiment, axes, algorithm);
  selector.instances = select_copies(value, specs, "instances", experiment, axes, algorithm);
  selector.threads = select_number(value, specs, "threads", axes.threads);
  selector.tile_bytes = select(
      value, "tile", axes.tiles,
      [&specs](const YamlValue& one) {
        return std::optional<TileBytes>(
            read_tile(one.as_text(), find_option(specs, "tile"), one.location()));
      },
      tile_text);
  selector.slots = select(
      value, "slots", axes.slots,
      [&specs](const YamlValue& one) {
        return std::optional<Slots>(
            read_slots(one.as_text(), find_option(specs, "slots"), one.location()));
      },
      slots_text);
  selector.bytes = select(
      value, "size", axes.sizes,
      [&specs](const YamlValue& one) {
        return std::optional<std::uint64_t>(read_bytes(one, find_option(specs, "size")));
      },
      [](std::uint64_t bytes) { return format_bytes(bytes); });
  const bool matched =
      std::any_of(experiment.cells.begin(), experiment.cells.end(),
                  [&](const Cell& cell) { return selector.matches(experiment, cell); });
  if (!matched) {
    throw UserError(value.location(), fmt::format("{} matches no cell of the experiment", what));
  }
  return selector;
}

}  // namespace cclgym
