// cclgym report: makes the table and the HTML page of an earlier run.
#include "experiments/report/report.hpp"

#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report_svg.hpp"
#include "experiments/report/run_comparison.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"
#include "experiments/summary/train_dispatcher.hpp"

namespace cclgym {

namespace {

// Compares two runs: a table here, and a page with the plots of both.
int compare_folders(const Arguments& arguments) {
  for (const char* name : {"dispatcher", "svg", "png", "json", "dry-run"}) {
    if (arguments.has(name)) {
      throw UserError(argument_location(name), "is for the report of one run; leave it out");
    }
  }
  const std::string& first_dir = arguments.text("DIR");
  const std::string& second_dir = arguments.text("OTHER");
  const Experiment first = load_run_experiment(first_dir);
  const Experiment second = load_run_experiment(second_dir);
  const ResultTable first_rows = read_run_results(first, first_dir);
  const ResultTable second_rows = read_run_results(second, second_dir);
  const ComparedRun left{.folder = first_dir, .experiment = &first, .rows = first_rows.rows};
  const ComparedRun right{.folder = second_dir, .experiment = &second, .rows = second_rows.rows};
  const RunComparison comparison = compare_runs(left.rows, right.rows);
  if (arguments.has("out")) {
    const std::string& out = arguments.text("out");
    refuse_file_of_run(out, first_dir, argument_location("out"));
    refuse_file_of_run(out, second_dir, argument_location("out"));
    write_text_file(out, comparison_page(comparison, left, right));
  }
  if (arguments.has("quiet")) return 0;
  print_out("{}", comparison_table(comparison, left, right, 20));
  if (arguments.has("out")) print_out("\nreport    {}\n", arguments.text("out"));
  return 0;
}

// Writes the plots as SVG files, and as PNG files if that is asked for and possible.
void write_plots(const Arguments& arguments, const Experiment& experiment,
                 std::span<const ResultRow> rows) {
  if (!arguments.has("svg")) {
    if (arguments.has("png"))
      throw UserError(argument_location("png"),
                      "is missing --svg FOLDER, the folder for the plots");
    return;
  }
  const std::vector<std::string> paths =
      write_svgs(report_plots(experiment, rows), arguments.text("svg"), arguments.has("png"));
  if (arguments.has("png") && !write_pngs(paths)) {
    print_warning(
        "rsvg-convert is not installed (package librsvg2-bin), so there are no PNG files; the SVG "
        "files are complete");
  }
}

void print_planned_report(const Arguments& arguments, std::size_t plots) {
  const std::string page =
      arguments.has("out") ? arguments.text("out") : arguments.text("DIR") + "/report.html";
  const bool svg = arguments.has("svg");
  if (wants_json(arguments)) {
    nlohmann::ordered_json plan{{"report", page}, {"plots", svg ? plots : 0}, {"svg", nullptr}};
    if (svg) plan["svg"] = arguments.text("svg");
    print_json(plan);
    return;
  }
  print_out("{}report    {}\n", kNothingWritten, page);
  if (svg) print_out("plots     {} in {}\n", plots, arguments.text("svg"));
}

int report(const std::vector<std::string>& args) {
  ArgumentReader reader(report_command());
  reader.positional("DIR", "folder of a run (has experiment.yaml and results.csv)")
      .positional("OTHER", "folder of a run to compare with the first", false)
      .output("out", "FILE", "page to write [default: DIR/report.html; none of two runs]")
      .option("svg", "FOLDER", "folder for the plots as SVG files")
      .flag("png", "write PNG files beside them, with rsvg-convert")
      .option("dispatcher", "FILE",
              "dispatcher (tune-dispatch --svm) whose accuracy and regret on these results to show")
      .flag("dry-run", "print what would be written; nothing is written")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (arguments->has("OTHER")) return compare_folders(*arguments);
  const std::string& dir = arguments->text("DIR");
  if (arguments->has("out")) {
    refuse_file_of_run(arguments->text("out"), dir, argument_location("out"));
  }
  const Experiment experiment = load_run_experiment(dir);
  const ResultTable results = read_run_results(experiment, dir);
  if (results.truncated) {
    print_error("{}: the last row is incomplete and left out\n", results_path(dir));
  }
  std::vector<ReportDispatcher> dispatchers = dispatchers_of(experiment);
  if (arguments->has("dispatcher")) {
    dispatchers.push_back(read_report_dispatcher(experiment, arguments->text("dispatcher"),
                                                 argument_location("dispatcher")));
  }
  if (arguments->has("dry-run")) {
    print_planned_report(*arguments, report_plots(experiment, results.rows).size());
    return 0;
  }
  std::string scores;
  for (const ReportDispatcher& one : dispatchers) scores += "\n" + dispatcher_text(one.dispatcher);
  const std::string page =
      write_report(experiment, results.rows, dir,
                   arguments->has("out") ? arguments->text("out") : "", std::move(dispatchers));
  write_plots(*arguments, experiment, results.rows);
  if (wants_json(*arguments)) {
    print_json(results_json(dir));
    return 0;
  }
  if (arguments->has("quiet")) return 0;
  for (const std::string& text : experiment.warnings) print_warning(text);
  const std::vector<MeasuredRow> measured = read_measured_files(experiment);
  for (const std::string& text : warnings_of(measured)) print_warning(text);
  print_table(std::cout, experiment, results.rows, measured);
  const std::vector<PublishedRow> published = read_published_files(experiment);
  std::cout << published_text(compare_published(experiment, results.rows, published),
                              published.size())
            << scores;
  std::cout << "\nreport    " << page << '\n';
  std::cout.flush();
  return 0;
}

}  // namespace

const Command& report_command() {
  static const Command command{
      .name = "report",
      .summary = "Write the table and the HTML report of an earlier run",
      .usage = "DIR [OTHER] [--out FILE] [--svg FOLDER] [--dispatcher FILE] [--quiet]",
      .examples =
          "  cclgym report results/quickstart\n"
          "      the table here, the page in results/quickstart/report.html\n"
          "  cclgym report results/quickstart --out /tmp/quickstart.html --quiet\n"
          "      the page elsewhere; it is self-contained and can be sent to others\n"
          "  cclgym report results/pccl-frontier --dispatcher frontier-svm.yaml\n"
          "      with the accuracy and regret of a dispatcher\n"
          "  cclgym report results/quickstart --svg plots --png\n"
          "      every plot as a file, without a browser\n"
          "  cclgym report results/before results/after --out changes.html\n"
          "      the cells whose times differ, and the plots of both runs side by side",
      .run = report};
  return command;
}

}  // namespace cclgym
