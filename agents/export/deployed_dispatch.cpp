#include "agents/export/deployed_dispatch.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "agents/export/deployed_setup.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kEnd = std::uint64_t{1} << 40U;

// Configuration as it appears in a line: "ring,ll128,8". NCCL gives it `own_tiles` itself.
std::string line_of(const ConfigChoice& choice, bool own_tiles, const SourceLocation& where,
                    bool pat) {
  const Config& config = choice.config;
  const auto algorithm = nccl_algorithm_of_ours(config.algorithm);
  if (!algorithm || (config.algorithm == "pat" && !pat)) {
    throw UserError(where,
                    "algorithm '" + config.algorithm + "' does not exist in this release of NCCL");
  }
  const auto cannot = [&](const char* what) {
    throw UserError(where, std::string("a tuner of NCCL cannot set ") + what);
  };
  if (config.instances != 1) cannot("instances");
  if (choice.tile_bytes && !own_tiles) cannot("a tile size; leave 'tile' out of the sweep");
  if (choice.slots && !own_tiles) cannot("slots; leave 'slots' out of the sweep");
  if (config.channels > kMostTunerChannels) cannot("more than 64 channels");
  return fmt::format("{},{},{}", kNcclAlgorithmNames[static_cast<std::size_t>(*algorithm)].csv,
                     lower_case(to_string(config.protocol)), config.channels);
}

std::vector<NamedMachine> machines_of(const DispatchTable& table,
                                      const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (const DispatchBlock& block : table.blocks) {
    if (find_fabric_label(known, block.fabric) == nullptr) known.push_back(block.fabric);
  }
  return named_machines(known, wanted);
}

}  // namespace

TunerCsv dispatch_csv(const DispatchTable& table, const std::vector<std::string>& labels,
                      bool pat) {
  TunerCsv csv;
  csv.text = "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  std::map<std::pair<int, int>, std::string> machines;
  for (const auto& [label, spec] : machines_of(table, labels)) {
    const auto fabric = make_fabric(fabric_of_label(spec));
    const auto [other, added] =
        machines.emplace(std::pair(fabric->ranks(), fabric->servers()), label);
    if (!added) {
      throw UserError(
          fmt::format("machines '{}' and '{}' have the same number of ranks and nodes; name one of "
                      "them with --machine",
                      other->second, label));
    }
    csv.text += "# " + label + "\n";
    const auto line = [&csv, &fabric](std::string_view collective, std::uint64_t from,
                                      std::uint64_t to, const std::string& choice) {
      csv.text += fmt::format("{},{},{},{},{},{}\n", collective, from, to, choice,
                              fabric->servers(), fabric->ranks());
      ++csv.lines;
    };
    for (const DispatchBlock& block : table.blocks) {
      if (comparable_fabric_label(block.fabric) != comparable_fabric_label(label)) continue;
      if (!nccl_collective_of(to_string(block.collective))) {
        ++csv.left_out;
        continue;
      }
      for (const DispatchRange& range : block.ranges) {
        line(to_string(block.collective), range.from_bytes,
             range.to_bytes == DispatchRange::kNoEnd ? kEnd : range.to_bytes - 1,
             line_of(range.choice, range.tiles_by_nccl, range.where, pat));
      }
    }
    if (!table.fallback || !table.fallback->tuner.empty()) continue;
    const DispatchFallback& rest = *table.fallback;
    const std::string choice = line_of(rest.choice, false, rest.where, pat);
    for (const CollectiveKind collective : all_collectives()) {
      if (nccl_collective_of(to_string(collective)) &&
          supports(table.algorithms.at(rest.choice.config.algorithm), collective)) {
        line(to_string(collective), 0, kEnd, choice);
      }
    }
  }
  return csv;
}

}  // namespace cclgym
