// cclgym compare: simulates every measured row and prints the errors.
#include "calibration/compare/compare.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <iostream>

#include "calibration/compare/decisions.hpp"
#include "calibration/intervals/conformal.hpp"
#include "calibration/intervals/held_out_intervals.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/print.hpp"
#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/progress.hpp"

namespace cclgym {

namespace {

const OptionSpec kWorst{.name = "worst",
                        .kind = OptionKind::Integer,
                        .description = "number of worst cells to list",
                        .min = 0,
                        .max = 100'000,
                        .default_text = "15"};

const OptionSpec kCoverage{.name = "coverage",
                           .kind = OptionKind::Real,
                           .description =
                               "share of measured times that the intervals of "
                               "--write-intervals aim to contain",
                           .min = 0.5,
                           .max = 0.999,
                           .default_text = "0.9"};

constexpr const char* kDecisionsFile = "decisions.csv";

void write_files(const Comparison& comparison, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError({folder, 0, 0}, error.message());
  const std::filesystem::path path(folder);
  write_text_file((path / "compare.csv").string(), comparison_csv(comparison));
  write_text_file((path / "compare.html").string(), comparison_html(comparison));
  const auto groups = decision_groups(comparison.cells);
  if (!groups.empty()) {
    write_text_file((path / kDecisionsFile).string(), decisions_csv(groups));
  }
}

// The table of --intervals or of the shipped sets, with the coverage of --coverage. If a table is
// to be written, no table states intervals: those of the comparison are a test of the new one.
TimeIntervals table_of(const Arguments& arguments) {
  TimeIntervals table;
  if (!arguments.has("write-intervals")) {
    table = arguments.has("intervals") ? load_time_intervals(arguments.text("intervals"))
                                       : shipped_time_intervals();
  } else if (arguments.has("intervals")) {
    throw UserError(argument_location("intervals"),
                    "excludes --write-intervals, which makes another table; leave one of them out");
  }
  if (!arguments.has("coverage")) return table;
  if (!table.rows.empty()) {
    throw UserError(argument_location("coverage"),
                    fmt::format("the table has intervals of {:.0f} %; --coverage is for "
                                "--write-intervals",
                                100 * table.coverage));
  }
  table.coverage = read_real(arguments.text("coverage"), kCoverage, argument_location("coverage"));
  return table;
}

void write_intervals(const Comparison& comparison, double coverage, const std::string& path) {
  const TimeIntervals table =
      intervals_from(comparison.cells, coverage,
                     fmt::format("cclgym compare --measured {} --write-intervals",
                                 std::filesystem::path(comparison.file).filename().string()));
  if (table.rows.empty()) {
    throw UserError(
        {comparison.file, 0, 0},
        fmt::format("has too few held-out cells for {:.0f} % intervals; expected at "
                    "least {} cells of one set, fabric and reach that no fit of the set "
                    "has seen",
                    100 * coverage, fewest_cells(coverage)));
  }
  write_text_file(path, to_yaml(table));
}

int compare_rows(const std::vector<std::string>& args, TaskPlace* place) {
  ArgumentReader reader(compare_command());
  add_measured_options(reader);
  const auto arguments = reader
                             .option("cost-model", "MODEL",
                                     "cost model for all systems: a shipped set or a .yaml file "
                                     "[default: the set of each system]")
                             .option("out,o", "DIR",
                                     "folder for compare.csv, compare.html and, if calls were "
                                     "measured with several forced configurations, decisions.csv")
                             .flag("decisions",
                                   "judge choices instead of times: of the configurations that "
                                   "were forced for a call, the measured time of the one that is "
                                   "fastest in the simulator")
                             .option(kWorst, "N")
                             .input("intervals", "FILE",
                                    "table of intervals to test on these rows [default: that of "
                                    "the shipped sets]")
                             .output("write-intervals", "FILE",
                                     "table of intervals to write, from the held-out rows (.yaml)")
                             .option(kCoverage, "X")
                             .option(jobs_option(), "N")
                             .option(peer_timeout_option(), "TIME")
                             .flag("quiet", "print no progress")
                             .flag("json", kJsonHelp)
                             .read(args);
  if (!arguments) return 0;
  check_output_folder(*arguments);
  if (arguments->has("out") && writes_output()) {
    refuse_foreign_files(arguments->text("out"), {.writer = "cclgym compare",
                                                  .mark = "compare.csv",
                                                  .mark_begins = "system,",
                                                  .others = {"compare.html", kDecisionsFile}});
  }
  require_folder_of(*arguments, "write-intervals");
  const TimeIntervals table = table_of(*arguments);
  const MeasuredRows measured = measured_rows(*arguments);
  const auto worst = static_cast<std::size_t>(arguments->integer(kWorst));
  std::optional<std::string> cost_model;
  if (arguments->has("cost-model")) cost_model = arguments->text("cost-model");
  MeasuredCells cells = make_cells(measured.rows, measured.filter, measured.path);
  if (measured.filter.fabric && measured.filter.systems.empty()) {
    require_one_system(cells, measured.path);
  }
  std::unique_ptr<Progress> progress;
  if (!arguments->has("quiet")) {
    progress =
        std::make_unique<Progress>(std::cerr, standard_error_redraws(), cells.cells.size(), 0);
  }
  const InterruptNotice interrupt("interrupted: nothing is written; the same command starts over",
                                  progress != nullptr && standard_error_redraws());
  const Comparison comparison = compare(
      measured.path, std::move(cells), cost_model,
      {.place = place,
       .jobs = jobs_of(*arguments),
       .peer_timeout_s = peer_timeout_of(*arguments),
       .notice = notice_of_faults(arguments->has("quiet"))},
      [&](std::size_t done) {
        if (progress) progress->update(done);
      },
      table);
  if (progress) progress->leave_line();
  for (const std::string& warning : comparison.warnings) print_warning(warning);
  const bool decisions = arguments->has("decisions");
  if (wants_json(*arguments)) {
    print_json(json_rows(decisions ? decisions_csv(decision_groups(comparison.cells))
                                   : comparison_csv(comparison)));
  } else {
    print_out("{}", decisions ? decisions_text(decision_groups(comparison.cells), worst)
                              : comparison_text(comparison, worst));
  }
  if (comparison.cells.empty()) {
    throw UserError({measured.path, 0, 0},
                    "none of the rows could be simulated, for the reasons above");
  }
  const bool text = !wants_json(*arguments);
  if (arguments->has("out")) {
    const std::string& folder = arguments->text("out");
    write_files(comparison, folder);
    if (text) print_out("\npage      {0}/compare.html\ncells     {0}/compare.csv\n", folder);
  }
  if (arguments->has("write-intervals")) {
    const std::string& path = arguments->text("write-intervals");
    write_intervals(comparison, table.coverage, path);
    if (text) print_out("{}intervals {}\n", arguments->has("out") ? "" : "\n", path);
  }
  return 0;
}

}  // namespace

const Command& compare_command() {
  static const Command command{
      .name = "compare",
      .summary = "Simulate measured calls and print the errors",
      .usage = "--measured FILE [options]",
      .examples =
          "  cclgym compare --measured nccl_measured.csv -o comparison\n"
          "      every row on the fabric and with the parameter set of its system, as configured "
          "by\n"
          "      its release of NCCL; tables here, plots in comparison/compare.html,\n"
          "      fitted and held-out rows apart\n"
          "  cclgym compare --measured nccl_measured.csv --system Polaris --max-ranks 32\n"
          "      one system, up to 32 GPUs\n"
          "  cclgym compare --measured nccl-forced.csv --decisions\n"
          "      how good the simulator's choices are, by measured times\n"
          "  cclgym compare --measured mine.csv --fabric mine.yaml --cost-model set.yaml \\\n"
          "      --write-intervals intervals.yaml\n"
          "      intervals of a set of your own, for cclgym simulate --intervals\n"
          "  cclgym compare --measured run.txt --fabric hgx-h100 --nccl 2.21.5 --cost-model h100\n"
          "      the output of all_reduce_perf on your own node",
      .run_in = compare_rows};
  return command;
}

}  // namespace cclgym
