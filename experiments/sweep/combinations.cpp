#include "experiments/sweep/combinations.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/yaml/empty_values.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

template <class Value>
bool has_value(const Axis<Value>& axis, const Value& value) {
  return std::any_of(axis.begin(), axis.end(), [&](const auto& one) { return one.value == value; });
}

template <class Value>
bool among(const std::vector<Value>& values, const Value& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

template <class Value, class Text>
[[noreturn]] void refuse(const YamlValue& item, const std::string& key, const Axis<Value>& axis,
                         Text text_of) {
  std::vector<std::string> names;
  for (const Located<Value>& one : axis) names.emplace_back(text_of(one.value));
  throw UserError(item.location(),
                  unknown_name_message(key + " of the experiment", item.as_text(), names));
}

class CombinationReader {
 public:
  CombinationReader(const YamlValue& item, const ExperimentAxes& axes,
                    const AlgorithmLibrary& library)
      : item_(item), axes_(axes), library_(library) {}

  Combinations read() {
    check_keys(item_, combination_options(), "only");
    refuse_empty_values(item_, combination_options());
    Combinations result;
    result.algorithm = algorithm();
    for (const YamlValue& value : items("protocol")) {
      const std::optional<Protocol> protocol = parse_protocol(value.as_text());
      if (!protocol || !has_value(axes_.protocols, *protocol)) {
        refuse(value, "protocol", axes_.protocols, [](Protocol one) { return to_string(one); });
      }
      result.protocols.push_back(*protocol);
    }
    const AlgorithmEntry& entry = library_.at(result.algorithm);
    result.channels = copies("channels", axes_.channels, entry);
    result.instances = copies("instances", axes_.instances, entry);
    result.threads = numbers("threads", axes_.threads);
    return result;
  }

 private:
  std::string algorithm() {
    const YamlValue value = option_value(item_, spec_of("algorithm"));
    const std::string& name = value.as_text();
    if (is_tuner(name)) {
      throw UserError(
          value.location(),
          fmt::format("{} chooses its configurations itself; expected an algorithm", quoted(name)));
    }
    if (!has_value(axes_.algorithms, name)) {
      refuse(value, "algorithm", axes_.algorithms, [](const std::string& one) { return one; });
    }
    return name;
  }

  // Channels or instances, by `key`. Those of a fixed program must include its own number.
  std::vector<int> copies(const std::string& key, Axis<int> axis, const AlgorithmEntry& entry) {
    if (!entry.fixed()) return numbers(key, axis);
    const Located<int> own = copies_axis(axes_, key, library_, entry.name).front();
    const std::vector<std::pair<int, YamlValue>> given = listed(key);
    const auto is_own = [&](const auto& one) { return one.first == own.value; };
    if (!given.empty() && std::ranges::none_of(given, is_own)) {
      throw UserError(given.front().second.location(),
                      own_number_message(key, entry, own.value, given.front().first));
    }
    if (!has_value(axis, own.value)) axis.push_back(own);
    return numbers(key, axis);
  }

  std::vector<int> numbers(const std::string& key, const Axis<int>& axis) {
    std::vector<int> values;
    for (const auto& [value, item] : listed(key)) {
      if (!has_value(axis, value)) {
        refuse(item, key, axis, [](int one) { return std::to_string(one); });
      }
      values.push_back(value);
    }
    return values;
  }

  // The numbers of a key, each with the item that gives it.
  std::vector<std::pair<int, YamlValue>> listed(const std::string& key) {
    std::vector<std::pair<int, YamlValue>> all;
    for (const YamlValue& item : items(key)) {
      for (const std::int64_t number :
           read_integer_range(item.as_text(), spec_of(key), item.location())) {
        all.emplace_back(static_cast<int>(number), item);
      }
    }
    return all;
  }

  std::vector<YamlValue> items(const std::string& key) {
    const YamlValue value = option_value(item_, spec_of(key));
    return value.is_null() ? std::vector<YamlValue>{} : read_items(value, spec_of(key));
  }

  static const OptionSpec& spec_of(std::string_view key) {
    return find_option(combination_options(), key);
  }

  const YamlValue& item_;
  const ExperimentAxes& axes_;
  const AlgorithmLibrary& library_;
};

template <class Fits>
bool wanted_if(const ExperimentAxes& axes, const std::string& algorithm, Fits fits) {
  bool named = false;
  for (const Combinations& item : axes.only) {
    if (item.algorithm != algorithm) continue;
    if (fits(item)) return true;
    named = true;
  }
  return !named;
}

bool fits_but_for_protocol(const Combinations& item, const Config& config) {
  return among(item.channels, config.channels) && among(item.instances, config.instances) &&
         among(item.threads, config.threads);
}

std::vector<OptionSpec> make_combination_options() {
  std::vector<OptionSpec> specs;
  for (const OptionSpec& spec : timeline_options()) {
    const bool list = spec.name == "protocol" || spec.name == "channels" ||
                      spec.name == "instances" || spec.name == "threads";
    if (!list && spec.name != "algorithm") continue;
    specs.push_back(spec);
    OptionSpec& mine = specs.back();
    if (list) {
      mine.shape = OptionShape::OneOrList;
      mine.description = "subset of the experiment's " +
                         std::string(spec.name == "protocol" ? "protocols" : spec.name) +
                         "; default: all";
      if (spec.name != "protocol") mine.min = 1;
    } else {
      mine.description = "one of the experiment's algorithms";
      mine.required = true;
    }
  }
  return specs;
}

}  // namespace

const std::vector<OptionSpec>& combination_options() {
  static const std::vector<OptionSpec> specs = make_combination_options();
  return specs;
}

std::vector<Combinations> read_combinations(const YamlValue& document, const ExperimentAxes& axes,
                                            const AlgorithmLibrary& library) {
  const OptionSpec& spec = experiment_option("only");
  const YamlValue value = option_value(document, spec);
  std::vector<Combinations> all;
  if (value.is_null()) return all;
  for (const YamlValue& item : read_items(value, spec)) {
    all.push_back(CombinationReader(item, axes, library).read());
  }
  return all;
}

bool wanted_with_any_protocol(const ExperimentAxes& axes, const Config& config) {
  return wanted_if(axes, config.algorithm,
                   [&](const Combinations& item) { return fits_but_for_protocol(item, config); });
}

bool wanted(const ExperimentAxes& axes, const Config& config) {
  return wanted_if(axes, config.algorithm, [&](const Combinations& item) {
    return fits_but_for_protocol(item, config) && among(item.protocols, config.protocol);
  });
}

}  // namespace cclgym
