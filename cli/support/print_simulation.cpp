#include "cli/support/print_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/support/print.hpp"
#include "core/counted.hpp"
#include "core/units.hpp"
#include "sim/analysis.hpp"

namespace cclgym {

namespace {

// Prints the parts of the critical path: launch, latency, transfer of bytes, local work.
void print_critical_path(const SimulationRecord& record) {
  const TransferGraph& graph = *record.graph;
  double launch_s = 0;
  double latency_s = 0;
  double moving_s = 0;
  double local_s = 0;
  int transfers = 0;
  for (const auto& [node, tile, start_s, end_s] : dated_critical_path(record)) {
    const double duration_s = end_s - start_s;
    if (graph.route_of(node) >= 0) {
      latency_s += graph.latency_s(node);
      moving_s += duration_s - graph.latency_s(node);
      ++transfers;
    } else if (record.lowered.origins[static_cast<std::size_t>(node)].thread_block < 0) {
      launch_s += duration_s;
    } else if (const NodeRole role = record.lowered.origins[static_cast<std::size_t>(node)].role;
               role == NodeRole::Arrival || role == NodeRole::Head) {
      latency_s += duration_s;
    } else {
      local_s += duration_s;
    }
  }
  const Result& result = record.result;
  print_out(
      "critical path     {}{} transfers: launch {}, latency {}, bytes on the move {}, local {}\n",
      result.simulated_tiles < result.tiles
          ? fmt::format("of the first {} tiles: ", result.simulated_tiles)
          : std::string(),
      transfers, format_time(launch_s), format_time(latency_s), format_time(moving_s),
      format_time(local_s));
}

// Prints the times of the kernels in order; nothing for programs of one kernel.
void print_kernels(const Result& result) {
  if (result.kernels.empty()) return;
  std::vector<std::string> times;
  for (const KernelTime& kernel : result.kernels) {
    times.push_back(fmt::format("{} {}", kernel.across_nodes ? "across nodes" : "in nodes",
                                format_time(kernel.time_s)));
  }
  print_out("kernels           from {} on: {}\n", format_time(result.kernels.front().start_s),
            fmt::join(times, ", "));
}

// States if channels were simulated as one. Their messages then take one route, where an adaptive
// network may send each on its own.
void print_channels(const SimulationRecord& record, const Fabric& fabric) {
  const ProgramOutline& outline = *record.lowered.outline;
  if (outline.alike_channels == 1) return;
  print_out("channels          {} of {} simulated, each of which stands for {}{}\n",
            outline.channels, outline.channels * outline.alike_channels, outline.alike_channels,
            fabric.routing() == Routing::Adaptive
                ? "; in the network their messages take the same detours"
                : "");
}

void print_links(const SimulationRecord& record, const Fabric& fabric) {
  constexpr std::size_t kShown = 8;
  const std::vector<LinkUse> uses = link_use(record, false);
  const std::vector<std::size_t> order = busiest_links(uses);
  if (order.empty()) return;
  print_out("\n{:<28}{:>14}{:>14}{:>14}{:>8}{:>14}\n", "busiest links", "wire bytes", "rate",
            "capacity", "share", "busy");
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const LinkUse& use = uses[order[i]];
    print_out("{:<28}{:>14.0f}{:>14}{:>14}{:>7.1f}%{:>14}\n", link_name(fabric, order[i]),
              use.bytes, format_rate(use.rate_Bps), format_rate(use.capacity_Bps),
              100 * use.share(), format_time(use.busy_s));
  }
  if (order.size() > kShown) print_out("… and {} more\n", order.size() - kShown);
}

void print_interval(double time_s, const StatedInterval& interval) {
  const std::string label = fmt::format("{} interval", percent_text(interval.coverage));
  const FoundInterval& found = interval.found;
  if (!found.interval) {
    print_out("{:<18}none: {}\n", label, found.basis);
    return;
  }
  print_out("{:<18}{} to {} ({})\n", label, format_time(time_s * std::exp(found.interval->low)),
            format_time(time_s * std::exp(found.interval->high)), found.basis);
}

// The interval in seconds; its ends are null if there is none, and `basis` has the reason.
nlohmann::ordered_json interval_json(double time_s, const StatedInterval& interval) {
  nlohmann::ordered_json json{{"coverage", interval.coverage},
                              {"low_s", nullptr},
                              {"high_s", nullptr},
                              {"cells", interval.found.cells},
                              {"basis", interval.found.basis}};
  if (interval.found.interval) {
    json["low_s"] = time_s * std::exp(interval.found.interval->low);
    json["high_s"] = time_s * std::exp(interval.found.interval->high);
  }
  return json;
}

}  // namespace

void print_simulation_json(const SimulationRecord& record, const Simulator& simulator,
                           const std::string& tuner, const StatedInterval& interval) {
  const Result& result = record.result;
  nlohmann::ordered_json json{
      {"fabric", simulator.fabric().name()},
      {"ranks", simulator.fabric().ranks()},
      {"collective", to_string(record.call.collective)},
      {"algorithm", tuner.empty() ? record.config.algorithm : tuner},
      {"program", record.config.algorithm},
      {"protocol", to_string(record.config.protocol)},
      {"channels", record.config.channels},
      {"instances", record.config.instances},
      {"threads", record.config.threads},
      {"size_bytes", record.call.bytes},
      {"cost_model", simulator.cost_model().name},
      {"cost_model_misfit", simulator.cost_model().misfit.empty()
                                ? nlohmann::ordered_json(nullptr)
                                : nlohmann::ordered_json(simulator.cost_model().misfit)},
      {"noise", simulator.noise().name},
      {"engine", simulator.engine_name()},
      {"time_s", result.time_s},
      {"interval", interval_json(result.time_s, interval)},
      {"algbw_Bps", result.algbw_Bps},
      {"busbw_Bps", result.busbw_Bps},
      {"steps", result.steps},
      {"flows", result.flows},
      {"tile_bytes", record.config.tile_bytes},
      {"slots", record.config.slots},
      {"tiles", result.tiles},
      {"simulated_tiles", result.simulated_tiles},
      {"simulated_channels", record.lowered.outline->channels},
      {"tile_error_s", result.tile_error_s},
      {"periodic", result.periodic},
      {"rank_time_s", result.rank_time_s},
  };
  for (const KernelTime& kernel : result.kernels) {
    json["kernels"].push_back({{"start_s", kernel.start_s},
                               {"time_s", kernel.time_s},
                               {"across_nodes", kernel.across_nodes}});
  }
  if (!record.analysed()) {
    json["links"] = json["critical_path"] = nullptr;
    print_out("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  nlohmann::ordered_json& links = json["links"] = nlohmann::ordered_json::array();
  const std::vector<LinkUse> uses = link_use(record, false);
  for (const std::size_t link : busiest_links(uses)) {
    links.push_back({{"link", link_name(*record.lowered.fabric, link)},
                     {"bytes", uses[link].bytes},
                     {"rate_Bps", uses[link].rate_Bps},
                     {"capacity_Bps", uses[link].capacity_Bps},
                     {"share", uses[link].share()},
                     {"busy_s", uses[link].busy_s}});
  }
  nlohmann::ordered_json& path = json["critical_path"] = nlohmann::ordered_json::array();
  for (const DatedFiring& firing : dated_critical_path(record)) {
    path.push_back({{"operation", describe_node(record.lowered, firing.node, firing.tile)},
                    {"start_s", firing.start_s},
                    {"end_s", firing.end_s}});
    if (result.tiles > 1) path.back()["tile"] = firing.tile;
  }
  print_out("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_simulation(const SimulationRecord& record, const Simulator& simulator,
                      const std::string& tuner, const StatedInterval& interval) {
  const Result& result = record.result;
  const auto [first, last] =
      std::minmax_element(result.rank_time_s.begin(), result.rank_time_s.end());
  const Config& config = record.config;
  print_out("{} of {} on {} ({} ranks): {}, {}, {} channel{}, {}{} threads\n",
            to_string(record.call.collective), format_bytes(record.call.bytes),
            simulator.fabric().name(), simulator.fabric().ranks(), config.algorithm,
            to_string(config.protocol), config.channels, config.channels == 1 ? "" : "s",
            config.instances == 1 ? "" : fmt::format("{} instances, ", config.instances),
            config.threads);
  if (!tuner.empty()) print_out("chosen by {}\n", tuner);
  print_out("cost model {}, {}engine {}\n\n", simulator.cost_model().label(),
            simulator.noise().none() ? "" : fmt::format("noise {}, ", simulator.noise().name),
            simulator.engine_name());
  print_out("time              {}\n", format_time(result.time_s));
  print_interval(result.time_s, interval);
  print_out("algbw, busbw      {}, {}\n", format_rate(result.algbw_Bps),
            format_rate(result.busbw_Bps));
  print_out("ranks done        from {} to {}\n", format_time(*first), format_time(*last));
  print_out("steps, flows      {}, {}\n", result.steps, result.flows);
  print_kernels(result);
  if (result.simulated_tiles < result.tiles) {
    print_out("tiles             {}; {} simulated, the rest extrapolated {} {}\n", result.tiles,
              result.simulated_tiles,
              result.periodic ? "exactly, to within" : "with an estimated error of",
              format_time(result.tile_error_s));
  } else if (result.tiles > 1) {
    print_out("tiles             {}\n", result.tiles);
  }
  print_channels(record, *record.lowered.fabric);
  if (!record.analysed()) {
    print_out("critical path     and links are left out beyond {} transfers and delays\n",
              SimulationRecord::kMostDated);
    return;
  }
  print_critical_path(record);
  print_links(record, *record.lowered.fabric);
}

}  // namespace cclgym
