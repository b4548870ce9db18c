#include "calibration/measure/measured_cells.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "cost_models/rccl/rccl_default.hpp"
#include "experiments/measured/fabric_differences.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

template <class Value>
bool wanted(const std::vector<Value>& values, const Value& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

std::string joined(const std::set<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(quoted(name));
  return fmt::format("{}", fmt::join(shown, ", "));
}

// Throws an error with the names that the filter could have used.
[[noreturn]] void fail_empty(std::span<const Measurement> rows, const std::string& file) {
  std::set<std::string> systems;
  std::set<std::string> configs;
  std::set<std::string> collectives;
  int least = rows.front().ranks;
  int most = least;
  for (const Measurement& row : rows) {
    systems.insert(row.system);
    collectives.insert(std::string(to_string(row.collective)));
    if (configs.size() < 8) configs.insert(row.config);
    least = std::min(least, row.ranks);
    most = std::max(most, row.ranks);
  }
  throw UserError(
      {file, 0, 0},
      fmt::format("no row of {} is left after the filter; the file has systems {}, "
                  "configs {}, collectives {}, {} to {} ranks",
                  rows.size(), joined(systems), joined(configs), joined(collectives), least, most));
}

}  // namespace

std::string MeasuredCell::label() const {
  std::string how;
  if (named) {
    how = fmt::format(", {}", named->algorithm);
    if (named->tile_bytes > 0) how += fmt::format(" in {}", format_bytes(named->tile_bytes));
  }
  return fmt::format("{}, {} ranks, {}, {}{}", system, ranks, to_string(collective),
                     format_bytes(bytes), how);
}

std::string reasons_text(std::span<const RefusedRows> refused) {
  std::set<std::string> others;
  for (const RefusedRows& group : refused) others.insert(group.reason);
  const std::string& first = refused.front().reason;
  others.erase(first);
  if (others.empty()) return first;
  return fmt::format("{} (and {})", first, counted(others.size(), "other reason"));
}

std::vector<std::string> systems_of(std::span<const Measurement> rows) {
  std::vector<std::string> names;
  for (const Measurement& row : rows) {
    if (std::find(names.begin(), names.end(), row.system) == names.end()) {
      names.push_back(row.system);
    }
  }
  return names;
}

namespace {

// The system of a row by its name or, if that is unknown, by its fabric.
MeasuredSystem system_of(const Measurement& row) {
  try {
    return measured_system(row.system);
  } catch (const UserError& error) {
    // A label such as "ndv4 nodes=2" begins with the fabric's name.
    if (!row.fabric.empty()) {
      return own_system(row.system, row.fabric.substr(0, row.fabric.find(' ')));
    }
    throw UserError(row.where,
                    fmt::format("{}; describe a system of your own with --fabric", error.what()));
  }
}

// Calls `use`, whose errors get the row's place.
template <class Use>
auto at_row(const Measurement& row, const Use& use) {
  try {
    return use();
  } catch (const UserError& error) {
    throw UserError(row.where, error.what());
  }
}

// The release whose choice is simulated for a row of `version`; with a note if it is another one.
std::string modelled_release(const std::string& version, std::vector<std::string>& notes) {
  const std::string modelled = nearest_modelled_nccl(version).to_string();
  if (!is_modelled_nccl(version)) {
    notes.push_back(fmt::format(
        "the choice of NCCL {} is not modelled; its rows are simulated as of {}, the nearest one",
        version, modelled));
  } else if (parse_nccl_version(version) > kNewestNccl) {
    notes.push_back(fmt::format(
        "NCCL {} is newer than {}, the newest modelled release, whose choice is simulated", version,
        kNewestNccl.to_string()));
  }
  return modelled;
}

constexpr std::string_view kNccl = "nccl-default";
constexpr std::string_view kRccl = "rccl-default";

// "type: float and half" if the types of two calls differ, or the same of their operations, roots
// or variables.
std::string difference(const Measurement& one, const Measurement& other) {
  const PrintedCall& a = one.printed;
  const PrintedCall& b = other.printed;
  if (a.type != b.type) return fmt::format("type: {} and {}", a.type, b.type);
  if (a.redop != b.redop) return fmt::format("redop: {} and {}", a.redop, b.redop);
  if (a.root != b.root) {
    return fmt::format("root: {} and {}", a.root.value_or(-1), b.root.value_or(-1));
  }
  if (one.settings == other.settings) return {};
  const auto shown = [](const std::string& settings) {
    return settings.empty() ? "no variables" : settings;
  };
  return fmt::format("settings: {} and {}", shown(one.settings), shown(other.settings));
}

// `known`: the fabrics by name, as made so far.
const Fabric& fabric_for(const Measurement& row, const MeasuredSystem& system,
                         std::map<std::string, std::shared_ptr<const Fabric>>& known) {
  std::shared_ptr<const Fabric>& fabric = known[system.fabric];
  if (!fabric) fabric = at_row(row, [&] { return make_fabric({.name = system.fabric}); });
  return *fabric;
}

bool has_amd_gpus(const Fabric& fabric) {
  const GpuModel* const gpu = find_gpu_model(fabric.gpu_model());
  return gpu != nullptr && gpu->vendor == GpuVendor::Amd;
}

}  // namespace

void set_tuner(CellFilter& filter, const std::string& text, const SourceLocation& where) {
  if (is_tuner(text)) {
    filter.tuner = text;
    return;
  }
  filter.named = read_short_config(text, AlgorithmLibrary::shipped(), where);
  filter.protocol_named = text.find('/') != std::string::npos;
  filter.channels_named = std::ranges::count(text, '/') > 1;
}

MeasuredCells make_cells(std::span<const Measurement> rows, const CellFilter& filter,
                         const std::string& file) {
  using Key =
      std::tuple<std::string, int, int, CollectiveKind, std::string, std::string, std::uint64_t>;
  std::map<Key, std::pair<MeasuredCell, std::vector<double>>> cells;
  std::map<std::pair<std::string, std::string>, RefusedRows> refused;
  std::map<std::string, SourceLocation> warnings;
  std::map<Key, const Measurement*> firsts;
  std::map<std::string, std::shared_ptr<const Fabric>> fabrics;
  MeasuredCells result;
  for (const Measurement& row : rows) {
    if (!wanted(filter.systems, row.system) || !wanted(filter.configs, row.config) ||
        !wanted(filter.collectives, row.collective) ||
        row.ranks > filter.max_ranks.value_or(row.ranks)) {
      ++result.left_out;
      continue;
    }
    ++result.rows;
    MeasuredSystem system;
    if (filter.fabric) {
      system = own_system(row.system, *filter.fabric);
    } else {
      system = system_of(row);
    }
    RunPlan plan = run_plan(system, row);
    if (row.named) plan.named = row.named;
    // The releases of AMD's rows are RCCL's, whose choice has no restrictions here.
    const Fabric& machine = fabric_for(row, system, fabrics);
    const bool amd = has_amd_gpus(machine);
    const bool allowed = !row.allowed.empty() && !(amd && filter.named);
    const bool stated = plan.named || !row.tuner.empty() || allowed;
    if (!stated) plan.named = filter.named;
    std::string version = row.nccl_version;
    if (version.empty()) version = filter.nccl_version.value_or(system.nccl_version);
    std::string tuner = stated ? row.tuner : filter.tuner;
    if (!stated && !plan.named && tuner.empty() && amd) tuner = kRccl;
    if (const auto release = nccl_release_of(tuner)) {
      // Without a release, the tuner has that of the row.
      if (tuner == kNccl) {
        tuner.clear();
      } else {
        version = release->to_string();
      }
    }
    // NCCL_ALGO and NCCL_PROTO were set, and NCCL chose the rest.
    const bool channels_open =
        row.named ? !row.channels_stated : plan.named == filter.named && !filter.channels_named;
    const bool of_nccl =
        channels_open && plan.named && nccl_algorithm(plan.named->algorithm).has_value();
    const bool forced = of_nccl && !version.empty();
    if (plan.refusal.empty() && amd && (of_nccl || allowed)) {
      plan.refusal =
          "RCCL's choice under a named algorithm or protocol is not modelled; name all three "
          "(--tuner ring/Simple/56)";
    }
    const Config forced_to = forced ? *plan.named : Config{};
    if (forced) plan.named.reset();
    std::vector<std::string> notes = row.notes;
    if (of_nccl && !forced) {
      notes.push_back(fmt::format(
          "{} without a number of channels is simulated with {}; with --nccl RELEASE, NCCL chooses "
          "the channels",
          plan.named->algorithm, counted(plan.named->channels, "channel")));
    }
    if (!plan.named && version.empty() && tuner.empty() && !forced) {
      version = kNewestNccl.to_string();
      notes.push_back(fmt::format(
          "the rows do not state NCCL's release; its choice is that of {} (--nccl names another)",
          version));
    }
    const bool by_nccl = tuner.empty() || tuner.starts_with(kNccl);
    if (!plan.named && !version.empty() && by_nccl) {
      version = at_row(row, [&] { return modelled_release(version, notes); });
      if (forced) {
        const bool any_protocol = !row.named && !filter.protocol_named;
        tuner = fmt::format("{}:{}:{}:{}", kNccl, version,
                            any_protocol ? "" : to_string(forced_to.protocol), forced_to.algorithm);
      } else if (!row.allowed.empty()) {
        tuner = fmt::format("{}:{}{}", kNccl, version, row.allowed);
      }
    }
    if (!plan.named && tuner.starts_with(kRccl)) {
      const std::string_view named = std::string_view(tuner).substr(kRccl.size());
      const std::string_view modelled =
          named.empty() ? to_string(RcclRelease::Rccl2205) : named.substr(1);
      if (!row.nccl_version.empty() && row.nccl_version != modelled) {
        notes.push_back(
            fmt::format("the choice of RCCL {} is not modelled; its rows are simulated "
                        "as of {}",
                        row.nccl_version, modelled));
      }
    }
    if (allowed && (!filter.tuner.empty() || filter.named)) {
      notes.emplace_back(
          "the log states NCCL_ALGO or NCCL_PROTO; --tuner is for rows that do not, and is not "
          "used for these");
    }
    const FabricSpec fabric = fabric_of_row(system, row);
    for (std::string& note : fabric_differences(row, machine, fabric.cross_nic)) {
      notes.push_back(std::move(note));
    }
    if (row.collective == CollectiveKind::AllToNext && row.printed.count > 0) {
      notes.emplace_back(
          "the last rank of sendrecv_perf sends to the first one, which the simulation (alltonext) "
          "leaves out");
    }
    for (const std::string& note : notes) warnings.try_emplace(note, row.where);
    if (plan.refusal.empty() && row.collective == CollectiveKind::AllToAll &&
        row.ranks > filter.max_alltoall_ranks) {
      plan.refusal = fmt::format(
          "AllToAll on {} ranks is {} messages at once; --max-alltoall-ranks {} simulates it",
          row.ranks, static_cast<std::int64_t>(row.ranks) * (row.ranks - 1), row.ranks);
    }
    if (!plan.refusal.empty()) {
      RefusedRows& group = refused[{system.name, plan.refusal}];
      if (group.rows++ == 0) {
        group.system = system.name;
        group.reason = plan.refusal;
        group.first = row.where;
      }
      continue;
    }
    std::string how =
        plan.named
            ? fmt::format("{} {} {} {} {}", plan.named->algorithm, to_string(plan.named->protocol),
                          plan.named->channels, plan.named->instances, plan.named->tile_bytes)
            : (tuner.empty() ? version : tuner);
    if (row.cross_nic && fabric.cross_nic) how += *row.cross_nic ? " cross" : " rails";
    const CollectiveKind collective = plan.collective.value_or(row.collective);
    const Key key{system.name, row.ranks, row.nodes, collective, plan.cost_model, how, row.bytes};
    const Measurement& first = *firsts.try_emplace(key, &row).first->second;
    if (first.gpu != row.gpu) {
      throw UserError(row.where, fmt::format("the run is on {}, but the same call in line {} on "
                                             "{}; give each machine a file of its own",
                                             row.gpu, first.where.line, first.gpu));
    }
    if (row.nodes > 1 && first.network && row.network && *first.network != *row.network) {
      throw UserError(row.where, fmt::format("the run is over {}, but the same call in line {} "
                                             "over {}; give each network a file of its own",
                                             to_string(*row.network), first.where.line,
                                             to_string(*first.network)));
    }
    if (const std::string differs = difference(first, row); !differs.empty()) {
      warnings.try_emplace(fmt::format("rows of one call differ in {}, which the simulation leaves "
                                       "out; the time of each size is their median",
                                       differs),
                           row.where);
    }
    auto& [cell, times] = cells[key];
    if (times.empty()) {
      cell.system = system.name;
      cell.fabric = fabric;
      cell.cost_model = plan.cost_model;
      cell.nccl_version = version;
      cell.named = plan.named;
      cell.tuner = tuner;
      cell.forced = row.named.has_value();
      cell.ranks = row.ranks;
      cell.nodes = row.nodes;
      cell.collective = collective;
      cell.bytes = row.bytes;
      cell.where = row.where;
      cell.gpu = row.gpu;
    }
    times.push_back(row.time_s);
    cell.configs.insert(row.config);
    if (!row.source.empty()) cell.sources.insert(row.source);
  }
  if (result.rows == 0) fail_empty(rows, file);
  for (auto& [key, value] : cells) {
    auto& [cell, times] = value;
    cell.rows = static_cast<int>(times.size());
    cell.least_s = *std::min_element(times.begin(), times.end());
    cell.most_s = *std::max_element(times.begin(), times.end());
    cell.time_s = median(times);
    cell.times_s = std::move(times);
    result.cells.push_back(std::move(cell));
  }
  for (auto& [key, group] : refused) result.refused.push_back(std::move(group));
  for (const auto& [note, where] : warnings) {
    result.warnings.push_back(UserError(where, note).what());
  }
  return result;
}

void require_one_system(const MeasuredCells& cells, const std::string& file) {
  std::set<std::string> systems;
  for (const MeasuredCell& cell : cells.cells) systems.insert(cell.system);
  if (systems.size() < 2) return;
  throw UserError({file, 0, 0}, fmt::format("has rows of {} systems ({}); choose one with "
                                            "--system, or several systems of the same kind",
                                            systems.size(), fmt::join(systems, ", ")));
}

}  // namespace cclgym
