// cclgym report: makes the table and the HTML page of an earlier run.
#include "experiments/report/report.hpp"

#include <iostream>
#include <utility>

#include "cli/support/command.hpp"
#include "cli/support/json_output.hpp"
#include "cli/support/print.hpp"
#include "cli/support/run_cells.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"
#include "experiments/summary/train_dispatcher.hpp"

namespace cclgym {

namespace {

int report(const std::vector<std::string>& args) {
  ArgumentReader reader(report_command());
  reader.positional("DIR", "folder of a run (has experiment.yaml and results.csv)")
      .output("out", "FILE", "page to write [default: DIR/report.html]")
      .option("dispatcher", "FILE",
              "dispatcher (tune-dispatch --svm) whose accuracy and regret on these results to show")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
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
  std::string scores;
  for (const ReportDispatcher& one : dispatchers) scores += "\n" + dispatcher_text(one.dispatcher);
  const std::string page =
      write_report(experiment, results.rows, dir,
                   arguments->has("out") ? arguments->text("out") : "", std::move(dispatchers));
  if (wants_json(*arguments)) {
    print_json(results_json(dir));
    return 0;
  }
  if (arguments->has("quiet")) return 0;
  for (const std::string& text : experiment.warnings) print_warning(text);
  print_table(std::cout, experiment, results.rows, read_measured_files(experiment));
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
      .usage = "DIR [--out FILE] [--dispatcher FILE] [--quiet]",
      .examples =
          "  cclgym report results/quickstart\n"
          "      the table here, the page in results/quickstart/report.html\n"
          "  cclgym report results/quickstart --out /tmp/quickstart.html --quiet\n"
          "      the page elsewhere; it is self-contained and can be sent to others\n"
          "  cclgym report results/pccl-frontier --dispatcher frontier-svm.yaml\n"
          "      with the accuracy and regret of a dispatcher",
      .run = report};
  return command;
}

}  // namespace cclgym
