#include "calibration/validate/nccl_validation.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "calibration/backends/gpu_backends.hpp"
#include "calibration/validate/validation.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"

namespace cclgym {

namespace {

// A configuration, in the columns of calibrate.
using NcclConfig = std::tuple<std::string, std::string, std::string>;
const NcclConfig kByDefault{"default", "default", "0"};
const NcclConfig kByPolicy{"policy", "default", "0"};

struct NcclCall {
  std::string collective;
  std::string bytes;
  std::string in_place;
  std::vector<NcclConfig> configs{};  ///< with a named algorithm
  std::optional<NcclConfig> swept{};
};

int count_of(const TextMap& environment, const char* key) {
  const auto found = environment.find(key);
  const std::string text = found == environment.end() ? "" : found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw UserError(
        fmt::format("the worker reports {1} {0}; expected a number >= 1", key, quoted(text, 200)));
  }
  return value;
}

std::vector<NcclCall> calls_of(const CellTable& table) {
  std::vector<NcclCall> calls;
  for (const CalibrationCell& cell : table.cells) {
    const auto same = [&](const NcclCall& call) {
      return call.collective == cell.at("collective") && call.bytes == cell.at("size_bytes") &&
             call.in_place == cell.at("in_place");
    };
    auto call = std::ranges::find_if(calls, same);
    if (call == calls.end()) {
      calls.push_back({.collective = cell.at("collective"),
                       .bytes = cell.at("size_bytes"),
                       .in_place = cell.at("in_place")});
      call = std::prev(calls.end());
    }
    const std::string& algorithm = cell.at("algorithm");
    if (algorithm == "default" || algorithm == "policy") continue;
    call->configs.emplace_back(algorithm, cell.at("protocol"), cell.at("channels"));
  }
  return calls;
}

// The configuration of a row of calibrate; nullopt if NCCL chose it or does not have it.
std::optional<NcclConfig> config_of(const Measurement& row) {
  if (!row.named) return std::nullopt;
  const auto algorithm = nccl_algorithm_of_ours(row.named->algorithm);
  if (!algorithm) return std::nullopt;
  return NcclConfig{kNcclAlgorithmNames[static_cast<std::size_t>(*algorithm)].csv,
                    to_string(row.named->protocol), std::to_string(row.named->channels)};
}

// Replaces the configurations by those of the sweep that are near its fastest.
void take_measured(std::vector<NcclCall>& calls, const NcclValidation& wanted,
                   const NcclShape& shape) {
  std::map<std::pair<std::string, std::uint64_t>, std::map<NcclConfig, std::vector<double>>> times;
  bool any = false;
  for (const Measurement& row : wanted.measured) {
    if (row.ranks != shape.ranks || row.nodes != shape.nodes) continue;
    any = true;
    if (const auto config = config_of(row)) {
      times[{std::string(to_string(row.collective)), row.bytes}][*config].push_back(row.time_s);
    }
  }
  if (!any) {
    throw UserError({wanted.measured_path, 0, 0},
                    fmt::format("has no row of {} ranks on {} nodes, which the worker has",
                                shape.ranks, shape.nodes));
  }
  for (NcclCall& call : calls) {
    call.configs.clear();
    const auto rows = times.find({call.collective, std::stoull(call.bytes)});
    if (rows == times.end()) continue;
    double fastest_s = std::numeric_limits<double>::infinity();
    for (const auto& [config, times_s] : rows->second) {
      const double time_s = median(times_s);
      if (time_s >= fastest_s) continue;
      fastest_s = time_s;
      call.swept = config;
    }
    for (const auto& [config, times_s] : rows->second) {
      if (median(times_s) <= wanted.within * fastest_s) call.configs.push_back(config);
    }
  }
}

bool left_to_nccl(const NcclCall& call, const TunerChoices& choices) {
  const auto collective = nccl_collective_of(call.collective);
  if (!collective) return true;
  const auto choice = choices.wanted(*collective, std::stoull(call.bytes), 1);
  return choice.empty() || choice.front().algorithm < 0;
}

}  // namespace

NcclShape nccl_shape(const TextMap& environment) {
  return {count_of(environment, "ranks"), count_of(environment, "nodes")};
}

SweepPlan nccl_validation_plan(const NcclValidation& wanted, const TextMap& environment,
                               const TunerChoices& choices, int rounds) {
  std::vector<NcclCall> calls = calls_of(wanted.table);
  if (!wanted.measured.empty()) take_measured(calls, wanted, nccl_shape(environment));
  std::vector<std::string> columns;
  std::vector<std::string> fixed;
  for (const auto& [column, value] : nccl_fixed_columns(environment, wanted.system)) {
    columns.push_back(column);
    fixed.push_back(value);
  }
  columns.insert(columns.end(), {"config", "collective", "size_bytes", "algorithm", "protocol",
                                 "channels", "in_place"});
  if (std::ranges::all_of(calls,
                          [&](const NcclCall& call) { return left_to_nccl(call, choices); })) {
    throw UserError(choices.description() +
                    ": leaves every one of these calls to NCCL, so there is nothing to compare");
  }
  std::vector<std::vector<ValidationLane>> lanes;
  for (const NcclCall& call : calls) {
    const bool left = left_to_nccl(call, choices);
    std::vector<ValidationLane> own;
    const auto add = [&](const NcclConfig& config, const ValidationRoles& roles) {
      std::vector<std::string> cell = fixed;
      const auto& [algorithm, protocol, channels] = config;
      cell.insert(cell.end(), {wanted.config, call.collective, call.bytes, algorithm, protocol,
                               channels, call.in_place});
      own.push_back({std::move(cell), roles});
    };
    add(kByDefault, {.chosen = left, .by_default = true});
    if (!left) add(kByPolicy, {.chosen = true});
    for (const NcclConfig& config : call.configs) add(config, {.swept = config == call.swept});
    lanes.push_back(std::move(own));
  }
  return interleaved_plan(std::move(columns), lanes, rounds);
}

std::size_t most_nccl_configs(const NcclValidation& wanted) {
  std::set<NcclConfig> configs{kByDefault, kByPolicy};
  for (const NcclCall& call : calls_of(wanted.table)) {
    configs.insert(call.configs.begin(), call.configs.end());
  }
  if (wanted.measured.empty()) return configs.size();
  configs = {kByDefault, kByPolicy};
  for (const Measurement& row : wanted.measured) {
    if (const auto config = config_of(row)) configs.insert(*config);
  }
  return configs.size();
}

}  // namespace cclgym
