// cclgym synthesize: makes programs for a fabric and a collective, and a dispatch table of them.
#include "synthesis/strategies/synthesize.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <set>

#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "cli/support/run_cells.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/report/report.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/schedules/program_view.hpp"
#include "experiments/schedules/schedule_page.hpp"
#include "experiments/schedules/synthesis_sweep.hpp"
#include "experiments/summary/tune_dispatch.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "sim/tuners/tuner.hpp"
#include "synthesis/certificates/certificate_file.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

using synthesis::SynthesizedProgram;

const OptionSpec kTimeLimit{.name = "time-limit",
                            .kind = OptionKind::Real,
                            .description =
                                "max seconds of the search for schedules; the best "
                                "schedules and bounds until then are kept",
                            .min = 0.001,
                            .max = 86400,
                            .default_text = "20"};
const OptionSpec kRoot{.name = "root",
                       .kind = OptionKind::Integer,
                       .description = "root rank of a rooted collective",
                       .min = 0,
                       .max = 999999,
                       .default_text = "0"};

std::vector<int> group_of(const Arguments& arguments) {
  std::vector<int> group;
  if (!arguments.has("group")) return group;
  static const OptionSpec rank{.name = "group", .kind = OptionKind::Integer, .min = 0};
  for (const std::string_view item : split(arguments.text("group"), ',')) {
    group.push_back(static_cast<int>(read_integer(item, rank, argument_location("group"))));
  }
  return group;
}

// Writes DIR/programs/NAME.xml of every program that the format can express; returns the names.
std::vector<std::string> write_programs(const synthesis::Synthesis& made, const std::string& folder,
                                        XmlDialect dialect, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const SynthesizedProgram& program : made.programs) {
    const std::string path = folder + "/programs/" + program.name + ".xml";
    try {
      write_text_file(path, to_msccl_xml(*program.program, {.dialect = dialect,
                                                            .min_bytes = 0,
                                                            .max_bytes = std::uint64_t{1} << 40U}));
    } catch (const UserError& error) {
      if (program.instances == 1) {
        notes.push_back(fmt::format("{} has no XML: {}", program.name, error.what()));
      }
      continue;
    }
    names.push_back(program.name);
  }
  return names;
}

// Writes DIR/certificates/NAME.json; returns the number of files.
std::size_t write_certificates(const synthesis::Synthesis& made, const std::string& folder,
                               FabricSpec spec, const std::shared_ptr<const Fabric>& fabric) {
  if (find_fabric_info(spec.name) == nullptr) {
    spec.name = std::filesystem::relative(spec.name, folder).string();
  }
  std::set<std::string> names;
  for (const synthesis::Certificate& certificate : made.certificates) {
    const std::string stem = synthesis::file_stem(certificate);
    std::string name = stem;
    for (int number = 2; !names.insert(name).second; ++number) {
      name = fmt::format("{}-{}", stem, number);
    }
    write_text_file(folder + "/" + name + ".json",
                    synthesis::certificate_text(
                        {.fabric_spec = spec, .fabric = fabric, .certificate = certificate}));
  }
  return names.size();
}

std::string table_of(const synthesis::Synthesis& made) {
  std::vector<Column> columns{{.heading = "program", .left = true},
                              {.heading = "C", .unit = "chunks"},
                              {.heading = "S", .unit = "steps"},
                              {.heading = "R", .unit = "rounds"},
                              {.heading = "R/C", .unit = "rounds"},
                              {.heading = "optimal for", .left = true},
                              {.heading = "channels"},
                              {.heading = "blocks", .unit = "per GPU"}};
  for (const SynthesizedProgram& program : made.programs) {
    const std::vector<std::string> cells{
        program.name,
        fmt::format("{}", program.chunks),
        fmt::format("{}", program.steps),
        fraction_text(program.rounds),
        fraction_text(program.rounds_per_chunk()),
        program.optimal.empty() ? "-" : program.optimal,
        fmt::format("{}", program.program->channels),
        fmt::format("{}", program.program->most_resident_blocks())};
    for (std::size_t k = 0; k < cells.size(); ++k) columns[k].cells.push_back(cells[k]);
  }
  return format_columns(columns);
}

std::string bounds_text(const synthesis::Synthesis& made) {
  std::string text;
  if (made.min_steps > 0) text += fmt::format("steps >= {}", made.min_steps);
  if (made.min_rounds > Rational(0)) {
    text += fmt::format("{}rounds per chunk >= {}", text.empty() ? "" : ", ",
                        fraction_text(made.min_rounds));
  }
  return text.empty() ? "none" : text;
}

// The fabric with the path of its file, if it has one, relative to a folder.
FabricSpec seen_from(FabricSpec spec, const std::string& folder) {
  if (find_fabric_info(spec.name) == nullptr) {
    std::error_code error;
    const auto path = std::filesystem::proximate(spec.name, folder, error);
    if (!error) spec.name = path.generic_string();
  }
  return spec;
}

// Algorithms to compare with: NCCL's choice where NCCL has one, otherwise ring or naive.
std::vector<std::string> others_of(CollectiveKind collective, const Fabric& fabric,
                                   const CostModel& model) {
  std::vector<std::string> others;
  for (const std::string name : {"nccl-default", "ring", "naive"}) {
    try {
      if (is_tuner(name)) {
        (void)make_tuner(name,
                         {.fabric = std::make_shared<const Fabric>(fabric), .cost_model = model});
      } else if (!supports(AlgorithmLibrary::shipped().at(name), collective)) {
        continue;
      }
    } catch (const UserError&) {
      continue;  // NCCL does not run on the fabric
    }
    others.push_back(name);
  }
  return others;
}

// 1 KiB to 1 GiB in steps of 4, as multiples of the ranks where a buffer has a slice per rank.
std::string default_sizes(CollectiveKind collective, const Fabric& fabric) {
  constexpr std::uint64_t kElement = 4;
  const std::uint64_t unit =
      kElement * static_cast<std::uint64_t>(size_granularity(collective, fabric.ranks()));
  if (1024 % unit == 0) return "1KiB..1GiB x4";
  std::string sizes;
  for (std::uint64_t bytes = 1024; bytes <= std::uint64_t{1} << 30U; bytes *= 4) {
    sizes += fmt::format("{}{}B", sizes.empty() ? "[" : ", ", (bytes + unit - 1) / unit * unit);
  }
  return sizes + "]";
}

struct Sweep {
  std::string text;   // the ranges of the table, for the terminal
  std::string table;  // path
  std::string report;
};

// Simulates the programs and their rivals over the sizes, and writes the table of the fastest.
Sweep sweep(const Arguments& arguments, const SynthesisSweep& plan, const std::string& folder) {
  const std::string path = folder + "/sweep.yaml";
  write_text_file(path, sweep_yaml(plan));
  const Experiment experiment = load_experiment(path);
  const std::string run_folder = folder + "/sweep";
  run_cells(experiment, {.folder = run_folder, .jobs = jobs_of(arguments), .fresh = true},
            arguments.has("quiet"));
  const std::vector<ResultRow> rows = read_run_results(experiment, run_folder).rows;
  Sweep result;
  result.report = write_report(experiment, rows, run_folder);
  const std::vector<TunedBlock> blocks = tune_dispatch(experiment, rows, 0.01);
  result.table = folder + "/dispatch.yaml";
  write_text_file(result.table,
                  to_yaml(dispatch_table(experiment, blocks, folder),
                          fmt::format("Written by cclgym synthesize {}.\n", program_version())));
  result.text = tuned_text(experiment, blocks);
  return result;
}

std::string page_of(const std::string& title, const synthesis::Synthesis& made,
                    const Fabric& fabric, const std::string& table,
                    const std::vector<std::string>& notes, bool swept) {
  SchedulePage page{.title = title,
                    .lead = {"Bounds: " + bounds_text(made) + "."},
                    .table = table,
                    .min_steps = static_cast<double>(made.min_steps),
                    .min_rounds = boost::rational_cast<double>(made.min_rounds)};
  page.lead.insert(page.lead.end(), notes.begin(), notes.end());
  for (const SynthesizedProgram& program : made.programs) {
    if (program.instances > 1) continue;  // the same schedule
    page.front.push_back(
        {.name = program.name,
         .steps = static_cast<double>(program.steps),
         .rounds_per_chunk = boost::rational_cast<double>(program.rounds_per_chunk())});
    page.schedules.push_back(view_of(program, fabric));
  }
  if (swept) {
    page.links = {{"times of the sweep", "sweep/report.html"}, {"dispatch table", "dispatch.yaml"}};
  }
  return schedule_page(page);
}

int run_synthesis(const std::vector<std::string>& args) {
  ArgumentReader reader(synthesize_command());
  reader.option("fabric", "F", "fabric (cclgym list fabrics), or a fabric file (*.yaml)");
  add_fabric_options(reader);
  reader.option("collective", "C", "name of the collective (cclgym list collectives)")
      .option(kRoot, "R")
      .option("group", "RANKS", "participating ranks, with commas in between [default: all]")
      .flag("pareto", "only step schedules: the front of steps and rounds per chunk (SCCL)")
      .flag("throughput", "only trees at full throughput")
      .option("sizes", "SIZES", "collective sizes to simulate [default: 1KiB..1GiB x4]")
      .option("cost-model", "M", "cost model of the simulation [default: auto]")
      .option("dialect", "D", "dialect of the XML: microsoft or azure [default: microsoft]")
      .option(kTimeLimit, "S")
      .option(jobs_option(), "N")
      .flag("no-sweep", "write programs without simulating them, and no dispatch table")
      .flag("quiet", "print only errors")
      .option("out,o", "DIR", "folder for programs, dispatch table and report");
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const std::string& folder = arguments->required("out");
  const std::string& fabric_name = arguments->required("fabric");
  const FabricSpec spec = fabric_spec_of(fabric_name, *arguments);
  const auto fabric = make_fabric(spec);
  const CollectiveKind collective =
      collective_named(arguments->required("collective"), argument_location("collective"));
  const std::string cost_model =
      arguments->has("cost-model") ? arguments->text("cost-model") : "auto";
  const CostModel model = cost_model_for(cost_model, *fabric);
  XmlDialect dialect = XmlDialect::Microsoft;
  if (arguments->has("dialect")) {
    const auto found = parse_xml_dialect(arguments->text("dialect"));
    if (!found) {
      throw UserError(
          argument_location("dialect"),
          unknown_name_message("dialect", arguments->text("dialect"), {"microsoft", "azure"}));
    }
    dialect = *found;
  }
  const bool quiet = arguments->has("quiet");
  const bool both = arguments->has("pareto") == arguments->has("throughput");
  const synthesis::Synthesis made = synthesis::synthesize(
      *fabric, collective,
      {.root = static_cast<int>(arguments->integer(kRoot)),
       .group = group_of(*arguments),
       .pareto = both || arguments->has("pareto"),
       .throughput = both || arguments->has("throughput"),
       .time_limit_s = read_real(arguments->text_or_default(kTimeLimit), kTimeLimit,
                                 argument_location(kTimeLimit.name)),
       .certificates = true,
       .fuse = !model.hockney,
       .on_progress = [quiet](const std::string& sentence) {
         if (!quiet) print_error("{}\n", sentence);
       }});
  std::vector<std::string> notes = made.notes;
  make_folder(folder + "/programs");
  const std::vector<std::string> names = write_programs(made, folder, dialect, notes);
  make_folder(folder + "/certificates");
  const std::size_t certificates = write_certificates(made, folder + "/certificates", spec, fabric);
  const std::string title = fmt::format("{} on {}", to_string(collective),
                                        fabric_label_of(fabric_name, *arguments, *fabric));
  const std::string table = table_of(made);
  std::optional<Sweep> swept;
  const bool grouped = arguments->has("group");
  if (grouped && !arguments->has("no-sweep")) {
    notes.push_back("Programs of a group are not swept: experiments run all ranks.");
  }
  if (!arguments->has("no-sweep") && !grouped && !names.empty()) {
    SynthesisSweep plan{.name = "synthesis",
                        .fabric = seen_from(spec, folder),
                        .collective = collective,
                        .root = static_cast<int>(arguments->integer(kRoot)),
                        .programs = names,
                        .others = others_of(collective, *fabric, model),
                        .cost_model = cost_model,
                        .hockney = model.hockney};
    plan.sizes =
        arguments->has("sizes") ? arguments->text("sizes") : default_sizes(collective, *fabric);
    if (!plan.others.empty()) plan.baseline = plan.others.front();
    swept = sweep(*arguments, plan, folder);
  }
  const std::string report = folder + "/report.html";
  write_text_file(report, page_of(title, made, *fabric, table, notes, swept.has_value()));
  if (!quiet) {
    print_out("{}: {} program{}\nbounds: {}\n\n{}", title, made.programs.size(),
              made.programs.size() == 1 ? "" : "s", bounds_text(made), table);
    if (swept) print_out("\n{}", swept->text);
    for (const std::string& note : notes) print_out("note: {}\n", note);
    print_out("\nprograms  {}/programs\n", folder);
    print_out("proofs    {}/certificates ({} files)\n", folder, certificates);
    if (swept) print_out("table     {}\n", swept->table);
    print_out("report    {}\n", report);
  }
  // A search without an answer has said the bounds that it reached.
  return made.programs.empty() ? 1 : 0;
}

}  // namespace

const Command& synthesize_command() {
  static const Command command{
      .name = "synthesize",
      .summary = "Synthesize programs for a fabric and a collective",
      .usage = "--fabric F --collective C --out DIR [options]",
      .examples =
          "  cclgym synthesize --fabric dgx1 --collective allgather -o dgx1-allgather\n"
          "      programs on the front of steps and bandwidth, a dispatch table that chooses\n"
          "      among them and NCCL by size, and a report with pictures\n"
          "  cclgym synthesize --fabric dgx1 --without gpu0:gpu4 --collective allreduce -o failed\n"
          "      the same after a link has failed\n"
          "  cclgym simulate --fabric dgx1 --collective allgather --size 1MiB \\\n"
          "      --algorithm dispatch:dgx1-allgather/dispatch.yaml\n"
          "      simulates the table's choice for a call\n",
      .run = run_synthesis};
  return command;
}

}  // namespace cclgym
