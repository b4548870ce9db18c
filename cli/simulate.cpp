// cclgym simulate: simulates one call with one configuration.
#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/programs/executor_notes.hpp"
#include "cli/programs/programs_option.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "cli/support/print_simulation.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/units.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/actions/nccl_offer.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "sim/call/config_options.hpp"
#include "sim/call/tiles.hpp"
#include "sim/noise/noise_warning.hpp"
#include "sim/simulator.hpp"
#include "sim/timeline.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

// The record of an experiment's key as an option that takes a single value.
OptionSpec one_of(std::string_view key, const std::string& name, const std::string& description) {
  OptionSpec spec = experiment_option(key);
  spec.name = name;
  spec.shape = OptionShape::One;
  if (!description.empty()) spec.description = description;
  return spec;
}

struct Options {
  OptionSpec channels = one_of("channels", "channels", "number of channels");
  OptionSpec instances =
      one_of("instances", "instances",
             "number of copies of the program, each with its part of every chunk");
  OptionSpec threads = one_of("threads", "threads", "number of threads per thread block");
  OptionSpec size =
      one_of("sizes", "size", "collective size: the larger of a rank's send and receive buffers");
  OptionSpec seed = one_of("seeds", "seed", "seed of the random draws for noise and start skew");
  OptionSpec noise =
      one_of("noise", "noise",
             "noise on the fabric: name of a profile (cclgym list noise), or a .yaml file");
  OptionSpec root = one_of("root", "root", "root rank of a rooted collective");
  OptionSpec datatype = one_of("datatype", "datatype", "");
  OptionSpec tile = config_option("tile");
  OptionSpec slots = config_option("slots");
};

const Options& options() {
  static const Options all;
  return all;
}

// The option --protocol, or else `otherwise`.
Protocol protocol_of(const Arguments& arguments, const std::string& otherwise) {
  return read_protocol(arguments.has("protocol") ? arguments.text("protocol") : otherwise,
                       argument_location("protocol"));
}

int element_bytes_of(const Arguments& arguments) {
  const std::string& name = arguments.text_or_default(options().datatype);
  return data_types()[read_choice(name, options().datatype, argument_location("datatype"))].second;
}

// The size, rounded as nccl-tests rounds it.
std::uint64_t size_of(const Arguments& arguments, CollectiveKind collective, int ranks) {
  const std::uint64_t bytes =
      read_bytes(arguments.required("size"), options().size, argument_location("size"));
  const int element_bytes = element_bytes_of(arguments);
  const std::uint64_t rounded = rounded_size(collective, bytes, ranks, element_bytes);
  if (rounded == 0) {
    throw UserError(argument_location("size"), check_size(collective, bytes, ranks, element_bytes));
  }
  if (rounded != bytes) {
    const bool aligned =
        size_granularity(collective, ranks) > 1 && bytes >= 16U * static_cast<unsigned>(ranks);
    print_error("note: {}{}\n", rounding_text(collective, bytes, ranks, rounded),
                aligned ? ": 16 B per rank, as nccl-tests" : ": whole elements");
  }
  return rounded;
}

void check_root(const Arguments& arguments, const Call& call, int ranks) {
  if (!arguments.has("root") || call.root < ranks) return;
  throw UserError(argument_location("root"),
                  fmt::format("root is '{}'; expected a rank from 0 to {}", call.root, ranks - 1));
}

// Reads the settings that a program's file does not give: the collective and its configuration.
// An algorithm whose name spells its parameters is added to the library.
void read_configuration(const Arguments& arguments, AlgorithmLibrary& library, Call& call,
                        Config& config) {
  call.collective =
      collective_named(arguments.required("collective"), argument_location("collective"));
  call.root = static_cast<int>(arguments.integer(options().root));
  if (arguments.has("root") && !is_rooted(call.collective)) {
    throw UserError(argument_location("root"),
                    fmt::format("{} has no root; leave --root out", to_string(call.collective)));
  }
  config.algorithm = arguments.required("algorithm");
  library.add_spelled(config.algorithm, argument_location("algorithm"));
  config.protocol = protocol_of(arguments, "Simple");
  config.channels = static_cast<int>(arguments.integer(options().channels));
  if (const AlgorithmEntry* entry = library.find(config.algorithm)) {
    config.algorithm = entry->name;
    if (entry->fixed() && !arguments.has("channels")) config.channels = entry->program->channels;
  }
  config.instances = static_cast<int>(arguments.integer(options().instances));
}

// The configuration with the tiles and slots of the options.
Config with_tile_options(const Arguments& arguments, const CostModel& model,
                         CollectiveKind collective, const Config& config) {
  const auto text_of = [&arguments](const OptionSpec& option) -> std::string {
    return arguments.has(option.name) ? arguments.text(option.name) : option.default_text;
  };
  const Options& all = options();
  return with_tiles(model, collective, config,
                    read_tile(text_of(all.tile), all.tile, argument_location(all.tile.name)),
                    read_slots(text_of(all.slots), all.slots, argument_location(all.slots.name)));
}

// Configuration that a tuner chooses for the call. Programs that the tuner names are added to the
// library.
Config chosen_config(const Arguments& arguments, const Call& call,
                     const std::shared_ptr<const Fabric>& fabric, const CostModel& model,
                     AlgorithmLibrary& library) {
  for (const OptionSpec& option : config_options()) {
    if (option.name == "algorithm" || !arguments.has(option.name)) continue;
    throw UserError(
        argument_location(option.name),
        fmt::format("is chosen by {}; leave it out", quoted(arguments.text("algorithm"), 200)));
  }
  const auto tuner =
      make_tuner(arguments.text("algorithm"),
                 {.fabric = fabric,
                  .fabric_label = fabric_label_of(arguments.required("fabric"), arguments, *fabric),
                  .cost_model = model,
                  .where = argument_location("algorithm"),
                  .algorithms = library,
                  .collectives = {call.collective}});
  library.add_all(tuner->algorithms());
  Config config = tuner->choose(call);
  const std::string note = tuner->note(call);
  if (!note.empty()) print_error("note: {}\n", note);
  return config;
}

// Program from a file. Sets the call and the configuration by the file's settings unless an option
// overrides them.
std::shared_ptr<const ThreadBlockProgram> program_of(const Arguments& arguments,
                                                     const Fabric& fabric, Call& call,
                                                     Config& config, XmlSettings& settings) {
  for (const char* option : {"collective", "algorithm", "channels", "instances", "root"}) {
    if (arguments.has(option)) {
      throw UserError(argument_location(option), "comes with the program; leave it out");
    }
  }
  if (arguments.has("programs")) {
    throw UserError(argument_location("programs"),
                    "excludes --program, which gives the program to run; leave one of them out, or "
                    "name a program of --programs with --algorithm");
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
    throw UserError(argument_location("program"),
                    fmt::format("{} is wrong (cclgym verify prints all problems): {}",
                                quoted(path, 200), report.problems.front()));
  }
  call.collective = program->contract.kind();
  call.root = program->contract.root();
  config.algorithm = program->name;
  config.channels = program->channels;
  settings = file.settings;
  config.protocol = protocol_of(arguments, settings.protocol);
  return program;
}

// `program`, or else the program of the configuration if it comes from a file; null otherwise.
const ThreadBlockProgram* program_from_file(const ThreadBlockProgram* program,
                                            const AlgorithmLibrary& library, const Config& config) {
  if (program != nullptr) return program;
  const AlgorithmEntry* entry = library.find(config.algorithm);
  return entry == nullptr || entry->file.empty() ? nullptr : entry->program.get();
}

// The algorithm that NCCL or RCCL itself chooses for the call; empty if it does not run here.
std::string own_choice(const std::shared_ptr<const Fabric>& fabric, const CostModel& model,
                       const Call& call) {
  try {
    return make_tuner("nccl-default", {.fabric = fabric, .cost_model = model})
        ->choose(call)
        .algorithm;
  } catch (const UserError&) {
    return "";
  }
}

// The interval of the measured time. The cells behind intervals are calls that NCCL or RCCL carried
// out, on networks as they were, so noise would count twice.
StatedInterval interval_of(const Arguments& arguments, const ParameterSet& set,
                           const Simulator& simulator, const std::shared_ptr<const Fabric>& fabric,
                           const SimulationRecord& record, const std::string& tuner) {
  const Config& config = record.config;
  const TimeIntervals own = arguments.has("intervals")
                                ? load_time_intervals(arguments.text("intervals"))
                                : TimeIntervals{};
  const TimeIntervals& table = arguments.has("intervals") ? own : shipped_time_intervals();
  StatedInterval stated{.coverage = table.coverage};
  if (!simulator.noise().none()) {
    stated.found.basis = "the time contains noise, and so do the rows behind intervals";
  } else if (arguments.has("program")) {
    stated.found.basis =
        "the rows behind intervals are of NCCL's algorithms, not of a program from a file";
  } else if (config.instances > 1 ||
             (tuner.empty() &&
              config != with_protocol_tiles(set.model, record.call.collective, config))) {
    stated.found.basis =
        "the rows behind intervals have NCCL's own chunks, not --tile, --slots or --instances";
  } else if (!is_of_nccl(config.algorithm, tuner)) {
    stated.found.basis =
        fmt::format("no row behind intervals is of {}{}", quoted(config.algorithm, 200),
                    is_of_nccl(config.algorithm, "nccl-default") ? " unless NCCL chose it" : "");
  } else {
    const std::string collective(to_string(record.call.collective));
    const bool by_nccl = tuner.starts_with("nccl-default") || tuner.starts_with("rccl-default");
    if (!by_nccl) {
      stated.found = find_interval(table, set, *fabric, {collective, config.algorithm});
    }
    if (by_nccl || (!stated.found.interval &&
                    own_choice(fabric, set.model, record.call) == config.algorithm)) {
      stated.found = find_interval(table, set, *fabric, {collective, ""});
    }
  }
  return stated;
}

// Says that NCCL itself does not have one of its algorithms in this form, so that no job can run
// what was simulated.
void note_unlike_nccl(const Fabric& fabric, const Call& call, const Config& config) {
  if (!nccl_algorithm(config.algorithm)) return;
  try {
    const NcclOffer offer(kNewestNccl, fabric);
    if (offer.has(call.collective, config.algorithm, config.protocol)) return;
    print_error("note: NCCL {} has no {} by {} with {} on {}\n", kNewestNccl.to_string(),
                to_string(call.collective), config.algorithm, to_string(config.protocol),
                fabric.name());
  } catch (const UserError&) {
    return;  // NCCL does not run there
  }
}

int simulate(const std::vector<std::string>& args) {
  ArgumentReader reader(simulate_command());
  reader.input("fabric", "F", "name of a fabric (cclgym list fabrics), or a .yaml file");
  add_fabric_options(reader);
  add_programs_option(reader);
  const auto arguments =
      reader.option("collective", "C", "name of the collective (cclgym list collectives)")
          .option("algorithm", "A", "name of an algorithm or a tuner (cclgym list algorithms)")
          .input("program", "FILE",
                 "program in MSCCL XML, instead of --collective, --algorithm and --channels")
          .option("protocol", "P",
                  "protocol: LL, LL128 or Simple [default: Simple, or that of the program]")
          .option(options().channels, "K")
          .option(options().instances, "R")
          .option(options().threads, "T")
          .option(options().size, "S")
          .option(options().tile, "B")
          .option(options().slots, "N")
          .option(options().datatype, "D")
          .option(options().root, "R")
          .input("cost-model", "M",
                 "name of a cost model (cclgym list cost-models), a .yaml file, or auto, the model "
                 "for the fabric's GPU [default: auto]")
          .input("intervals", "FILE",
                 "table of intervals that cclgym compare --write-intervals wrote [default: that of "
                 "the shipped sets]")
          .option("engine", "E", "simulation engine [default: flow]")
          .option(options().noise, "P")
          .option(options().seed, "N")
          .output("timeline", "FILE", "Chrome trace to write, which ui.perfetto.dev shows")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;

  const auto fabric = fabric_of(arguments->required("fabric"), *arguments);
  const std::string engine = arguments->choice(experiment_option("engine"));

  AlgorithmLibrary library = library_of(*arguments);
  Call call;
  Config config;
  XmlSettings settings;
  std::shared_ptr<const ThreadBlockProgram> program;
  if (arguments->has("program")) {
    program = program_of(*arguments, *fabric, call, config, settings);
  } else {
    read_configuration(*arguments, library, call, config);
    check_root(*arguments, call, fabric->ranks());
  }
  call.bytes = size_of(*arguments, call.collective, fabric->ranks());
  config.threads = static_cast<int>(arguments->integer(options().threads));
  const ParameterSet set = parameter_set_of(*arguments, "cost-model", *fabric);
  const CostModel& model = set.model;
  print_warning(cost_model_warning(model, *fabric));
  std::string tuner;
  if (program == nullptr && is_tuner(config.algorithm)) {
    tuner = config.algorithm;
    config = chosen_config(*arguments, call, fabric, model, library);
  } else {
    config = with_tile_options(*arguments, model, call.collective, config);
  }
  if (program == nullptr) {
    if (const auto reason = check_config(library, call, config, fabric->ranks()); !reason.empty()) {
      throw UserError(reason);
    }
    if (tuner.empty() && !model.hockney) note_unlike_nccl(*fabric, call, config);
  }
  require_output(*arguments, "timeline");
  if (program != nullptr) note_unused_size(arguments->text("program"), settings, call.bytes);
  if (const ThreadBlockProgram* own = program_from_file(program.get(), library, config)) {
    print_warning(hang_warning(*own, to_string(config.protocol)));
  }

  Simulator simulator(fabric, model, engine, library);
  if (arguments->has("noise")) {
    simulator.set_noise(noise_profile_for(arguments->text("noise"), argument_location("noise")));
  }
  print_warning(noise_warning(simulator.noise(), *fabric));
  const auto seed = static_cast<std::uint64_t>(arguments->integer(options().seed));
  const RecordDetail detail =
      arguments->has("timeline") ? RecordDetail::Nodes : RecordDetail::Summary;
  const SimulationRecord record = program == nullptr
                                      ? simulator.record(call, config, seed, 0, detail)
                                      : simulator.record_program(program, call, config, seed);
  const StatedInterval interval = interval_of(*arguments, set, simulator, fabric, record, tuner);
  if (arguments->has("json")) {
    print_simulation_json(record, simulator, tuner, interval);
  } else {
    print_simulation(record, simulator, tuner, interval);
  }
  if (arguments->has("timeline")) {
    write_timeline_file(arguments->text("timeline"), record, *fabric);
    if (!arguments->has("json")) {
      print_out("\ntimeline in {}: open it in https://ui.perfetto.dev\n",
                arguments->text("timeline"));
    }
  }
  return 0;
}

}  // namespace

const Command& simulate_command() {
  static const Command command{
      .name = "simulate",
      .summary = "Simulate one collective call",
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
          "      --size 4GiB --tile none\n"
          "      4 GiB in whole chunks; in NCCL's tiles, NVLink and the network overlap\n"
          "  cclgym simulate --fabric ndv4 --collective allreduce --algorithm spread-ring \\\n"
          "      --channels 4 --instances 8 --protocol LL --size 1MiB\n"
          "      MSCCLang's Ring AllReduce \"ch=4 r=8\": one ring over 4 channels, 8 times\n"
          "  cclgym simulate --fabric ndv4 --program ring.xml --size 1MiB\n"
          "      a program in MSCCL XML, from cclgym compile or another tool\n"
          "  cclgym simulate --fabric ndv4 --nodes 4 --collective alltoall --algorithm two-step "
          "\\\n"
          "      --size 16MiB --noise cloud-ib --seed 7\n"
          "      under the load of other tenants, as seed 7 draws it\n"
          "  cclgym simulate --fabric ring --gpus 64 --collective allreduce --algorithm ring \\\n"
          "      --size 1GiB --engine flow --json\n",
      .run = simulate};
  return command;
}

}  // namespace cclgym
