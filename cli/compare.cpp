// cclgym compare: simulates every measured row and prints the errors.
#include "calibration/compare/compare.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "calibration/compare/decisions.hpp"
#include "calibration/intervals/conformal.hpp"
#include "calibration/intervals/held_out_intervals.hpp"
#include "cli/descriptions/cost_model_text.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/print.hpp"
#include "core/counted.hpp"
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

constexpr const char* kCellsFile = "compare.csv";
constexpr const char* kPageFile = "compare.html";
constexpr const char* kDecisionsFile = "decisions.csv";

// Removes the decisions of an earlier run, which are not those of the rows beside them.
void remove_decisions(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error))) return;
  std::filesystem::remove(file, error);
  if (error) throw UserError({file.string(), 0, 0}, "cannot be removed: " + error.message());
}

// Returns the lines that name the files.
std::string write_files(const Comparison& comparison, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError({folder, 0, 0}, error.message());
  const std::filesystem::path path(folder);
  const bool written_before = std::filesystem::exists(path / kCellsFile);
  write_text_file((path / kCellsFile).string(), comparison_csv(comparison));
  write_text_file((path / kPageFile).string(), comparison_html(comparison));
  std::string lines =
      fmt::format("page      {0}/{1}\ncells     {0}/{2}\n", folder, kPageFile, kCellsFile);
  const auto groups = decision_groups(comparison.cells);
  if (!groups.empty()) {
    write_text_file((path / kDecisionsFile).string(), decisions_csv(groups));
    lines += fmt::format("decisions {}/{}\n", folder, kDecisionsFile);
  } else if (written_before) {
    remove_decisions(path / kDecisionsFile);
  }
  return lines;
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
                    fmt::format("the table has intervals of {}; --coverage is for "
                                "--write-intervals",
                                percent_text(table.coverage)));
  }
  table.coverage = read_real(arguments.text("coverage"), kCoverage, argument_location("coverage"));
  return table;
}

// Reads the cost model before any row, so that a mistake in it is found first.
void check_cost_model(const Arguments& arguments) {
  const std::string option = "cost-model";
  if (!arguments.has(option) || arguments.text(option) == "auto") return;
  const std::string& name = arguments.text(option);
  const ParameterSet set = at_option(option, name, [&] { return named_parameter_set(name); });
  if (!arguments.has("write-intervals") || !set.model.hockney) return;
  throw UserError(argument_location("write-intervals"),
                  "found --cost-model hockney, whose times are stated without intervals; expected "
                  "the name or file of a parameter set");
}

void write_intervals(const Comparison& comparison, double coverage, const std::string& path) {
  const TimeIntervals table =
      intervals_from(comparison.cells, coverage,
                     fmt::format("cclgym compare --measured {} --write-intervals",
                                 std::filesystem::path(comparison.file).filename().string()));
  if (table.rows.empty()) {
    throw UserError(
        {comparison.file, 0, 0},
        fmt::format("has too few held-out cells for {} intervals; expected at "
                    "least {} cells of one set, fabric and reach that no fit of the set "
                    "has seen",
                    percent_text(coverage), fewest_cells(coverage)));
  }
  write_text_file(path, to_yaml(table));
}

int compare_rows(const std::vector<std::string>& args, TaskPlace* place) {
  ArgumentReader reader(compare_command());
  add_measured_options(reader);
  const auto arguments =
      reader
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
                  "table of intervals to write, from the held-out rows (.yaml); the table of "
                  "the shipped sets is not used then")
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
                                                  .mark = kCellsFile,
                                                  .mark_begins = "system,",
                                                  .others = {kPageFile, kDecisionsFile}});
  }
  if (writes_output()) require_output(*arguments, "write-intervals");
  const TimeIntervals table = table_of(*arguments);
  check_cost_model(*arguments);
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
                    "none of the rows can be simulated: " + refusal_text(comparison.refused));
  }
  const bool text = !wants_json(*arguments);
  if (arguments->has("out")) {
    const std::string files = write_files(comparison, arguments->text("out"));
    if (text) print_out("\n{}", files);
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
