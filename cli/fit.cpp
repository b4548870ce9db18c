// cclgym fit: fits a parameter set to measured times.
#include "calibration/fit/fit.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "calibration/fit/coordinates.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/run_cells.hpp"
#include "cli/support/command.hpp"
#include "cli/support/fabric_options.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/print.hpp"
#include "core/counted.hpp"
#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "core/units.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

const OptionSpec kEvaluations{.name = "evaluations",
                              .kind = OptionKind::Integer,
                              .description = "max number of simulations of all cells per fit",
                              .min = 1,
                              .max = 1'000'000,
                              .default_text = "400"};
const OptionSpec kFolds{.name = "folds",
                        .kind = OptionKind::Integer,
                        .description =
                            "number of additional fits, each tested on the numbers of ranks that "
                            "it leaves out; 0: none",
                        .min = 0,
                        .max = 100,
                        .default_text = "0"};
const OptionSpec kStarts{.name = "starts",
                         .kind = OptionKind::Integer,
                         .description =
                             "number of starting points, of which the best fit is taken: the start "
                             "set, and others drawn as far from it as the prior allows",
                         .min = 1,
                         .max = 1000,
                         .default_text = "1"};
const OptionSpec kPrior{.name = "prior",
                        .kind = OptionKind::Real,
                        .description =
                            "strength of the prior: a parameter that differs from its start by "
                            "this factor costs as much as a cell that is 15 % off",
                        .min = 1.01,
                        .max = 1e6,
                        .default_text = "2"};
const OptionSpec kSeed{.name = "seed",
                       .kind = OptionKind::Integer,
                       .description = "seed of the bootstrap and of the starting points",
                       .min = 0,
                       .max = 1e15,
                       .default_text = "1"};

// Value of --hold-out: "ranks=64,128", "sizes=128B,512B".
struct HeldOut {
  std::string text;
  std::set<int> ranks;
  /// Each part of the text, and its size or sizes.
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> sizes;
};

HeldOut held_out(const Arguments& arguments) {
  HeldOut held;
  if (!arguments.has("hold-out")) return held;
  held.text = arguments.text("hold-out");
  const std::string_view text = held.text;
  const auto fail = [&] {
    throw UserError(argument_location("hold-out"),
                    fmt::format("found {}; expected numbers of ranks, e.g. ranks=64,128, or sizes, "
                                "e.g. sizes=128B,512B",
                                quoted(text)));
  };
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view key = text.substr(0, equals);
  if ((key != "ranks" && key != "sizes") || equals == text.size()) fail();
  for (const std::string_view part : split(text.substr(equals + 1), ',')) {
    if (part.empty()) fail();
    if (key == "sizes") {
      static const OptionSpec size{.name = "hold-out", .kind = OptionKind::Bytes, .min = 1};
      held.sizes.emplace_back(part, read_bytes_range(part, size, argument_location("hold-out")));
      continue;
    }
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value < 2) fail();
    held.ranks.insert(value);
  }
  return held;
}

// The sizes for a message: "1KiB, 64KiB".
std::string sizes_list(const std::set<std::uint64_t>& sizes) {
  constexpr std::size_t kShown = 30;
  std::vector<std::string> shown;
  for (const std::uint64_t bytes : sizes) {
    if (shown.size() < kShown) shown.push_back(format_bytes(bytes));
  }
  if (sizes.size() > kShown) shown.push_back(fmt::format("… ({} sizes)", sizes.size()));
  return fmt::format("{}", fmt::join(shown, ", "));
}

// Throws UserError if no cell has one of the held-out values, or none of a range of sizes, or if no
// cell is left to fit.
void check_held_out(const HeldOut& held, std::span<const MeasuredCell> cells) {
  if (held.text.empty()) return;
  std::set<int> ranks;
  std::set<std::uint64_t> sizes;
  for (const MeasuredCell& cell : cells) {
    ranks.insert(cell.ranks);
    sizes.insert(cell.bytes);
  }
  std::vector<std::string> absent;
  std::set<std::uint64_t> left = sizes;
  for (const int count : held.ranks) {
    if (!ranks.contains(count)) absent.push_back(std::to_string(count));
  }
  for (const auto& [part, values] : held.sizes) {
    std::size_t found = 0;
    for (const std::uint64_t value : values) {
      if (sizes.contains(value)) ++found;
      left.erase(value);
    }
    if (found == 0) absent.push_back(part);
  }
  const bool by_ranks = held.sizes.empty();
  const std::string have =
      by_ranks ? fmt::format("{} ranks", fmt::join(ranks, ", ")) : "sizes " + sizes_list(sizes);
  if (!absent.empty()) {
    throw UserError(argument_location("hold-out"),
                    fmt::format("no row has {}{}{}; the rows have {}", by_ranks ? "" : "size ",
                                fmt::join(absent, " or "), by_ranks ? " ranks" : "", have));
  }
  if (by_ranks ? held.ranks.size() == ranks.size() : left.empty()) {
    throw UserError(argument_location("hold-out"),
                    fmt::format("found {}, which leaves no row to fit; the rows have {}",
                                quoted(held.text), have));
  }
}

// Checks the output before long work. A set in a file of another name could not be read again.
void check_set_file(const Arguments& arguments) {
  check_output_file(arguments);
  if (!arguments.has("out")) return;
  const std::string& path = arguments.text("out");
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return;
  std::error_code ignored;
  const std::filesystem::file_status old = std::filesystem::status(path, ignored);
  const bool device = std::filesystem::exists(old) && !std::filesystem::is_regular_file(old);
  if (device) return;
  throw UserError(argument_location("out"),
                  fmt::format("found {}; expected a name that ends in .yaml, by which --cost-model "
                              "and --start tell the file of a set from a shipped set",
                              quoted(path, 200)));
}

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(standard_error_redraws()) {}
  ~ProgressLine() {
    if (shown_ && terminal_) print_error("\n");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const FitProgress& at) {
    if (quiet_) return;
    const bool last = at.evaluation >= at.evaluations;
    if (!terminal_ && !last && at.stage == stage_ && at.evaluation % 25 != 0) return;
    const std::string error = at.mean > 0 ? fmt::format("  mean |ln| {:.4f}", at.mean) : "";
    print_error("{}{} {}/{}{}{}", terminal_ ? "\r" : "", at.stage, at.evaluation, at.evaluations,
                error, terminal_ ? "\033[K" : "\n");
    stage_ = at.stage;
    shown_ = true;
  }

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::string stage_;
};

nlohmann::ordered_json interval_json(const Interval& interval) {
  return {interval.least, interval.most};
}

nlohmann::ordered_json errors_json(const std::string& group, std::span<const Compared> cells) {
  std::vector<const Compared*> all;
  for (const Compared& cell : cells) all.push_back(&cell);
  const ErrorSummary errors = summarise(group, all);
  return {{"cells", errors.cells},   {"rows", errors.rows}, {"mean", errors.mean},
          {"median", errors.median}, {"p90", errors.p90},   {"bias", errors.bias}};
}

nlohmann::ordered_json starts_json(const FitResult& result) {
  const StartsAgreement agreement = starts_agreement(result);
  nlohmann::ordered_json objectives = nlohmann::ordered_json::array();
  for (const SearchEnd& end : result.ends) objectives.push_back(end.objective);
  return {{"objectives", objectives},
          {"best", result.best_start},
          {"same_optimum", agreement.same},
          {"worst_gap", agreement.worst_gap},
          {"largest_factor", agreement.factor},
          {"parameter", agreement.parameter},
          {"outside_interval", agreement.outside}};
}

// Held-out cells that a fit of the start set, or of one before it, saw.
std::size_t seen_by_start(const FitResult& result, const ParameterSet& start) {
  return static_cast<std::size_t>(std::count_if(
      result.held_out.begin(), result.held_out.end(),
      [&](const Compared& each) { return seen_by(start, each.cell) == Seen::Fitted; }));
}

// Values in SI units; errors are |ln(simulated / measured)|.
nlohmann::ordered_json fit_json(const FitResult& result, const ParameterSet& start) {
  nlohmann::ordered_json json{{"parameters", nlohmann::ordered_json::array()},
                              {"without_effect", result.without_effect}};
  for (const FittedParameter& one : result.parameters) {
    json["parameters"].push_back({{"name", one.name},
                                  {"start", one.start},
                                  {"estimate", one.estimate},
                                  {"linearised_95", interval_json(one.linearised)},
                                  {"resampled_95", interval_json(one.resampled)}});
  }
  nlohmann::ordered_json& errors = json["errors"] = nlohmann::ordered_json::object();
  errors["before"] = errors_json("before", result.before);
  errors["fitted"] = errors_json("fitted", result.fitted);
  if (!result.held_out.empty()) {
    errors["held_out"] = errors_json("held out", result.held_out);
    errors["held_out"]["seen_by_start"] = seen_by_start(result, start);
  }
  json["evaluations"] = result.evaluations;
  json["starts"] = starts_json(result);
  return json;
}

int fit_parameters(const std::vector<std::string>& args, TaskPlace* place) {
  ArgumentReader reader(fit_command());
  add_measured_options(reader);
  const auto arguments =
      reader
          .input("start", "SET",
                 "start of the fit and centre of its prior: a shipped parameter set or "
                 "a .yaml file [default: the set of the fabric's GPU]")
          .option("parameters", "NAMES",
                  "parameters to fit, e.g. kernel_launch,protocols.LL.step_latency "
                  "[default: all that the rows determine]")
          .option("hold-out", "ranks=N,…|sizes=B,…",
                  "rows to leave out of the fit and to use for testing it")
          .option(kFolds, "N")
          .option(kStarts, "N")
          .option(kPrior, "X")
          .option(kEvaluations, "N")
          .option(kSeed, "N")
          .option("name", "NAME", "name of the parameter set [default: that of the file]")
          .output("out,o", "FILE", "parameter set to write (.yaml)")
          .option(jobs_option(), "N")
          .option(peer_timeout_option(), "TIME")
          .flag("quiet", "print no progress")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  check_set_file(*arguments);
  const MeasuredRows measured = measured_rows(*arguments);
  const MeasuredCells cells = make_cells(measured.rows, measured.filter, measured.path);
  for (const std::string& warning : cells.warnings) print_warning(warning);
  // One set describes one system, unless the user names several that are equal.
  if (measured.filter.systems.empty()) require_one_system(cells, measured.path);
  for (const RefusedRows& refused : cells.refused) {
    print_error("left out: {} of {}: {}\n", counted(refused.rows, "row"), refused.system,
                refused.reason);
  }
  if (cells.cells.empty()) {
    throw UserError({measured.path, 0, 0},
                    "none of the rows can be simulated: " + refusal_text(cells.refused));
  }
  const HeldOut held = held_out(*arguments);
  const ParameterSet start_set =
      parameter_set_of(*arguments, "start", *make_fabric(cells.cells.front().fabric));
  FitOptions options{.start = start_set.model, .parameters = {}, .held_out_ranks = held.ranks};
  for (const auto& [part, sizes] : held.sizes) {
    options.held_out_sizes.insert(sizes.begin(), sizes.end());
  }
  if (options.start.hockney) {
    throw UserError(argument_location("start"),
                    !arguments->has("start") || arguments->text("start") == "auto"
                        ? "there is no parameter set for this fabric's GPU; name one to start "
                          "from, e.g. a100"
                        : "model hockney has no parameters to fit; name a parameter set");
  }
  if (arguments->has("parameters")) {
    const std::string& names = arguments->text("parameters");
    options.parameters = comma_list(names, "parameters");
    at_option("parameters", names,
              [&] { (void)coordinates_of(options.start, options.parameters); });
  }
  options.folds = static_cast<int>(arguments->integer(kFolds));
  std::set<int> ranks;
  for (const MeasuredCell& cell : cells.cells) ranks.insert(cell.ranks);
  if (options.folds > 0 && ranks.size() < 2) {
    throw UserError(argument_location("folds"),
                    fmt::format("all rows have {} ranks, but folds leave out numbers of ranks",
                                *ranks.begin()));
  }
  check_held_out(held, cells.cells);
  options.evaluations = static_cast<int>(arguments->integer(kEvaluations));
  options.seed = static_cast<std::uint64_t>(arguments->integer(kSeed));
  options.prior_factor =
      read_real(arguments->text_or_default(kPrior), kPrior, argument_location("prior"));
  options.starts = static_cast<int>(arguments->integer(kStarts));
  options.threads = jobs_of(*arguments);
  options.place = place;
  options.notice = notice_of_faults(arguments->has("quiet"));
  options.peer_timeout_s = peer_timeout_of(*arguments);
  if (!start_set.fitted_to) {
    print_error(
        "set {} does not state the rows it was fitted to; if there are none, add fitted_to: [] to "
        "it, "
        "so that compare can tell fitted from held-out rows\n",
        start_set.model.name);
  }
  FitResult result;
  {
    const InterruptNotice interrupt("interrupted: no set is written; the same command starts over",
                                    !arguments->has("quiet") && standard_error_redraws());
    ProgressLine progress(arguments->has("quiet"));
    result = fit(cells.cells, options, [&](const FitProgress& at) { progress.show(at); });
  }
  const bool json = wants_json(*arguments);
  if (json) {
    print_json(fit_json(result, start_set));
  } else {
    print_out("{}", fit_text(result));
  }
  if (!arguments->has("out")) return 0;
  const std::string& path = arguments->text("out");
  const std::filesystem::path file(path);
  result.model.name = arguments->has("name") ? arguments->text("name") : file.stem().string();
  result.model.description = fmt::format("fitted to {}", cells.cells.front().system);
  write_text_file(path, fitted_set_yaml(result, start_set,
                                        std::filesystem::path(measured.path).filename().string()));
  if (!json) print_out("\nset       {}\n", path);
  return 0;
}

}  // namespace

const Command& fit_command() {
  static const Command command{
      .name = "fit",
      .summary = "Fit the parameters of a cost model to measured times",
      .usage = "--measured FILE [options]",
      .examples =
          "  cclgym fit --measured nccl_measured.csv --system Alps-GH200 --start a100 \\\n"
          "      --max-ranks 256 --hold-out ranks=128,256 -o gh200.yaml\n"
          "      fits to up to 32 GPUs, tests the set on 128 and 256, writes it\n"
          "  cclgym fit --measured run.txt --fabric hgx-h100 --nccl 2.21.5 --start h100 \\\n"
          "      --parameters kernel_launch,channel_overhead -o mine.yaml\n"
          "      two parameters from the output of all_reduce_perf on your own node\n"
          "  cclgym simulate --fabric hgx-h100 --collective allreduce --size 1MiB \\\n"
          "      --cost-model mine.yaml\n"
          "      simulates with the set",
      .run_in = fit_parameters};
  return command;
}

}  // namespace cclgym
