#include "experiments/sweep/load_experiment.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>

#include "core/files/text_file.hpp"
#include "core/yaml/empty_values.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/intervals/time_intervals.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/combinations.hpp"
#include "experiments/sweep/cost_model_choice.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/make_cells.hpp"
#include "experiments/sweep/measured_speedup_options.hpp"
#include "experiments/sweep/selectors.hpp"
#include "sim/noise/noise_warning.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

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

class Loader {
 public:
  Loader(const YamlValue& document, Experiment& experiment, const LoadSettings& settings)
      : document_(document), experiment_(experiment), settings_(settings) {}

  void load() {
    check_keys(document_, experiment_options(), "experiment");
    refuse_empty_values(document_, experiment_options());
    const YamlValue name = value_of("name");
    experiment_.name = read_text(name, experiment_option("name"));
    if (!is_plain_name(experiment_.name)) {
      throw UserError(name.location(),
                      fmt::format("name is {}; expected at most 100 letters, digits, '.', '_' and "
                                  "'-', not starting with '.' or '-'",
                                  quoted(experiment_.name)));
    }
    if (const YamlValue text = value_of("description"); !text.is_null()) {
      experiment_.description = read_text(text, experiment_option("description"));
    }
    experiment_.engine = experiment_option("engine")
                             .choices[read_choice(value_of("engine"), experiment_option("engine"))];
    experiment_.repetitions = static_cast<std::uint64_t>(
        read_integer(value_of("repetitions"), experiment_option("repetitions")));
    experiment_.time_of = read_choice(value_of("time_of"), experiment_option("time_of")) == 0
                              ? TimeOf::Call
                              : TimeOf::AcrossNodes;
    experiment_.any_legal = read_choice(value_of("legal"), experiment_option("legal")) == 1;
    if (experiment_.time_of == TimeOf::AcrossNodes) {
      warn("all times are those of the kernels across nodes alone (time_of: across-nodes)");
    }
    axes_ = read_axes(document_, experiment_.algorithms, settings_.most_cells);
    axes_.only = read_combinations(document_, axes_, experiment_.algorithms);
    read_single_values();
    read_fabrics();
    make_cells(experiment_, axes_, document_.location(),
               {.root = static_cast<int>(root_.value),
                .most_cells = settings_.most_cells,
                .on_progress = settings_.on_progress});
    read_selectors();
    experiment_.measured = paths_of("measured");
    read_measured_speedup();
    experiment_.published = paths_of("published");
  }

 private:
  YamlValue value_of(std::string_view key) {
    return option_value(document_, experiment_option(key));
  }

  void read_single_values() {
    const YamlValue root = value_of("root");
    root_ = {read_integer(root, experiment_option("root")), root.location()};
    const OptionSpec& types = experiment_option("datatype");
    experiment_.element_bytes = data_types()[read_choice(value_of("datatype"), types)].second;
  }

  void read_fabrics() {
    const std::vector<Located<NoiseProfile>> noises = read_noises();
    std::set<std::string> labels;
    for (const YamlValue& item : read_items(value_of("fabrics"), experiment_option("fabrics"))) {
      ExperimentFabric fabric;
      const FabricSpec spec = read_fabric_spec(item);
      if (is_fabric_file(spec.name)) check_exists(spec.name, "fabric file", item.location());
      fabric.fabric = settings_.fabric_maker(spec);
      fabric.plain_label = fabric_label(spec, *fabric.fabric);
      check_label(fabric.plain_label, "the fabric", item.location());
      // Cell keys must differ, too.
      if (!labels.insert(key_label(fabric.plain_label)).second) {
        throw UserError(item.location(),
                        fmt::format("fabrics has {} more than once", quoted(fabric.plain_label)));
      }
      const YamlValue model = value_of("cost_model");
      const ParameterSet set = read_parameter_set_choice(model, *fabric.fabric);
      fabric.cost_model = set.model;
      check_label(fabric.cost_model.label(), "the cost model", model.location());
      for (const std::string& text : fabric.fabric->warnings()) {
        warn(fabric.plain_label + ": " + text);
      }
      warn(cost_model_warning(fabric.cost_model, *fabric.fabric));
      fabric.offer = offer_on(fabric);
      if (root_.value >= fabric.fabric->ranks()) {
        throw UserError(root_.where,
                        fmt::format("root is {}; expected a rank of fabric '{}', 0 to "
                                    "{}",
                                    root_.value, fabric.plain_label, fabric.fabric->ranks() - 1));
      }
      for (const Located<NoiseProfile>& noise : noises) {
        ExperimentFabric under = fabric;
        under.label = fabric.plain_label;
        if (!noise.value.none()) under.label += " noise=" + noise.value.name;
        check_label(under.label, "the fabric under noise", noise.where);
        under.noise = noise.value;
        if (noise.value.none()) {
          for (const CollectiveKind kind : all_collectives()) {
            const std::string name(to_string(kind));
            under.intervals[name] =
                interval_text(shipped_time_intervals(), set, *fabric.fabric, name);
          }
        }
        require_ranks(noise.value, *fabric.fabric);
        warn(noise_warning(noise.value, *fabric.fabric));
        experiment_.fabrics.push_back(std::move(under));
      }
    }
  }

  void warn(const std::string& text) {
    std::vector<std::string>& all = experiment_.warnings;
    if (!text.empty() && std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }

  // The offer of the first release that the experiment names, or of the newest.
  std::shared_ptr<const NcclOffer> offer_on(const ExperimentFabric& fabric) const {
    if (fabric.cost_model.hockney) return nullptr;
    try {
      for (const Located<std::string>& name : axes_.algorithms) {
        if (const auto release = nccl_release_of(name.value)) {
          return std::make_shared<const NcclOffer>(*release, *fabric.fabric);
        }
      }
      return std::make_shared<const NcclOffer>(kNewestNccl, *fabric.fabric);
    } catch (const UserError&) {
      return nullptr;  // NCCL does not run there
    }
  }

  std::vector<Located<NoiseProfile>> read_noises() {
    std::vector<Located<NoiseProfile>> noises;
    std::set<std::string> names;
    const OptionSpec& spec = experiment_option("noise");
    for (const YamlValue& item : read_items(value_of("noise"), spec)) {
      std::string name = read_text(item, spec);
      if (name.ends_with(".yaml") || name.ends_with(".yml")) {
        name = existing_path_beside(name, "noise profile", item.location());
      }
      noises.push_back({noise_profile_for(name, item.location()), item.location()});
      const NoiseProfile& profile = noises.back().value;
      if (!names.insert(profile.none() ? "none" : key_label(profile.name)).second) {
        throw UserError(item.location(),
                        fmt::format("noise has {} more than once",
                                    quoted(profile.none() ? "none" : profile.name)));
      }
    }
    return noises;
  }

  void read_selectors() {
    if (const YamlValue baseline = value_of("baseline"); !baseline.is_null()) {
      experiment_.baseline =
          read_selector(baseline, baseline_options(), "baseline", experiment_, axes_);
    }
    const YamlValue timelines = value_of("timeline");
    if (timelines.is_null()) return;
    for (const YamlValue& item : read_items(timelines, experiment_option("timeline"))) {
      experiment_.timelines.push_back(
          read_selector(item, timeline_options(), "timeline", experiment_, axes_));
    }
  }

  void read_measured_speedup() {
    const YamlValue value = value_of("measured_speedup");
    if (value.is_null()) return;
    const std::vector<OptionSpec>& specs = measured_speedup_options();
    check_keys(value, specs, "measured_speedup");
    refuse_empty_values(value, specs);
    for (const std::string key : {"measured", "baseline"}) {
      if (!value_of(key).is_null()) continue;
      throw UserError(value.location(), fmt::format("measured_speedup needs {}: {}", key,
                                                    experiment_option(key).description));
    }
    const auto read = [&](std::string_view key, std::string& text, SourceLocation& where) {
      const OptionSpec& spec = find_option(specs, key);
      const YamlValue name = option_value(value, spec);
      text = read_text(name, spec);
      where = name.location();
    };
    MeasuredSpeedupChoice& choice = experiment_.measured_speedup.emplace();
    read("of", choice.of, choice.of_where);
    read("over", choice.over, choice.over_where);
  }

  // Paths of the files given for a key, which must exist.
  std::vector<std::string> paths_of(const std::string& key) {
    std::vector<std::string> paths;
    const YamlValue files = value_of(key);
    if (files.is_null()) return paths;
    for (const YamlValue& item : read_items(files, experiment_option(key))) {
      paths.push_back(existing_path_beside(read_text(item, experiment_option(key)), key + " file",
                                           item.location()));
    }
    return paths;
  }

  const YamlValue& document_;
  Experiment& experiment_;
  ExperimentAxes axes_;
  Located<std::int64_t> root_;
  const LoadSettings& settings_;
};

}  // namespace

Experiment parse_experiment(std::string_view text, const std::string& file_name,
                            const LoadSettings& settings) {
  const YamlValue document = parse_yaml(text, file_name);
  Experiment experiment;
  experiment.path = file_name;
  experiment.text = text;
  Loader(document, experiment, settings).load();
  return experiment;
}

Experiment load_experiment(const std::string& path, const LoadProgress& on_progress) {
  LoadSettings settings;
  settings.on_progress = on_progress;
  return parse_experiment(read_text_file(path, kLargestFile), path, settings);
}

}  // namespace cclgym
