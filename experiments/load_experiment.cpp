#include "experiments/load_experiment.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>

#include "collectives/algorithm.hpp"
#include "core/text_file.hpp"
#include "core/yaml.hpp"
#include "experiments/axes.hpp"
#include "experiments/cost_model_choice.hpp"
#include "experiments/experiment_options.hpp"
#include "experiments/selectors.hpp"
#include "sim/simulator.hpp"
#include "sim/transfer_cost.hpp"
#include "topology_models/registry.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

bool is_plain_name(const std::string& name) {
  return name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

// Text that a CSV field and a line of a table can hold.
void check_label(const std::string& label, std::string_view what, const SourceLocation& where) {
  const bool plain = std::all_of(label.begin(), label.end(), [](unsigned char c) {
    return c >= 0x20 && c != 0x7F && c != ',' && c != '"';
  });
  if (!plain || label.empty() || label.size() > 200) {
    throw UserError(where, fmt::format("{} is called {}; expected a name of 1 to 200 bytes without "
                                       "commas, quotes and control characters",
                                       what, quoted(label)));
  }
}

class Loader {
 public:
  Loader(const YamlValue& document, Experiment& experiment)
      : document_(document), experiment_(experiment) {}

  void load() {
    check_keys(document_, experiment_options(), "experiment");
    refuse_empty_values(document_, experiment_options());
    const YamlValue name = value_of("name");
    experiment_.name = read_text(name, spec_of("name"));
    if (!is_plain_name(experiment_.name)) {
      throw UserError(name.location(),
                      fmt::format("name is {}; expected at most 100 letters, digits, '.', '_' and "
                                  "'-', not starting with '.' or '-'",
                                  quoted(experiment_.name)));
    }
    if (const YamlValue text = value_of("description"); !text.is_null()) {
      experiment_.description = read_text(text, spec_of("description"));
    }
    experiment_.engine =
        spec_of("engine").choices[read_choice(value_of("engine"), spec_of("engine"))];
    experiment_.repetitions =
        static_cast<std::uint64_t>(read_integer(value_of("repetitions"), spec_of("repetitions")));
    axes_ = read_axes(document_);
    read_single_values();
    read_fabrics();
    check_combinations();
    make_cells();
    read_selectors();
    read_measured_files();
  }

 private:
  const OptionSpec& spec_of(std::string_view key) { return find_option(experiment_options(), key); }
  YamlValue value_of(std::string_view key) { return option_value(document_, spec_of(key)); }

  void read_single_values() {
    const YamlValue root = value_of("root");
    root_ = {read_integer(root, spec_of("root")), root.location()};
    const OptionSpec& types = spec_of("datatype");
    element_bytes_ = data_types()[read_choice(value_of("datatype"), types)].second;
    if (const YamlValue tile = value_of("tile"); tile.as_text() != kOfProtocol) {
      tile_bytes_ = read_bytes(tile, spec_of("tile"));
    }
    if (const YamlValue slots = value_of("slots"); slots.as_text() != kOfProtocol) {
      slots_ = static_cast<int>(read_integer(slots, spec_of("slots")));
    }
  }

  void read_fabrics() {
    std::set<std::string> labels;
    for (const YamlValue& item : read_items(value_of("fabrics"), spec_of("fabrics"))) {
      ExperimentFabric fabric;
      const FabricSpec spec = read_fabric_spec(item);
      const bool is_file = spec.name.ends_with(".yaml") || spec.name.ends_with(".yml");
      if (is_file) check_exists(spec.name, "fabric file", item.location());
      fabric.fabric = make_fabric(spec);
      fabric.label = is_file ? fabric.fabric->name() : fabric_label(spec);
      check_label(fabric.label, "the fabric", item.location());
      // As in cell keys, which must differ, too.
      if (!labels.insert(key_label(fabric.label)).second) {
        throw UserError(item.location(),
                        fmt::format("fabrics has {} more than once", quoted(fabric.label)));
      }
      const YamlValue model = value_of("cost_model");
      fabric.cost_model = read_cost_model_choice(model, *fabric.fabric);
      check_label(fabric.cost_model.name, "the cost model", model.location());
      if (root_.value >= fabric.fabric->ranks()) {
        throw UserError(root_.where,
                        fmt::format("root is {}; expected a rank of fabric '{}', 0 to "
                                    "{}",
                                    root_.value, fabric.label, fabric.fabric->ranks() - 1));
      }
      experiment_.fabrics.push_back(std::move(fabric));
    }
  }

  // Which algorithm has which collective, and whether ranks and sizes fit.
  void check_combinations() {
    for (const Located<std::string>& algorithm : axes_.algorithms) {
      const AlgorithmInfo& info = algorithm_info(algorithm.value);
      bool used = false;
      for (const Located<CollectiveKind>& collective : axes_.collectives) {
        if (supports(info, collective.value)) {
          used = true;
        } else {
          experiment_.skipped.push_back(
              fmt::format("algorithm '{}' has no {}", info.name, to_string(collective.value)));
        }
      }
      if (!used) {
        throw UserError(algorithm.where,
                        fmt::format("algorithm '{}' has none of the experiment's collectives; it "
                                    "has {}",
                                    info.name, names_of(info.collectives)));
      }
      for (const ExperimentFabric& fabric : experiment_.fabrics) {
        const int ranks = fabric.fabric->ranks();
        if (const auto misfit = rank_misfit(info.name, ranks)) {
          throw UserError(algorithm.where,
                          fmt::format("on fabric '{}': {}", fabric.label, *misfit));
        }
      }
    }
    for (const Located<CollectiveKind>& collective : axes_.collectives) {
      const bool done = std::any_of(
          axes_.algorithms.begin(), axes_.algorithms.end(),
          [&](const auto& one) { return supports(algorithm_info(one.value), collective.value); });
      if (!done) refuse_collective(collective);
      for (const ExperimentFabric& fabric : experiment_.fabrics) check_sizes(collective, fabric);
    }
  }

  void check_sizes(const Located<CollectiveKind>& collective, const ExperimentFabric& fabric) {
    for (const Located<std::uint64_t>& size : axes_.sizes) {
      const std::string misfit =
          size_misfit(collective.value, size.value, fabric.fabric->ranks(), element_bytes_);
      if (misfit.empty()) continue;
      throw UserError(size.where, fmt::format("on fabric '{}': {}", fabric.label, misfit));
    }
  }

  [[noreturn]] static void refuse_collective(const Located<CollectiveKind>& collective) {
    std::string having;
    for (const AlgorithmInfo& info : algorithm_infos()) {
      if (supports(info, collective.value)) having += (having.empty() ? "" : ", ") + info.name;
    }
    throw UserError(
        collective.where,
        fmt::format("none of the experiment's algorithms has {}; {}", to_string(collective.value),
                    having.empty() ? "nor has any other" : "these have it: " + having));
  }

  static std::string names_of(const std::vector<CollectiveKind>& kinds) {
    std::string names;
    for (const CollectiveKind kind : kinds) {
      names += (names.empty() ? "" : ", ") + std::string(to_string(kind));
    }
    return names;
  }

  void make_cells() {
    std::size_t pairs = 0;
    for (const auto& collective : axes_.collectives) {
      for (const auto& algorithm : axes_.algorithms) {
        if (supports(algorithm_info(algorithm.value), collective.value)) ++pairs;
      }
    }
    std::size_t cells = pairs;
    for (const std::size_t axis :
         {experiment_.fabrics.size(), axes_.protocols.size(), axes_.channels.size(),
          axes_.threads.size(), axes_.sizes.size(), axes_.seeds.size()}) {
      cells *= axis;  // each factor is at most kMostCells, so this cannot overflow before the check
      if (cells > kMostCells) refuse_cells(document_.location());
    }
    experiment_.cells.reserve(cells);
    for (std::size_t fabric = 0; fabric < experiment_.fabrics.size(); ++fabric) {
      for (const auto& collective : axes_.collectives) {
        for (const auto& algorithm : axes_.algorithms) {
          if (!supports(algorithm_info(algorithm.value), collective.value)) continue;
          add_cells(fabric, collective.value, algorithm.value);
        }
      }
    }
    if (experiment_.cells.empty()) {
      throw UserError(axes_.channels.front().where,
                      "nothing is left to simulate: " + experiment_.skipped.back());
    }
  }

  // The numbers of channels with which the algorithm's thread blocks fit on the fabric's GPUs; the
  // others are left out.
  Axis<int> launchable_channels(std::size_t fabric, CollectiveKind collective,
                                const std::string& algorithm) {
    const ExperimentFabric& on = experiment_.fabrics[fabric];
    Axis<int> launchable;
    for (const Located<int>& channels : axes_.channels) {
      const std::string misfit = resident_misfit(
          {.collective = collective, .root = static_cast<int>(root_.value)},
          {.algorithm = algorithm, .channels = channels.value}, *on.fabric, on.cost_model);
      if (misfit.empty()) {
        launchable.push_back(channels);
      } else {
        experiment_.skipped.push_back(
            fmt::format("on fabric '{}', {}: {}", on.label, to_string(collective), misfit));
      }
    }
    return launchable;
  }

  void add_cells(std::size_t fabric, CollectiveKind collective, const std::string& algorithm) {
    const Axis<int> launchable = launchable_channels(fabric, collective, algorithm);
    for (const auto& protocol : axes_.protocols) {
      for (const auto& channels : launchable) {
        for (const auto& threads : axes_.threads) {
          const Config config = with_tiles({.algorithm = algorithm,
                                            .protocol = protocol.value,
                                            .channels = channels.value,
                                            .threads = threads.value},
                                           experiment_.fabrics[fabric].cost_model);
          for (const auto& size : axes_.sizes) {
            for (const auto& seed : axes_.seeds) {
              experiment_.cells.push_back({.fabric = fabric,
                                           .call = {.collective = collective,
                                                    .bytes = size.value,
                                                    .root = static_cast<int>(root_.value)},
                                           .config = config,
                                           .seed = seed.value});
            }
          }
        }
      }
    }
  }

  [[nodiscard]] Config with_tiles(Config config, const CostModel& model) const {
    config = with_protocol_tiles(model, config);
    config.tile_bytes = tile_bytes_.value_or(config.tile_bytes);
    config.slots = slots_.value_or(config.slots);
    return config;
  }

  void read_selectors() {
    if (const YamlValue baseline = value_of("baseline"); !baseline.is_null()) {
      experiment_.baseline =
          read_selector(baseline, baseline_options(), "baseline", experiment_, axes_);
    }
    const YamlValue timelines = value_of("timeline");
    if (timelines.is_null()) return;
    for (const YamlValue& item : read_items(timelines, spec_of("timeline"))) {
      experiment_.timelines.push_back(
          read_selector(item, timeline_options(), "timeline", experiment_, axes_));
    }
  }

  void read_measured_files() {
    const YamlValue files = value_of("measured");
    if (files.is_null()) return;
    for (const YamlValue& item : read_items(files, spec_of("measured"))) {
      experiment_.measured.push_back(existing_path_beside(read_text(item, spec_of("measured")),
                                                          "measured file", item.location()));
    }
  }

  const YamlValue& document_;
  Experiment& experiment_;
  ExperimentAxes axes_;
  Located<std::int64_t> root_;
  int element_bytes_ = 4;
  static constexpr std::string_view kOfProtocol = "protocol";
  std::optional<std::uint64_t> tile_bytes_;  // nothing: the protocol's
  std::optional<int> slots_;
};

}  // namespace

Experiment parse_experiment(std::string_view text, const std::string& file_name) {
  const YamlValue document = parse_yaml(text, file_name);
  Experiment experiment;
  experiment.path = file_name;
  experiment.text = text;
  Loader(document, experiment).load();
  return experiment;
}

Experiment load_experiment(const std::string& path) {
  return parse_experiment(read_text_file(path, kLargestFile), path);
}

}  // namespace cclgym
