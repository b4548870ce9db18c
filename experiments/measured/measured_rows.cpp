#include "experiments/measured/measured_rows.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "experiments/measured/fabric_differences.hpp"
#include "experiments/measured/measured_file.hpp"

namespace cclgym {

namespace {

std::string choice_text(const Measurement& row) {
  if (!row.config.empty()) return row.config;
  if (!row.allowed.empty()) return fmt::format("nccl-default:{}{}", row.nccl_version, row.allowed);
  if (!row.named) return row.tuner.empty() ? "default" : row.tuner;
  const Config& config = *row.named;
  std::string text =
      fmt::format("{}/{}/{}", config.algorithm, to_string(config.protocol), config.channels);
  if (config.tile_bytes > 0) text += fmt::format(" in {} B", config.tile_bytes);
  return text;
}

// The choice, and the variables under which it ran.
std::string config_text(const Measurement& row) {
  std::string text = choice_text(row);
  if (row.cross_nic) text += fmt::format(", NCCL_CROSS_NIC={}", *row.cross_nic ? 1 : 0);
  if (!row.settings.empty()) text += ", " + row.settings;
  return text;
}

const MeasuredOn* find_fabric(std::string_view label, std::span<const MeasuredOn> fabrics) {
  const auto found = std::ranges::find(fabrics, label, &MeasuredOn::label);
  return found == fabrics.end() ? nullptr : &*found;
}

std::string fabric_of(const Measurement& row, std::span<const MeasuredOn> fabrics) {
  if (!row.fabric.empty()) return row.fabric;
  std::string label;
  int fitting = 0;
  for (const MeasuredOn& fabric : fabrics) {
    const int nodes = fabric.info == nullptr ? row.nodes : fabric.info->nodes_of(row.nodes);
    if (fabric.ranks != row.ranks || (row.nodes_stated && fabric.nodes != nodes)) continue;
    label = fabric.label;
    ++fitting;
  }
  if (fitting == 1) return label;
  throw UserError(
      row.where, fmt::format("the row has {} ranks and names no fabric, but {} of the experiment's "
                             "fabrics have as many; expected one, or a column fabric with the "
                             "label of one (\"ndv4 nodes=2\")",
                             row.ranks, fitting == 0 ? "none" : std::to_string(fitting)));
}

}  // namespace

std::vector<MeasuredRow> read_measured(const std::string& path,
                                       std::span<const MeasuredOn> fabrics) {
  std::vector<MeasuredRow> rows;
  std::map<std::tuple<std::string, std::string, std::string, std::string, int, std::uint64_t>,
           std::size_t>
      lines;
  for (const Measurement& measured : read_measured_file(path)) {
    MeasuredRow row{
        .system = measured.system.empty() ? "measured" : measured.system,
        .config = config_text(measured),
        .fabric = fabric_of(measured, fabrics),
        .collective = std::string(to_string(measured.collective)),
        .ranks = measured.ranks,
        .size_bytes = measured.bytes,
        .time_us = measured.time_us,
        .source = measured.source,
        .library_chose = !measured.named && measured.tuner.empty() && measured.allowed.empty()};
    row.notes = measured.notes;
    row.where = measured.where;
    if (const MeasuredOn* on = find_fabric(row.fabric, fabrics); on != nullptr && on->fabric) {
      const std::optional<bool> crosses_nics = on->fabric->host().crosses_nics;
      for (std::string& note : fabric_differences(measured, *on->fabric, crosses_nics)) {
        row.notes.push_back(std::move(note));
      }
    }
    for (const std::string& note : row.notes) {
      row.source += (row.source.empty() ? "" : "; ") + note;
    }
    const auto [first, fresh] = lines.try_emplace(
        {row.system, row.config, row.fabric, row.collective, row.ranks, row.size_bytes},
        measured.where.line);
    if (!fresh) {
      throw UserError(
          measured.where,
          fmt::format("the same system, config, fabric, collective, ranks and size_bytes are "
                      "already in line {}; expected one time (the median) for each",
                      first->second));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> warnings_of(std::span<const MeasuredRow> rows) {
  std::set<std::string_view> known;
  std::vector<std::string> warnings;
  for (const MeasuredRow& row : rows) {
    for (const std::string& note : row.notes) {
      if (known.insert(note).second) warnings.emplace_back(UserError(row.where, note).what());
    }
  }
  return warnings;
}

}  // namespace cclgym
