#include "sim/tuners/dispatch_table.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "core/files/text_file.hpp"
#include "core/units.hpp"
#include "core/yaml/yaml.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "sim/tuners/nccl_csv_tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

// Values of tiles_by.
constexpr std::array<std::string_view, 2> kTilesBy{"table", "nccl"};

std::vector<OptionSpec> make_dispatch_options() {
  return {
      {.name = "description", .description = "purpose of the table"},
      {.name = "fallback",
       .description = "configuration of the calls that are in no range: an algorithm, a tuner "
                      "(nccl-default:VERSION), or a mapping with the keys of a range except "
                      "sizes. Without it, such a call is an error"},
      {.name = "tables",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "tables, one per fabric and collective",
       .required = true},
      {.name = "programs",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description =
           "programs in MSCCL XML that ranges may name as algorithms: file (relative to the folder "
           "of the table), name, and the hash of the steps with which the table was made"},
  };
}

std::vector<OptionSpec> make_block_options() {
  return {
      {.name = "fabric",
       .description = "label of the fabric, as in results (\"ndv4\", \"ndv4 nodes=2\")",
       .required = true},
      {.name = "collective",
       .kind = OptionKind::Choice,
       .description = "name of the collective",
       .required = true,
       .choices = collective_names()},
      {.name = "ranges",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "size ranges, in any order",
       .required = true},
  };
}

std::vector<OptionSpec> make_range_options() {
  std::vector<OptionSpec> specs{
      {.name = "sizes",
       .description = "sizes of the calls, from the first up to but not including the second: "
                      "\"64KiB..1MiB\", \"..64KiB\" (from 0), \"1MiB..\" (no end)",
       .required = true}};
  for (const OptionSpec& spec : config_options()) specs.push_back(spec);
  specs.push_back({.name = "tiles_by",
                   .kind = OptionKind::Choice,
                   .description =
                       "what chose the tile and slots of the range: this table, or NCCL for this "
                       "algorithm, protocol and number of channels, so that its tuner need not "
                       "set them",
                   .default_text = std::string(kTilesBy[0]),
                   .choices = {kTilesBy.begin(), kTilesBy.end()}});
  return specs;
}

std::string without_spaces(std::string_view text) {
  std::string kept(text);
  std::erase(kept, ' ');
  return kept;
}

// The ranges as flow mappings, one per line, with equal keys aligned.
std::string ranges_yaml(const std::vector<DispatchRange>& ranges) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::size_t> widths;
  for (const DispatchRange& range : ranges) {
    std::vector<std::string> parts = config_yaml(range.choice);
    parts.insert(parts.begin(), "sizes: " + range_text(range));
    if (range.tiles_by_nccl) parts.push_back(fmt::format("tiles_by: {}", kTilesBy[1]));
    widths.resize(std::max(widths.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i + 1 < parts.size()) parts[i] += ',';
      widths[i] = std::max(widths[i], parts[i].size());
    }
    lines.push_back(std::move(parts));
  }
  std::string text;
  for (const std::vector<std::string>& parts : lines) {
    text += "      - {";
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      text += fmt::format("{:<{}} ", parts[i], widths[i]);
    }
    text += parts.back() + "}\n";
  }
  return text;
}

// Refuses keys without a value, which would silently get their defaults.
void refuse_empty_values(const YamlValue& mapping) {
  for (const YamlEntry& entry : mapping.entries()) {
    if (entry.value.is_null()) {
      throw UserError(entry.key_location, fmt::format("{} has no value", entry.key));
    }
  }
}

// Range of sizes as it appears in a message: "from A", "from A up to B", ….
std::string sizes_text(std::uint64_t from, std::uint64_t to) {
  if (to == DispatchRange::kNoEnd) return fmt::format("of {} and more", format_bytes(from));
  if (from == 0) return fmt::format("below {}", format_bytes(to));
  return fmt::format("from {} up to {}", format_bytes(from), format_bytes(to));
}

class Reader {
 public:
  Reader(const YamlValue& document, const AlgorithmLibrary& library) : document_(document) {
    table_.algorithms = library;
  }

  DispatchTable read() {
    check_keys(document_, dispatch_options(), "dispatch table");
    refuse_empty_values(document_);
    const YamlValue description = option_value(document_, dispatch_options()[0]);
    if (!description.is_null()) {
      table_.description = read_text(description, dispatch_options()[0]);
    }
    table_.programs = read_named_programs(option_value(document_, dispatch_options()[3]));
    for (const NamedProgram& program : table_.programs) add_program(table_.algorithms, program);
    const YamlValue fallback = option_value(document_, dispatch_options()[1]);
    if (!fallback.is_null()) read_fallback(fallback);
    const OptionSpec& tables = dispatch_options()[2];
    for (const YamlValue& item : read_items(option_value(document_, tables), tables)) {
      read_block(item);
    }
    return std::move(table_);
  }

 private:
  void read_fallback(const YamlValue& value) {
    DispatchFallback fallback;
    fallback.where = value.location();
    if (value.is_mapping()) {
      check_keys(value, config_options(), "fallback");
      refuse_empty_values(value);
      add_spelled(value);
      fallback.choice = read_config(value, table_.algorithms);
    } else if (const std::string& name = value.as_text(); !is_tuner(name)) {
      // The value is an algorithm in its default configuration.
      table_.algorithms.add_spelled(name, value.location());
      const OptionSpec algorithms = algorithm_option(table_.algorithms);
      fallback.choice.config.algorithm = algorithms.choices[read_choice(value, algorithms)];
      const AlgorithmEntry& algorithm = table_.algorithms.at(fallback.choice.config.algorithm);
      if (algorithm.fixed()) fallback.choice.config.channels = algorithm.program->channels;
    } else if (name.starts_with("dispatch")) {
      throw UserError(value.location(),
                      "fallback is another table; expected an algorithm, "
                      "nccl-default:VERSION or a mapping");
    } else {
      fallback.tuner = name;
    }
    table_.fallback = std::move(fallback);
  }

  // Adds the algorithm of a configuration if its name spells its parameters.
  void add_spelled(const YamlValue& config) {
    const YamlValue* algorithm = config.find("algorithm");
    if (algorithm == nullptr || !algorithm->is_scalar()) return;
    table_.algorithms.add_spelled(algorithm->as_text(), algorithm->location());
  }

  void read_block(const YamlValue& item) {
    const std::vector<OptionSpec>& specs = dispatch_block_options();
    check_keys(item, specs, "table");
    refuse_empty_values(item);
    DispatchBlock block;
    block.where = item.location();
    block.fabric = read_text(option_value(item, specs[0]), specs[0]);
    block.collective = read_collective(option_value(item, specs[1]));
    if (const DispatchBlock* other = table_.find(block.fabric, block.collective)) {
      throw UserError(
          item.location(),
          fmt::format("{} on fabric {} already has a table, in line {}",
                      to_string(block.collective), quoted(block.fabric), other->where.line));
    }
    for (const YamlValue& range : read_items(option_value(item, specs[2]), specs[2])) {
      block.ranges.push_back(read_range(range, block.collective));
    }
    std::stable_sort(
        block.ranges.begin(), block.ranges.end(),
        [](const DispatchRange& a, const DispatchRange& b) { return a.from_bytes < b.from_bytes; });
    check_neighbours(block.ranges);
    table_.blocks.push_back(std::move(block));
  }

  static CollectiveKind read_collective(const YamlValue& value) {
    const OptionSpec& spec = dispatch_block_options()[1];
    const auto kind = parse_collective(value.as_text());
    if (kind && *kind != CollectiveKind::Custom) return *kind;
    throw UserError(value.location(),
                    unknown_name_message("collective", value.as_text(), spec.choices));
  }

  [[nodiscard]] DispatchRange read_range(const YamlValue& value, CollectiveKind collective) {
    check_keys(value, dispatch_range_options(), "range");
    refuse_empty_values(value);
    DispatchRange range;
    range.where = value.location();
    read_sizes(option_value(value, dispatch_range_options()[0]), range);
    add_spelled(value);
    range.choice = read_config(value, table_.algorithms);
    const OptionSpec& tiles_by = dispatch_range_options().back();
    range.tiles_by_nccl =
        kTilesBy[read_choice(option_value(value, tiles_by), tiles_by)] == kTilesBy[1];
    const AlgorithmEntry& algorithm = table_.algorithms.at(range.choice.config.algorithm);
    if (!supports(algorithm, collective)) {
      throw UserError(
          value.find("algorithm")->location(),
          fmt::format("algorithm '{}' has no {}", algorithm.name, to_string(collective)));
    }
    return range;
  }

  static void read_sizes(const YamlValue& value, DispatchRange& range) {
    const std::string& text = value.as_text();
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) {
      throw UserError(value.location(),
                      fmt::format("sizes is {}; expected a range, e.g. '64KiB..1MiB', '..64KiB' "
                                  "or '1MiB..'",
                                  quoted(text)));
    }
    const std::string from = without_spaces(text.substr(0, dots));
    const std::string to = without_spaces(text.substr(dots + 2));
    if (!from.empty()) range.from_bytes = parse_bytes(from, "sizes", value.location());
    if (!to.empty()) range.to_bytes = parse_bytes(to, "sizes", value.location());
    if (range.from_bytes >= range.to_bytes) {
      throw UserError(value.location(),
                      fmt::format("sizes is {}, an empty range: a range includes its lower end "
                                  "but not its upper one",
                                  quoted(text)));
    }
  }

  // Checks ranges in ascending order: none may overlap the previous one or, without a fallback,
  // leave a gap after it.
  void check_neighbours(const std::vector<DispatchRange>& ranges) const {
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      const DispatchRange& before = ranges[i - 1];
      const DispatchRange& range = ranges[i];
      if (range.from_bytes < before.to_bytes) {
        throw UserError(range.where,
                        fmt::format("the sizes {} overlap {} in line {}", range_text(range),
                                    range_text(before), before.where.line));
      }
      if (range.from_bytes > before.to_bytes && !table_.fallback) {
        throw UserError(
            range.where,
            fmt::format("no range has the sizes {}: a range includes its lower end but not its "
                        "upper one; expected sizes from {} on, or a fallback",
                        sizes_text(before.to_bytes, range.from_bytes),
                        format_bytes(before.to_bytes)));
      }
    }
  }

  const YamlValue& document_;
  DispatchTable table_;
};

class DispatchTuner final : public Tuner {
 public:
  DispatchTuner(std::string path, DispatchTable table, const TunerSite& site)
      : path_(std::move(path)),
        table_(std::move(table)),
        fabric_(site.fabric_label.empty() ? site.fabric->name() : site.fabric_label),
        cost_model_(site.cost_model) {
    if (!table_.fallback || table_.fallback->tuner.empty()) return;
    TunerSite of_fallback = site;
    of_fallback.where = table_.fallback->where;
    fallback_ = make_tuner(table_.fallback->tuner, of_fallback);
  }

  Config choose(const Call& call) const override {
    const DispatchBlock* block = table_.find(fabric_, call.collective);
    if (block != nullptr) {
      // First range that ends after the size.
      const auto range = std::partition_point(
          block->ranges.begin(), block->ranges.end(),
          [&](const DispatchRange& candidate) { return candidate.to_bytes <= call.bytes; });
      if (range != block->ranges.end() && range->from_bytes <= call.bytes) {
        return range->choice.under(cost_model_, call.collective);
      }
    }
    if (fallback_) return fallback_->choose(call);
    if (table_.fallback) return table_.fallback->choice.under(cost_model_, call.collective);
    const std::string what =
        fmt::format("{}: no range for {} of {} on '{}'", path_, to_string(call.collective),
                    format_bytes(call.bytes), fabric_);
    if (block == nullptr) throw UserError(what + "; " + known_blocks());
    throw UserError(
        fmt::format("{}; the table there has sizes {}", what,
                    sizes_text(block->ranges.front().from_bytes, block->ranges.back().to_bytes)));
  }

  bool chooses_for(CollectiveKind collective) const override {
    if (table_.find(fabric_, collective) != nullptr) return true;
    if (fallback_) return fallback_->chooses_for(collective);
    return table_.fallback &&
           supports(table_.algorithms.at(table_.fallback->choice.config.algorithm), collective);
  }

  AlgorithmLibrary algorithms() const override {
    AlgorithmLibrary all = table_.algorithms;
    if (fallback_) all.add_all(fallback_->algorithms());
    return all;
  }

  std::string description() const override {
    std::size_t ranges = 0;
    for (const DispatchBlock& block : table_.blocks) ranges += block.ranges.size();
    return fmt::format("{}: {} size range{}{}", path_, ranges, ranges == 1 ? "" : "s",
                       table_.description.empty() ? "" : ", " + table_.description);
  }

 private:
  [[nodiscard]] std::string known_blocks() const {
    std::vector<std::string> names;
    for (const DispatchBlock& block : table_.blocks) {
      names.push_back(fmt::format("{} on '{}'", to_string(block.collective), block.fabric));
    }
    return fmt::format("it has {}", fmt::join(names, ", "));
  }

  std::string path_;
  DispatchTable table_;
  std::string fabric_;
  CostModel cost_model_;
  std::unique_ptr<const Tuner> fallback_;
};

}  // namespace

const DispatchBlock* DispatchTable::find(std::string_view fabric, CollectiveKind collective) const {
  const std::string label = comparable_fabric_label(fabric);
  for (const DispatchBlock& block : blocks) {
    if (block.collective != collective) continue;
    if (comparable_fabric_label(block.fabric) == label) return &block;
  }
  return nullptr;
}

const std::vector<OptionSpec>& dispatch_options() {
  static const std::vector<OptionSpec> options = make_dispatch_options();
  return options;
}

const std::vector<OptionSpec>& dispatch_block_options() {
  static const std::vector<OptionSpec> options = make_block_options();
  return options;
}

const std::vector<OptionSpec>& dispatch_range_options() {
  static const std::vector<OptionSpec> options = make_range_options();
  return options;
}

DispatchTable parse_dispatch_table(std::string_view text, const std::string& file_name,
                                   const AlgorithmLibrary& library) {
  return Reader(parse_yaml(text, file_name), library).read();
}

DispatchTable load_dispatch_table(const std::string& path, const AlgorithmLibrary& library) {
  const std::string text = read_text_file(path, YamlLimits{}.bytes);
  if (is_tuner_csv(text, path)) {
    throw UserError(SourceLocation{path},
                    "is a CSV for NCCL's tuner, which CCLGYM_TUNER_CSV gives to the plugin as it "
                    "is; expected a dispatch table in YAML");
  }
  return parse_dispatch_table(text, path, library);
}

std::string range_text(const DispatchRange& range) {
  return (range.from_bytes == 0 ? "" : format_bytes(range.from_bytes)) + ".." +
         (range.to_bytes == DispatchRange::kNoEnd ? "" : format_bytes(range.to_bytes));
}

std::string to_yaml(const DispatchTable& table, std::string_view comment) {
  std::string text;
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    text += fmt::format("# {}\n", comment.substr(0, end));
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
  if (!table.description.empty()) {
    text += fmt::format("description: {}\n", yaml_scalar(table.description));
  }
  if (table.fallback) {
    text += fmt::format(
        "fallback: {}\n",
        table.fallback->tuner.empty()
            ? fmt::format("{{{}}}", fmt::join(config_yaml(table.fallback->choice), ", "))
            : yaml_scalar(table.fallback->tuner));
  }
  if (!table.programs.empty()) text += "programs:\n";
  for (const NamedProgram& program : table.programs) {
    text += fmt::format("  - {{file: {}, name: {}", yaml_scalar(program.file),
                        yaml_scalar(program.name));
    if (!program.hash.empty()) text += fmt::format(", hash: \"{}\"", program.hash);
    text += traits_yaml(program.traits) + "}\n";
  }
  text += "tables:\n";
  for (const DispatchBlock& block : table.blocks) {
    text += fmt::format("  - fabric: {}\n    collective: {}\n    ranges:\n",
                        yaml_scalar(block.fabric), to_string(block.collective));
    text += ranges_yaml(block.ranges);
  }
  return text;
}

std::unique_ptr<const Tuner> make_dispatch_tuner(std::string_view path, const TunerSite& site) {
  if (path.empty()) {
    throw UserError(site.where, "'dispatch' needs a table; expected e.g. 'dispatch:table.yaml'");
  }
  const std::filesystem::path seen =
      std::filesystem::path(site.where.file).parent_path() / std::filesystem::path(path);
  std::error_code error;
  if (!std::filesystem::exists(seen, error)) {
    throw UserError(site.where,
                    fmt::format("dispatch table {} does not exist", quoted(seen.string(), 200)));
  }
  const std::string text = read_text_file(seen.string(), YamlLimits{}.bytes);
  if (is_tuner_csv(text, seen.string())) return make_nccl_csv_tuner(text, seen.string(), site);
  return std::make_unique<DispatchTuner>(
      seen.string(), parse_dispatch_table(text, seen.string(), site.algorithms), site);
}

}  // namespace cclgym
