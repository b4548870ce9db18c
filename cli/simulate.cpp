// cclgym simulate: one call, one configuration.
#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/fabric_options.hpp"
#include "collectives/msccl_xml.hpp"
#include "collectives/verify.hpp"
#include "core/units.hpp"
#include "cost_models/cost_model.hpp"
#include "experiments/experiment_options.hpp"
#include "sim/analysis.hpp"
#include "sim/simulator.hpp"
#include "sim/timeline.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

namespace {

// The record of an experiment's key, for one value on the command line.
OptionSpec one_of(std::string_view key, const std::string& name, const std::string& description) {
  OptionSpec spec = find_option(experiment_options(), key);
  spec.name = name;
  spec.shape = OptionShape::One;
  if (!description.empty()) spec.description = description;
  return spec;
}

struct Options {
  OptionSpec channels = one_of("channels", "channels", "channels");
  OptionSpec threads = one_of("threads", "threads", "threads a thread block");
  OptionSpec size =
      one_of("sizes", "size", "size of the larger of a rank's send and receive buffer");
  OptionSpec seed = one_of("seeds", "seed", "for cost models with random parts");
  OptionSpec root = one_of("root", "root", "root of a rooted collective");
  OptionSpec datatype = one_of("datatype", "datatype", "");
  // Both may also be "protocol".
  OptionSpec tile = one_of("tile", "tile", "");
  OptionSpec slots = one_of("slots", "slots", "");
};

const Options& options() {
  static const Options all;
  return all;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : all_collectives()) names.emplace_back(to_string(kind));
  return names;
}

CollectiveKind collective_of(const std::string& name) {
  if (const auto kind = parse_collective(name)) return *kind;
  throw UserError(argument_location("collective"),
                  unknown_name_message("collective", name, collective_names()));
}

Protocol protocol_of(const std::string& name) {
  if (const auto protocol = parse_protocol(name)) return *protocol;
  std::vector<std::string> names;
  for (const Protocol protocol : all_protocols()) names.emplace_back(to_string(protocol));
  throw UserError(argument_location("protocol"), unknown_name_message("protocol", name, names));
}

const std::string& required(const Arguments& arguments, const std::string& name) {
  if (!arguments.has(name)) {
    throw UserError(fmt::format("--{} is missing; see cclgym simulate --help", name));
  }
  return arguments.text(name);
}

std::int64_t integer_of(const Arguments& arguments, const OptionSpec& spec) {
  const std::string& text =
      arguments.has(spec.name) ? arguments.text(spec.name) : spec.default_text;
  return read_integer(text, spec, argument_location(spec.name));
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter;
}

int element_bytes_of(const Arguments& arguments) {
  const std::string& name =
      arguments.has("datatype") ? arguments.text("datatype") : options().datatype.default_text;
  return data_types()[read_choice(name, options().datatype, argument_location("datatype"))].second;
}

std::string link_name(const Fabric& fabric, std::size_t link) {
  const Link& l = fabric.links()[link];
  return fmt::format("{} -> {}", fabric.nodes()[static_cast<std::size_t>(l.source)].name,
                     fabric.nodes()[static_cast<std::size_t>(l.target)].name);
}

void print_json(const SimulationRecord& record, const Simulator& simulator) {
  const Result& result = record.result;
  nlohmann::ordered_json json{
      {"fabric", simulator.fabric().name()},
      {"ranks", simulator.fabric().ranks()},
      {"collective", to_string(record.call.collective)},
      {"algorithm", record.config.algorithm},
      {"protocol", to_string(record.config.protocol)},
      {"channels", record.config.channels},
      {"threads", record.config.threads},
      {"size_bytes", record.call.bytes},
      {"cost_model", simulator.cost_model().name},
      {"engine", simulator.engine_name()},
      {"time_s", result.time_s},
      {"algbw_Bps", result.algbw_Bps},
      {"busbw_Bps", result.busbw_Bps},
      {"steps", result.steps},
      {"flows", result.flows},
      {"tile_bytes", record.config.tile_bytes},
      {"slots", record.config.slots},
      {"tiles", result.tiles},
      {"simulated_tiles", result.simulated_tiles},
      {"tile_error_s", result.tile_error_s},
      {"periodic", result.periodic},
      {"rank_time_s", result.rank_time_s},
  };
  nlohmann::ordered_json& links = json["links"] = nlohmann::ordered_json::array();
  const std::vector<LinkUse> uses = link_use(record);
  for (std::size_t link = 0; link < uses.size(); ++link) {
    if (uses[link].bytes == 0) continue;
    links.push_back({{"link", link_name(simulator.fabric(), link)},
                     {"bytes", uses[link].bytes},
                     {"busy_s", uses[link].busy_s}});
  }
  nlohmann::ordered_json& path = json["critical_path"] = nlohmann::ordered_json::array();
  for (const Firing& firing : critical_path(record)) {
    const std::size_t at = record.firing(firing.node, firing.tile);
    path.push_back({{"operation", describe_node(record.lowered, firing.node)},
                    {"start_s", record.start_s[at]},
                    {"end_s", record.end_s[at]}});
    if (result.tiles > 1) path.back()["tile"] = firing.tile;
  }
  fmt::print("{}\n", json.dump(2));
}

// Where the time on the critical path goes: launch, latency, bytes on the move, local work.
void print_critical_path(const SimulationRecord& record) {
  const TransferGraph& graph = *record.graph;
  double launch_s = 0;
  double latency_s = 0;
  double moving_s = 0;
  double local_s = 0;
  int transfers = 0;
  for (const auto& [node, tile] : critical_path(record)) {
    const std::size_t at = record.firing(node, tile);
    const double duration_s = record.end_s[at] - record.start_s[at];
    if (graph.route_of(node) >= 0) {
      latency_s += graph.latency_s(node);
      moving_s += duration_s - graph.latency_s(node);
      ++transfers;
    } else if (record.lowered.origins[static_cast<std::size_t>(node)].thread_block < 0) {
      launch_s += duration_s;
    } else {
      local_s += duration_s;
    }
  }
  const Result& result = record.result;
  fmt::print(
      "critical path     {}{} transfers: launch {}, latency {}, bytes on the move {}, local {}\n",
      result.simulated_tiles < result.tiles
          ? fmt::format("of the first {} tiles: ", result.simulated_tiles)
          : std::string(),
      transfers, format_time(launch_s), format_time(latency_s), format_time(moving_s),
      format_time(local_s));
}

void print_links(const SimulationRecord& record, const Fabric& fabric) {
  constexpr std::size_t kShown = 8;
  const std::vector<LinkUse> uses = link_use(record);
  std::vector<std::size_t> order;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    if (uses[link].bytes > 0) order.push_back(link);
  }
  std::stable_sort(order.begin(), order.end(), [&uses](std::size_t a, std::size_t b) {
    return uses[a].busy_s > uses[b].busy_s;
  });
  if (order.empty()) return;
  fmt::print("\n{:<28}{:>14}{:>14}{:>8}\n", "busiest links", "wire bytes", "busy", "share");
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const LinkUse& use = uses[order[i]];
    fmt::print("{:<28}{:>14.0f}{:>14}{:>7.1f}%\n", link_name(fabric, order[i]), use.bytes,
               format_time(use.busy_s), 100 * use.busy_s / record.result.time_s);
  }
  if (order.size() > kShown) fmt::print("… and {} more\n", order.size() - kShown);
}

void print_text(const SimulationRecord& record, const Simulator& simulator) {
  const Result& result = record.result;
  const auto [first, last] =
      std::minmax_element(result.rank_time_s.begin(), result.rank_time_s.end());
  fmt::print("{} of {} on {} ({} ranks): {}, {}, {} channel{}, {} threads\n",
             to_string(record.call.collective), format_bytes(record.call.bytes),
             simulator.fabric().name(), simulator.fabric().ranks(), record.config.algorithm,
             to_string(record.config.protocol), record.config.channels,
             record.config.channels == 1 ? "" : "s", record.config.threads);
  fmt::print("cost model {}, engine {}\n\n", simulator.cost_model().name, simulator.engine_name());
  fmt::print("time              {}\n", format_time(result.time_s));
  fmt::print("algbw, busbw      {}, {}\n", format_rate(result.algbw_Bps),
             format_rate(result.busbw_Bps));
  fmt::print("ranks done        from {} to {}\n", format_time(*first), format_time(*last));
  fmt::print("steps, flows      {}, {}\n", result.steps, result.flows);
  if (result.simulated_tiles < result.tiles) {
    fmt::print("tiles             {}; {} simulated, the rest carried on {} {}\n", result.tiles,
               result.simulated_tiles,
               result.periodic ? "exactly but for" : "from them, off by an estimated",
               format_time(result.tile_error_s));
  } else if (result.tiles > 1) {
    fmt::print("tiles             {}\n", result.tiles);
  }
  print_critical_path(record);
  print_links(record, simulator.fabric());
}

// What is not said by a program's file: the collective and how it is carried out.
void read_configuration(const Arguments& arguments, Call& call, Config& config) {
  call.collective = collective_of(required(arguments, "collective"));
  call.root = static_cast<int>(integer_of(arguments, options().root));
  if (arguments.has("root") && !is_rooted(call.collective)) {
    throw UserError(argument_location("root"),
                    fmt::format("{} has no root; leave --root out", to_string(call.collective)));
  }
  config.algorithm = required(arguments, "algorithm");
  config.protocol = protocol_of(arguments.has("protocol") ? arguments.text("protocol") : "Simple");
  config.channels = static_cast<int>(integer_of(arguments, options().channels));
}

// A program from a file, with the settings that the file has where no option says otherwise.
std::shared_ptr<const ThreadBlockProgram> program_of(const Arguments& arguments,
                                                     const Fabric& fabric, Call& call,
                                                     Config& config) {
  for (const char* option : {"collective", "algorithm", "channels", "root"}) {
    if (arguments.has(option)) {
      throw UserError(argument_location(option), "comes with the program; leave it out");
    }
  }
  const std::string& path = arguments.text("program");
  XmlProgram file = read_msccl_xml_file(path);
  auto program = std::make_shared<const ThreadBlockProgram>(std::move(file.program));
  if (program->contract.ranks() != fabric.ranks()) {
    throw UserError(argument_location("program"),
                    fmt::format("{} is for {} ranks; fabric '{}' has {}", quoted(path, 200),
                                program->contract.ranks(), fabric.name(), fabric.ranks()));
  }
  if (const VerifyReport report = verify(*program); !report.ok) {
    throw UserError(
        argument_location("program"),
        fmt::format("{} does not do what it says: {}", quoted(path, 200), report.problems.front()));
  }
  call.collective = program->contract.kind();
  call.root = program->contract.root();
  config.algorithm = program->name;
  config.channels = program->channels;
  config.protocol =
      protocol_of(arguments.has("protocol") ? arguments.text("protocol") : file.settings.protocol);
  return program;
}

int simulate(const std::vector<std::string>& args) {
  ArgumentReader reader(simulate_command());
  reader.option("fabric", "F", "a fabric's name (cclgym list fabrics) or a .yaml file");
  add_fabric_options(reader);
  const auto arguments =
      reader.option("collective", "C", "what to carry out (cclgym list collectives)")
          .option("algorithm", "A", "how (cclgym list algorithms)")
          .option("program", "FILE",
                  "a program in MSCCL XML, instead of --collective, --algorithm and --channels")
          .option("protocol", "P", "LL, LL128 or Simple (default: Simple, or the program's)")
          .option(options().channels, "K")
          .option(options().threads, "T")
          .option(options().size, "S")
          .option(options().tile, "B")
          .option(options().slots, "N")
          .option(options().datatype, "D")
          .option(options().root, "R")
          .option("cost-model", "M",
                  "a cost model's name (cclgym list cost-models), a .yaml file, or auto: the one "
                  "of the fabric's GPUs (default: auto)")
          .option("engine", "E", "simulation engine (default: the first of cclgym list engines)")
          .option(options().seed, "N")
          .option("timeline", "FILE", "write a Chrome trace, to be opened in ui.perfetto.dev")
          .flag("json", "print JSON instead of text")
          .read(args);
  if (!arguments) return 0;

  const auto fabric = fabric_of(required(*arguments, "fabric"), *arguments);

  Call call;
  Config config;
  std::shared_ptr<const ThreadBlockProgram> program;
  if (arguments->has("program")) {
    program = program_of(*arguments, *fabric, call, config);
  } else {
    read_configuration(*arguments, call, config);
  }
  call.bytes = read_bytes(required(*arguments, "size"), options().size, argument_location("size"));
  config.threads = static_cast<int>(integer_of(*arguments, options().threads));
  const CostModel model = cost_model_for(
      arguments->has("cost-model") ? arguments->text("cost-model") : "auto", *fabric);
  const Config of_protocol = with_protocol_tiles(model, config);
  const auto is_protocol = [&arguments](const OptionSpec& option) {
    return arguments->has(option.name) && arguments->text(option.name) == "protocol";
  };
  config.tile_bytes = is_protocol(options().tile)
                          ? of_protocol.tile_bytes
                          : read_bytes(arguments->has("tile") ? arguments->text("tile") : "0B",
                                       options().tile, argument_location("tile"));
  config.slots = is_protocol(options().slots)
                     ? of_protocol.slots
                     : static_cast<int>(integer_of(*arguments, options().slots));
  if (program == nullptr) {
    if (const auto misfit = config_misfit(call, config, fabric->ranks()); !misfit.empty()) {
      throw UserError(misfit);
    }
  }
  if (const auto misfit =
          size_misfit(call.collective, call.bytes, fabric->ranks(), element_bytes_of(*arguments));
      !misfit.empty()) {
    throw UserError(argument_location("size"), misfit);
  }
  const std::string engine =
      arguments->has("engine") ? arguments->text("engine") : engine_infos().front().name;

  Simulator simulator(fabric, model, engine);
  const auto seed = static_cast<std::uint64_t>(integer_of(*arguments, options().seed));
  const SimulationRecord record = program == nullptr
                                      ? simulator.record(call, config, seed)
                                      : simulator.record_program(program, call, config, seed);
  if (arguments->has("json")) {
    print_json(record, simulator);
  } else {
    print_text(record, simulator);
  }
  if (arguments->has("timeline")) {
    write_timeline_file(arguments->text("timeline"), record, *fabric);
    if (!arguments->has("json")) {
      fmt::print("\ntimeline in {}: open it in https://ui.perfetto.dev\n",
                 arguments->text("timeline"));
    }
  }
  return 0;
}

}  // namespace

const Command& simulate_command() {
  static const Command command{
      .name = "simulate",
      .summary = "simulate one collective call from the command line",
      .usage = "--fabric F (--collective C --algorithm A | --program FILE) --size S [options]",
      .examples =
          "  cclgym simulate --fabric ndv4 --collective allreduce --algorithm ring --size 1MiB\n"
          "      Ring AllReduce of 1 MiB on one NDv4 node, protocol Simple, one channel\n"
          "  cclgym simulate --fabric dgx1 --collective allgather --algorithm ring --channels 6 "
          "\\\n"
          "      --size 8MiB --cost-model hockney --timeline ring.json\n"
          "      SCCL's (6,7,7) on DGX-1, with a timeline\n"
          "  cclgym simulate --fabric ndv4 --nodes 2 --collective allreduce --algorithm "
          "hierarchical "
          "\\\n"
          "      --size 4GiB --tile protocol --slots protocol\n"
          "      4 GiB in tiles of NCCL's size, which overlap NVLink and the network\n"
          "  cclgym simulate --fabric ndv4 --program ring.xml --size 1MiB\n"
          "      a program in MSCCL XML, from cclgym compile or another tool\n"
          "  cclgym simulate --fabric ring --gpus 64 --collective allreduce --algorithm ring \\\n"
          "      --size 1GiB --engine flow --json\n",
      .run = simulate};
  return command;
}

}  // namespace cclgym
