#include "sim/call/config_options.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <stdexcept>

#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "sim/call/tiles.hpp"

namespace cclgym {

namespace {

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const Protocol protocol : all_protocols()) names.emplace_back(to_string(protocol));
  return names;
}

std::vector<OptionSpec> make_options() {
  return {
      {.name = "algorithm",
       .kind = OptionKind::Choice,
       .description = "name of the algorithm",
       .required = true,
       .choices = AlgorithmLibrary::shipped().names()},
      {.name = "protocol",
       .kind = OptionKind::Choice,
       .description = "protocol (without effect under cost model hockney)",
       .default_text = "Simple",
       .choices = protocol_names()},
      {.name = "channels",
       .kind = OptionKind::Integer,
       .description = "number of channels",
       .min = 1,
       .max = kMostCallChannels,
       .default_text = "1"},
      {.name = "instances",
       .kind = OptionKind::Integer,
       .description =
           "number of copies of the program, each with its part of every chunk on channels "
           "of its own (MSCCL's parallelisation r)",
       .min = 1,
       .max = 64,
       .default_text = "1"},
      {.name = "threads",
       .kind = OptionKind::Integer,
       .description = "number of threads per thread block",
       .min = 32,
       .max = 1024,
       .multiple_of = 32,
       .default_text = "512"},
      {.name = "tile",
       .kind = OptionKind::Bytes,
       .description = "max size of the tiles in which chunks move; protocol: that of the protocol, "
                      "as in NCCL; none: chunks move whole",
       .min = 0,
       .max = 1ULL << 50,
       .default_text = std::string(kOfProtocol)},
      {.name = "slots",
       .kind = OptionKind::Integer,
       .description = "max number of messages on a connection; protocol: that of the protocol, as "
                      "in NCCL; none: unlimited",
       .min = 0,
       .max = kMostSlots,
       .default_text = std::string(kOfProtocol)},
  };
}

int read_int(const YamlValue& mapping, std::string_view key) {
  const OptionSpec& spec = config_option(key);
  return static_cast<int>(read_integer(option_value(mapping, spec), spec));
}

// Refuses channels and instances that are not those of a fixed program.
void refuse_other_than_own(const YamlValue& mapping, const AlgorithmEntry& algorithm,
                           const Config& config) {
  if (!algorithm.fixed()) return;
  const int root = algorithm.program->contract.root();
  const auto refuse = [&](std::string_view key, int channels, int instances) {
    const auto reason = check_fixed_program(algorithm, channels, instances, root);
    if (reason) throw UserError(mapping.find(key)->location(), *reason);
  };
  refuse("channels", config.channels, 1);
  refuse("instances", algorithm.program->channels, config.instances);
}

}  // namespace

const std::vector<OptionSpec>& config_options() {
  static const std::vector<OptionSpec> options = make_options();
  return options;
}

const OptionSpec& config_option(std::string_view name) {
  return find_option(config_options(), name);
}

OptionSpec algorithm_option(const AlgorithmLibrary& library) {
  OptionSpec option = config_option("algorithm");
  option.choices = library.names();
  return option;
}

TileBytes read_tile(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  if (text == kOfProtocol) return std::nullopt;
  if (text == kNoTiles) return 0;
  return read_bytes(text, spec, where);
}

Slots read_slots(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  if (text == kOfProtocol) return std::nullopt;
  if (text == kNoTiles) return 0;
  return static_cast<int>(read_integer(text, spec, where));
}

Protocol read_protocol(std::string_view text, const SourceLocation& where) {
  if (const auto protocol = parse_protocol(text)) return *protocol;
  throw UserError(where, unknown_name_message("protocol", text, protocol_names()));
}

std::string tile_text(TileBytes bytes) {
  if (!bytes) return std::string(kOfProtocol);
  return *bytes == 0 ? std::string(kNoTiles) : format_bytes(*bytes);
}

std::string slots_text(Slots slots) {
  if (!slots) return std::string(kOfProtocol);
  return *slots == 0 ? std::string(kNoTiles) : std::to_string(*slots);
}

ConfigChoice choice_under(const CostModel& model, CollectiveKind collective, Config config) {
  const Config usual = with_protocol_tiles(model, collective, config);
  ConfigChoice choice;
  choice.config = std::move(config);
  if (choice.config.tile_bytes != usual.tile_bytes) choice.tile_bytes = choice.config.tile_bytes;
  if (choice.config.slots != usual.slots) choice.slots = choice.config.slots;
  return choice;
}

Config with_tiles(const CostModel& model, CollectiveKind collective, Config config,
                  TileBytes tile_bytes, Slots slots) {
  config = with_protocol_tiles(model, collective, std::move(config));
  config.tile_bytes = tile_bytes.value_or(config.tile_bytes);
  config.slots = slots.value_or(config.slots);
  return config;
}

ConfigChoice read_config(const YamlValue& mapping, const AlgorithmLibrary& library) {
  ConfigChoice choice;
  const OptionSpec algorithm = algorithm_option(library);
  const OptionSpec& tile = config_option("tile");
  const OptionSpec& slots = config_option("slots");
  choice.config.algorithm =
      algorithm.choices[read_choice(option_value(mapping, algorithm), algorithm)];
  const YamlValue protocol = option_value(mapping, config_option("protocol"));
  choice.config.protocol = read_protocol(protocol.as_text(), protocol.location());
  const AlgorithmEntry& chosen = library.at(choice.config.algorithm);
  choice.config.channels = chosen.fixed() && mapping.find("channels") == nullptr
                               ? chosen.program->channels
                               : read_int(mapping, "channels");
  choice.config.instances = read_int(mapping, "instances");
  refuse_other_than_own(mapping, chosen, choice.config);
  choice.config.threads = read_int(mapping, "threads");
  const YamlValue tile_value = option_value(mapping, tile);
  choice.tile_bytes = read_tile(tile_value.as_text(), tile, tile_value.location());
  const YamlValue slots_value = option_value(mapping, slots);
  choice.slots = read_slots(slots_value.as_text(), slots, slots_value.location());
  return choice;
}

std::vector<std::string> config_yaml(const ConfigChoice& choice) {
  const Config& config = choice.config;
  const bool spelled = config.algorithm.find(':') != std::string::npos;
  std::vector<std::string> parts{
      "algorithm: " + (spelled ? yaml_scalar(config.algorithm) : config.algorithm),
      fmt::format("protocol: {}", to_string(config.protocol)),
      fmt::format("channels: {}", config.channels), fmt::format("instances: {}", config.instances),
      fmt::format("threads: {}", config.threads)};
  if (choice.tile_bytes) parts.push_back("tile: " + tile_text(choice.tile_bytes));
  if (choice.slots) parts.push_back("slots: " + slots_text(choice.slots));
  return parts;
}

}  // namespace cclgym
