// cclgym merge: joins the results of shards into those of one run.
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "experiments/run/merge_shards.hpp"

namespace cclgym {

namespace {

int merge(const std::vector<std::string>& args) {
  ArgumentReader reader(merge_command());
  reader.repeated("DIR", "folders with the shards of one experiment")
      .option("out,o", "DIR", "folder for the results [default: the first folder]")
      .flag("fresh", "delete the results in the folder and start over")
      .flag("quiet", "print only errors")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const std::vector<std::string> folders = arguments->texts("DIR");
  const std::string folder = arguments->has("out") ? arguments->text("out") : folders.front();
  const ShardedRun run = find_shards(folders);
  const ReportInputs inputs = read_report_inputs(run.experiment);
  merge_shards(run, folder, arguments->has("fresh"));
  const bool json = wants_json(*arguments);
  finish_run(run.experiment, inputs, folder, json || arguments->has("quiet"));
  if (json) print_json(results_json(folder));
  return 0;
}

}  // namespace

const Command& merge_command() {
  static const Command command{
      .name = "merge",
      .summary = "Join the results of shards (run --shard) into those of one run",
      .usage = "DIR... [--out DIR] [--fresh] [--quiet]",
      .examples =
          "  cclgym merge results/sweep\n"
          "      all shards are in one folder; results, report and timelines beside them\n"
          "  cclgym merge /data/a/sweep /data/b/sweep --out results/sweep\n"
          "      shards of two machines",
      .run = merge};
  return command;
}

}  // namespace cclgym
