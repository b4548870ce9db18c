// cclgym synthesize: makes programs for a fabric and a collective, and a dispatch table of them.
#include "synthesis/strategies/synthesize.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/print.hpp"
#include "cli/synthesis/search_line.hpp"
#include "cli/synthesis/sweep_programs.hpp"
#include "cli/synthesis/synthesis_files.hpp"
#include "cli/synthesis/synthesis_outcome.hpp"
#include "cli/synthesis/synthesis_text.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/counted.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"
#include "core/progress.hpp"
#include "core/split.hpp"
#include "core/version.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/run/sent_cells.hpp"
#include "experiments/schedules/synthesis_folder.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "synthesis/strategies/request.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

const OptionSpec kTimeLimit{.name = "time-limit",
                            .kind = OptionKind::Real,
                            .description =
                                "max seconds of all searches together, proofs included; the "
                                "best programs and bounds until then are kept, and the same "
                                "command continues",
                            .min = 0.001,
                            .max = 86400,
                            .default_text = "20"};
// A search takes turns of 500, 1,000, 2,000 … conflicts (solve_steps).
const OptionSpec kMaxConflicts{.name = "max-conflicts",
                               .kind = OptionKind::Integer,
                               .description =
                                   "max conflicts in a turn of each search for a step schedule, "
                                   "at which it ends after the same steps on every machine; the "
                                   "first turn has 500, and 0 is no limit",
                               .min = 0,
                               .max = 1'000'000'000,
                               .default_text = "0"};
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

XmlDialect dialect_of(const Arguments& arguments) {
  if (!arguments.has("dialect")) return XmlDialect::Microsoft;
  const auto found = parse_xml_dialect(arguments.text("dialect"));
  if (!found) {
    throw UserError(
        argument_location("dialect"),
        unknown_name_message("dialect", arguments.text("dialect"), {"microsoft", "azure"}));
  }
  return *found;
}

// The arguments, read and checked before anything is searched or written.
struct SynthesisCall {
  std::string folder{};
  FabricSpec spec{};
  std::shared_ptr<const Fabric> fabric{};
  std::string title{};
  CollectiveKind collective = CollectiveKind::AllGather;
  std::string cost_model = "auto";
  CostModel model{};
  XmlDialect dialect = XmlDialect::Microsoft;
  synthesis::SynthesisOptions options{};
  std::string sizes{};
  std::size_t jobs = 1;
  bool sweep = true;
  bool quiet = false;
  bool json = false;
};

// check_request() with the option that is to blame.
void check_located(const SynthesisCall& call, const Arguments& arguments) {
  try {
    check_request(*call.fabric, call.collective, call.options);
  } catch (const UserError& error) {
    const bool no_rank = arguments.has("root") && call.options.root >= call.fabric->ranks();
    throw UserError(argument_location(no_rank                  ? "root"
                                      : arguments.has("group") ? "group"
                                                               : "collective"),
                    error.what());
  }
}

SynthesisCall read_call(const Arguments& arguments) {
  SynthesisCall call{.folder = arguments.required("out")};
  const std::string& name = arguments.required("fabric");
  call.spec = fabric_spec_of(name, arguments);
  call.collective =
      collective_named(arguments.required("collective"), argument_location("collective"));
  call.fabric = fabric_of(name, arguments);
  call.title = fmt::format("{} on {}", to_string(call.collective),
                           fabric_label_of(name, arguments, *call.fabric));
  if (arguments.has("cost-model")) call.cost_model = arguments.text("cost-model");
  call.model = parameter_set_of(arguments, "cost-model", *call.fabric).model;
  call.dialect = dialect_of(arguments);
  const bool both = arguments.has("pareto") == arguments.has("throughput");
  call.options = {.root = static_cast<int>(arguments.integer(kRoot)),
                  .group = group_of(arguments),
                  .pareto = both || arguments.has("pareto"),
                  .throughput = both || arguments.has("throughput"),
                  .time_limit_s = read_real(arguments.text_or_default(kTimeLimit), kTimeLimit,
                                            argument_location(kTimeLimit.name)),
                  .max_conflicts = arguments.integer(kMaxConflicts),
                  .certificates = true,
                  .fuse = !call.model.hockney};
  if (arguments.has("root") && !is_rooted(call.collective)) {
    throw UserError(argument_location("root"),
                    fmt::format("{} has no root; leave --root out", to_string(call.collective)));
  }
  check_located(call, arguments);
  call.sizes = arguments.has("sizes") ? arguments.text("sizes")
                                      : default_sizes(call.collective, call.fabric->ranks());
  check_sizes(call.sizes, call.collective, call.fabric->ranks(), argument_location("sizes"));
  call.jobs = jobs_of(arguments);
  call.sweep = !arguments.has("no-sweep");
  call.json = wants_json(arguments);
  call.quiet = arguments.has("quiet");
  return call;
}

// The cost model that limits the thread blocks of a GPU: hockney, which has no limit, is about
// time.
CostModel model_of_gpu(const SynthesisCall& call) {
  return call.model.hockney ? cost_model_for("auto", *call.fabric) : call.model;
}

void say_before(const SynthesisFolder& folder, std::size_t kept, bool quiet) {
  if (quiet) return;
  if (folder.before() == SynthesisFolder::Before::Different) {
    print_error("the folder has a synthesis of other input, whose files are removed\n");
  } else if (kept > 0) {
    print_error("continuing: {} of an earlier run {} kept\n", counted(kept, "answer"),
                kept == 1 ? "is" : "are");
  }
}

synthesis::Synthesis search(const SynthesisCall& call, SynthesisFolder& folder) {
  SearchLine line(call.quiet, call.options.time_limit_s);
  synthesis::SynthesisOptions options = call.options;
  options.memory = &folder.memory();
  options.proofs = folder.proofs();
  options.on_progress = [&line](const std::string& sentence) { line.say(sentence); };
  options.on_search = [&line](const synthesis::SearchedTriple& triple) { line.search(triple); };
  return synthesize(*call.fabric, call.collective, options);
}

void write_files(const SynthesisFolder& folder, const std::vector<NamedText>& files) {
  for (const NamedText& file : files) write_text_file(folder.path(file.name), file.text);
}

SynthesisSweep sweep_of(const SynthesisCall& call, const std::vector<std::string>& programs) {
  SynthesisSweep plan{.name = "synthesis",
                      .fabric = seen_from(call.spec, call.folder),
                      .collective = call.collective,
                      .root = call.options.root,
                      .programs = programs,
                      .others = rivals_of(call.collective, *call.fabric, call.model),
                      .sizes = call.sizes,
                      .cost_model = cost_model_seen_from(call.cost_model, call.folder),
                      .hockney = call.model.hockney};
  if (!plan.others.empty()) plan.baseline = plan.others.front();
  return plan;
}

// Identity of a synthesis for ranks that serve its sweep.
std::string identity_of(const SynthesisCall& call, const std::string& input) {
  TextHash hash;
  hash.add(input);
  hash.add(call.model.label());
  hash.add(call.model.canonical_text());
  hash.add(call.sizes);
  return fmt::format("{} ({})", call.title, hash.hex());
}

// Sweeps the programs and writes the dispatch table, and the programs once more, as it uses them.
// `files` are all files of the folder. Returns the ranges of the table, for the terminal.
std::string write_table(const SynthesisCall& call, const synthesis::Synthesis& made,
                        const ProgramFiles& programs, SynthesisFolder& folder,
                        std::vector<std::string> files, const SweepPlace& where) {
  SweptTable swept =
      sweep_programs(sweep_of(call, programs.names), call.folder, programs.files, where);
  const std::vector<NamedText> used = table_files(swept.table, made, call.dialect);
  for (const NamedText& file : used) {
    if (std::ranges::find(files, file.name) == files.end()) files.push_back(file.name);
  }
  folder.announce(files);
  write_files(folder, used);
  write_text_file(
      folder.path("dispatch.yaml"),
      to_yaml(swept.table, fmt::format("Written by cclgym synthesize {}.\n", program_version())));
  return std::move(swept.text);
}

// Prints what would be searched and simulated. Only the search has a limit of its time: the cells
// of the sweep depend on the programs that it finds.
void print_planned_synthesis(const SynthesisCall& call, SynthesisFolder& folder) {
  const synthesis::SynthesisOptions& options = call.options;
  const bool sweep = call.sweep && options.group.empty();
  const bool fronts = options.pareto && call.fabric->ranks() <= synthesis::kMaxParetoRanks;
  std::vector<std::string> methods;
  if (fronts) methods.emplace_back("step schedules");
  if (options.throughput) methods.emplace_back("trees at full throughput");
  const std::vector<std::string> others =
      sweep ? rivals_of(call.collective, *call.fabric, call.model) : std::vector<std::string>{};
  const bool different = folder.before() == SynthesisFolder::Before::Different;
  const std::size_t kept = folder.memory().decided.size();
  if (call.json) {
    print_json({{"title", call.title},
                {"folder", call.folder},
                {"replaces_other_synthesis", different},
                {"answers_kept", kept},
                {"searches", methods},
                {"search_most_s", options.time_limit_s},
                {"sweep", sweep},
                {"sweep_sizes", sweep ? nlohmann::ordered_json(call.sizes) : nullptr},
                {"sweep_others", others}});
    return;
  }
  print_out("{}\nsearches  {}\n", call.title, fmt::join(methods, ", "));
  print_out("kept      {} of an earlier run\n", counted(kept, "answer"));
  if (different) print_out("removed   the files of a synthesis of other input\n");
  print_out("time      at most about {} for the searches (--time-limit)\n",
            duration_text(options.time_limit_s));
  if (sweep) {
    print_out("sweep     {} for each program found{}{}; its time depends on the programs\n",
              call.sizes, others.empty() ? "" : " and ", fmt::join(others, ", "));
  }
  print_out("folder    {}\n", call.folder);
}

int run_synthesis(const std::vector<std::string>& args, TaskPlace* place) {
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
      .option(kMaxConflicts, "N")
      .option(jobs_option(), "N")
      .option(peer_timeout_option(), "TIME")
      .flag("no-sweep", "write programs without simulating them, and no dispatch table")
      .flag("dry-run", "print what would be searched and simulated; nothing is written")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp)
      .option("out,o", "DIR", "folder for programs, dispatch table and report");
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const SynthesisCall call = read_call(*arguments);
  const std::string input =
      SynthesisInput{call.collective, call.options.root, call.options.group}.hash(*call.fabric);
  // The search is done here; ranks serve the sweep.
  TaskSet cells;
  cells.make_task = sent_cells_task;
  cells.identity = identity_of(call, input);
  const double peer_timeout_s = peer_timeout_of(*arguments);
  share_tasks(cells, {.place = place, .jobs = call.jobs, .peer_timeout_s = peer_timeout_s});
  SynthesisFolder folder(call.folder, input);
  if (arguments->has("dry-run")) {
    print_planned_synthesis(call, folder);
    return 0;
  }
  const std::size_t kept = folder.memory().decided.size();
  folder.begin();
  say_before(folder, kept, call.quiet);
  const synthesis::Synthesis made = search(call, folder);

  const ProgramFiles programs =
      program_files(made, call.collective, call.dialect, model_of_gpu(call));
  const std::vector<NamedText> certificates =
      certificate_files(made, call.folder, call.spec, call.fabric);
  std::vector<std::string> notes = made.notes;
  notes.insert(notes.end(), programs.notes.begin(), programs.notes.end());
  const bool grouped = !call.options.group.empty();
  if (grouped && call.sweep) {
    notes.push_back("Programs of a group are not swept: experiments run all ranks.");
  }
  const bool sweep = call.sweep && !grouped && !programs.names.empty();
  std::vector<std::string> files{"report.html"};
  if (sweep) files.insert(files.end(), sweep_files().begin(), sweep_files().end());
  for (const auto* list : {&programs.files, &certificates}) {
    for (const NamedText& file : *list) files.push_back(file.name);
  }
  folder.announce(files);
  if (!programs.files.empty()) make_folder(folder.path("programs"));
  make_folder(folder.path("certificates"));
  write_files(folder, programs.files);
  write_files(folder, certificates);
  std::string tuned;
  if (sweep) {
    tuned = write_table(call, made, programs, folder, files,
                        {.jobs = call.jobs,
                         .quiet = call.quiet,
                         .place = place,
                         .peer_timeout_s = peer_timeout_s,
                         .sent = &cells});
  }
  // The report comes last: a folder that has one is complete.
  const std::string report = folder.path("report.html");
  write_text_file(report, report_page(made, *call.fabric, call.collective,
                                      {.title = call.title,
                                       .notes = notes,
                                       .compared = !grouped,
                                       .root = call.options.root,
                                       .swept = sweep}));
  const SynthesisOutcome outcome{.title = call.title,
                                 .made = made,
                                 .notes = notes,
                                 .tuned = tuned,
                                 .files = programs.files.size(),
                                 .proofs = certificates.size(),
                                 .table = sweep};
  if (call.json) {
    print_json(outcome_json(outcome, call.folder));
  } else if (!call.quiet) {
    print_outcome(outcome, call.folder);
  }
  if (!programs.refusal.empty()) {
    throw UserError(
        fmt::format("{}; the report and the certificates in {} have the schedules; "
                    "synthesize for fewer GPUs or another method (--pareto, "
                    "--throughput) for a program with fewer channels and blocks",
                    programs.refusal, call.folder));
  }
  if (made.programs.empty() && call.quiet) {
    print_error("no program; bounds: {}\n", bounds_text(made));
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
      .run_in = run_synthesis};
  return command;
}

}  // namespace cclgym
