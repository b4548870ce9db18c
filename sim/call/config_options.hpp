// The keys of a configuration, each with its record. Experiments, dispatch tables and the command
// line read configurations with these records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// Records of algorithm, protocol, channels, instances, threads, tile and slots, in this order.
[[nodiscard]] const std::vector<OptionSpec>& config_options();
/// Max value of the key channels. NCCL runs no more, either.
inline constexpr int kMostCallChannels = 64;
/// The record of one of these keys.
[[nodiscard]] const OptionSpec& config_option(std::string_view name);

/// The record of the key algorithm, with the algorithms of a library.
[[nodiscard]] OptionSpec algorithm_option(const AlgorithmLibrary& library);

/// A tile size or a number of slots; nullopt if the cost model's value for the protocol applies.
using TileBytes = std::optional<std::uint64_t>;
using Slots = std::optional<int>;

/// Texts of values of tile and slots: those of the protocol, and neither tiles nor a limit.
inline constexpr std::string_view kOfProtocol = "protocol";
inline constexpr std::string_view kNoTiles = "none";

/// The value's text: "protocol", "none", "512KiB" or "2".
[[nodiscard]] std::string tile_text(TileBytes bytes);
[[nodiscard]] std::string slots_text(Slots slots);

/// Read "protocol", "none" or a value in the record's range. Throw UserError at `where`.
[[nodiscard]] TileBytes read_tile(std::string_view text, const OptionSpec& spec,
                                  const SourceLocation& where);
[[nodiscard]] Slots read_slots(std::string_view text, const OptionSpec& spec,
                               const SourceLocation& where);

/// Reads the name of a protocol. Throws UserError at `where`.
[[nodiscard]] Protocol read_protocol(std::string_view text, const SourceLocation& where);

/// `config` with this tile size and number of slots; a missing value is that of
/// with_protocol_tiles.
[[nodiscard]] Config with_tiles(const CostModel& model, CollectiveKind collective, Config config,
                                TileBytes tile_bytes, Slots slots);

/// A configuration as written, before a cost model gives the tiles of its protocol.
struct ConfigChoice {
  Config config;  ///< configuration without tiles and slots
  TileBytes tile_bytes;
  Slots slots;

  [[nodiscard]] Config under(const CostModel& model, CollectiveKind collective) const {
    return with_tiles(model, collective, config, tile_bytes, slots);
  }
};

/// A configuration whose tiles and slots are stated only where they differ from the protocol's.
[[nodiscard]] ConfigChoice choice_under(const CostModel& model, CollectiveKind collective,
                                        Config config);

/// Reads the configuration from a mapping whose keys have been checked; ignores keys that do not
/// belong to a configuration. If the mapping gives no number of channels, a fixed program keeps its
/// own. Throws UserError at the place of a wrong value, for example a number of channels that the
/// fixed program does not have.
[[nodiscard]] ConfigChoice read_config(
    const YamlValue& mapping, const AlgorithmLibrary& library = AlgorithmLibrary::shipped());

/// The configuration as the inside of a YAML flow mapping, one text per key, in the order of
/// config_options(): "algorithm: ring"; tile and slots only if they are not the protocol's.
[[nodiscard]] std::vector<std::string> config_yaml(const ConfigChoice& choice);

}  // namespace cclgym
