#include "experiments/sweep/axes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "core/units.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "sim/tuners/named_programs.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

class AxisReader {
 public:
  AxisReader(const YamlValue& document, AlgorithmLibrary& library, std::size_t most_cells)
      : document_(document), library_(library), most_cells_(most_cells) {}

  ExperimentAxes read() {
    ExperimentAxes axes;
    axes.collectives = read_name_axis<CollectiveKind>(
        "collectives", "collective",
        [](const std::string& text) { return parse_collective(text); });
    axes.algorithms = read_axis<std::string>(
        "algorithms",
        [&](const YamlValue& item) { return std::vector<std::string>{read_algorithm(item)}; },
        [](const std::string& name) { return quoted(name); });
    axes.protocols = read_name_axis<Protocol>(
        "protocols", "protocol", [](const std::string& text) { return parse_protocol(text); });
    axes.channels = read_int_axis("channels");
    axes.instances = read_int_axis("instances");
    axes.threads = read_int_axis("threads");
    axes.tiles = read_axis_or_protocol<TileBytes>(
        "tile",
        [](const YamlValue& item) {
          return read_bytes_range(item.as_text(), experiment_option("tile"), item.location());
        },
        tile_text);
    axes.slots = read_axis_or_protocol<Slots>(
        "slots",
        [](const YamlValue& item) {
          return read_integer_range(item.as_text(), experiment_option("slots"), item.location());
        },
        slots_text);
    axes.sizes = read_axis<std::uint64_t>(
        "sizes",
        [&](const YamlValue& item) {
          return read_bytes_range(item.as_text(), experiment_option("sizes"), item.location());
        },
        [](std::uint64_t bytes) { return format_bytes(bytes); });
    axes.seeds = read_axis<std::uint64_t>(
        "seeds",
        [&](const YamlValue& item) {
          std::vector<std::uint64_t> seeds;
          for (const std::int64_t seed :
               read_integer_range(item.as_text(), experiment_option("seeds"), item.location())) {
            seeds.push_back(static_cast<std::uint64_t>(seed));
          }
          return seeds;
        },
        [](std::uint64_t seed) { return std::to_string(seed); });
    return axes;
  }

 private:
  // Reads the name of an algorithm, a tuner or a program. A program is added to the library.
  std::string read_algorithm(const YamlValue& item) {
    if (item.is_mapping()) {
      const NamedProgram program = read_named_program(item);
      add_program(library_, program);
      return program.name;
    }
    const std::string& text = item.as_text();
    library_.add_spelled(text, item.location());
    if (const AlgorithmEntry* entry = library_.find(text)) return entry->name;
    if (is_tuner(text)) return text;
    throw UserError(item.location(), unknown_name_message("algorithm", text,
                                                          experiment_option("algorithms").choices));
  }

  // Reads a list; `read_item(item, values)` appends the values of one item. A value may not occur
  // twice, because its cells would occur twice.
  template <class Value, class ReadItem, class Text>
  Axis<Value> read_axis(std::string_view key, ReadItem read_item, Text text_of) {
    Axis<Value> axis;
    std::set<Value> seen;
    for (const YamlValue& item :
         read_items(option_value(document_, experiment_option(key)), experiment_option(key))) {
      for (const Value& value : read_item(item)) {
        if (!seen.insert(value).second) {
          throw UserError(item.location(),
                          fmt::format("{} has {} more than once", key, text_of(value)));
        }
        if (axis.size() == most_cells_) refuse_cells(item.location(), most_cells_);
        axis.push_back({value, item.location()});
      }
    }
    return axis;
  }

  // Reads a list whose items are "protocol" (nullopt) or text that `read_values` reads.
  template <class Value, class ReadValues, class Text>
  Axis<Value> read_axis_or_protocol(std::string_view key, ReadValues read_values, Text text_of) {
    return read_axis<Value>(
        key,
        [&](const YamlValue& item) {
          std::vector<Value> values;
          if (item.as_text() == kOfProtocol) {
            values.emplace_back(std::nullopt);
          } else if (item.as_text() == kNoTiles) {
            values.emplace_back(0);
          } else {
            for (const auto value : read_values(item)) {
              values.emplace_back(static_cast<typename Value::value_type>(value));
            }
          }
          return values;
        },
        text_of);
  }

  Axis<int> read_int_axis(std::string_view key) {
    return read_axis<int>(
        key,
        [&](const YamlValue& item) {
          std::vector<int> values;
          for (const std::int64_t value :
               read_integer_range(item.as_text(), experiment_option(key), item.location())) {
            values.push_back(static_cast<int>(value));
          }
          return values;
        },
        [](int value) { return std::to_string(value); });
  }

  // Reads a list of names; `parse` returns nullopt for an unknown name. `what` is the word for such
  // a name in messages.
  template <class Value, class Parse>
  Axis<Value> read_name_axis(std::string_view key, std::string_view what, Parse parse) {
    return read_axis<Value>(
        key,
        [&](const YamlValue& item) {
          const std::optional<Value> value = parse(item.as_text());
          if (!value) {
            throw UserError(item.location(), unknown_name_message(what, item.as_text(),
                                                                  experiment_option(key).choices));
          }
          return std::vector<Value>{*value};
        },
        [](const Value& value) { return quoted(to_string(value)); });
  }

  const YamlValue& document_;
  AlgorithmLibrary& library_;
  std::size_t most_cells_;
};

}  // namespace

void refuse_cells(const SourceLocation& where, std::size_t most_cells) {
  throw UserError(
      where, fmt::format("the experiment has too many cells; expected at most {}", most_cells));
}

Axis<int> copies_axis(const ExperimentAxes& axes, std::string_view key,
                      const AlgorithmLibrary& library, const std::string& algorithm) {
  const Axis<int>& given = key == "channels" ? axes.channels : axes.instances;
  const auto own = [&](const AlgorithmEntry& entry) {
    return Located<int>{key == "channels" ? entry.program->channels : 1, {}};
  };
  const AlgorithmEntry* named = library.find(algorithm);
  if (named != nullptr) return named->fixed() ? Axis<int>{own(*named)} : given;
  Axis<int> all = given;
  for (const Located<std::string>& one : axes.algorithms) {
    const AlgorithmEntry* entry = library.find(one.value);  // null for tuners
    if (entry == nullptr || !entry->fixed()) continue;
    if (std::ranges::find(all, own(*entry).value, &Located<int>::value) == all.end()) {
      all.push_back(own(*entry));
    }
  }
  return all;
}

std::string own_number_message(std::string_view key, const AlgorithmEntry& program, int own,
                               std::int64_t found) {
  return fmt::format("{} of program '{}' must be {}, found {}; correct it or leave it out", key,
                     program.name, own, found);
}

ExperimentAxes read_axes(const YamlValue& document, AlgorithmLibrary& library,
                         std::size_t most_cells) {
  return AxisReader(document, library, most_cells).read();
}

}  // namespace cclgym
