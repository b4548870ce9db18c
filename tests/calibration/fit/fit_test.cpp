// Tests of fits to times from the simulator itself, which must recover its parameters.
#include "calibration/fit/fit.hpp"

#include "calibration/fit/predict.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/check_sources.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

// AllReduce from 64 B to 64 MiB on 1, 2 and 4 ABCI nodes with V100, with the choices of NCCL 2.8.4.
std::vector<MeasuredCell> cells_of(const CostModel& truth) {
  std::vector<MeasuredCell> cells;
  for (const int nodes : {1, 2, 4}) {
    for (std::uint64_t bytes = 64; bytes <= (64U << 20); bytes *= kSanitized ? 16 : 4) {
      MeasuredCell cell;
      cell.system = "ABCI-V100";
      cell.fabric.name = "abci-v";
      if (nodes > 1) cell.fabric.servers = nodes;
      cell.cost_model = "v100";
      cell.nccl_version = "2.8.4";
      cell.ranks = 4 * nodes;
      cell.nodes = nodes;
      cell.bytes = bytes;
      cell.rows = 1;
      cell.sources = {"the simulator"};
      cell.time_s = 1;
      cells.push_back(cell);
    }
  }
  Predictor predictor(cells, 2);
  const std::vector<Prediction> predictions = predictor.predict(truth);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    REQUIRE(predictions[i].refusal.empty());
    cells[i].time_s = predictions[i].time_s;
  }
  return cells;
}

const FittedParameter& parameter_of(const FitResult& result, std::string_view name) {
  for (const FittedParameter& parameter : result.parameters) {
    if (parameter.name == name) return parameter;
  }
  throw std::logic_error("not fitted");
}

TEST_CASE("a fit finds the parameters behind the times, with intervals", "[calibration][fit]") {
  CostModel truth = shipped_cost_model("v100");
  truth.kernel_launch_s *= 1.6;
  truth.protocols[0].network_latency_s = 2.2e-6;
  truth.link_efficiency[static_cast<std::size_t>(LinkKind::Network)] = 0.7;
  const std::vector<MeasuredCell> cells = cells_of(truth);
  FitOptions options{.start = shipped_cost_model("v100"),
                     .parameters = {"kernel_launch", "protocols.LL.network_latency",
                                    "link_efficiency.network", "interpreter_launch"},
                     .held_out_ranks = {16}};
  options.prior_factor = 100;
  options.folds = 2;
  options.threads = 2;
  const FitResult result = fit(cells, options);
  CHECK(result.without_effect == std::vector<std::string>{"interpreter_launch"});
  REQUIRE(result.parameters.size() == 3);
  for (const FittedParameter& fitted : result.parameters) {
    INFO(fitted.name);
    const double wanted = *cost_parameter(fitted.name).get(truth);
    CHECK(fitted.estimate == Approx(wanted).epsilon(0.03));
    CHECK(fitted.linearised.least <= fitted.estimate);
    CHECK(fitted.linearised.most >= fitted.estimate);
    CHECK(fitted.linearised.most / fitted.linearised.least < 1.5);
  }
  for (const Compared& each : result.fitted) CHECK(std::abs(each.log_error()) < 0.03);
  REQUIRE(!result.held_out.empty());
  for (const Compared& each : result.held_out) {
    CHECK(each.cell.ranks == 16);
    CHECK(std::abs(each.log_error()) < 0.03);
  }
  REQUIRE(result.folds.size() == 2);
  CHECK(result.folds[0].held_out_ranks == std::set<int>{4});
  CHECK(result.folds[1].held_out_ranks == std::set<int>{8});
  // With a sanitizer there are too few cells for the accuracy.
  CHECK((kSanitized || result.folds[0].held_out.mean < 0.1));

  // The set states the sources of its values, and equals the fitted model.
  const ParameterSet start = shipped_parameter_set("v100");
  const std::string yaml = fitted_set_yaml(result, start, "made.csv");
  const YamlValue document = parse_yaml(yaml, "set.yaml");
  check_sources(document);
  const ParameterSet again = read_parameter_set(document);
  CHECK(again.model.kernel_launch_s == result.model.kernel_launch_s);
  CHECK(yaml.find("rows of ABCI-V100 (the simulator) on 4, 8 ranks in made.csv.") !=
        std::string::npos);
  CHECK(yaml.find("Held out, on 16 ranks: 0.0") != std::string::npos);
  for (const CostParameter& parameter : cost_parameters()) {
    if (!again.sources.contains(parameter.name)) continue;
    INFO(parameter.name);
    const std::string& text = again.sources.at(parameter.name);
    const bool fitted =
        std::any_of(result.parameters.begin(), result.parameters.end(),
                    [&](const FittedParameter& each) { return each.name == parameter.name; });
    if (fitted) {
      CHECK(text.starts_with("fitted to "));
      CHECK(text.find(" rows of ABCI-V100 (the simulator) on 4, 8 ranks, mean |ln| 0.0") !=
            std::string::npos);
    } else {
      CHECK(text == "taken over from set v100: " + start.source_of(parameter.name));
    }
  }
  // The set states the rows of this fit and of v100's fit, and no others.
  for (const Compared& each : result.fitted) CHECK(seen_by(again, each.cell) == Seen::Fitted);
  MeasuredCell other = result.held_out.back().cell;
  REQUIRE(other.bytes == 64U << 20);
  CHECK(seen_by(again, other) == Seen::HeldOut);
  other.bytes = 16 << 20;
  CHECK(seen_by(again, other) == Seen::Fitted);  // seen by v100's fit, although held out here
  other.collective = CollectiveKind::AllGather;
  CHECK(seen_by(again, other) == Seen::HeldOut);
  for (const FittedRows& rows : *start.fitted_to) {
    CHECK(std::any_of(again.fitted_to->begin(), again.fitted_to->end(),
                      [&](const FittedRows& each) { return each.same_rows(rows); }));
  }
  // An interval wider than a decade is marked.
  FitResult vague = result;
  vague.parameters.front().linearised = {1e-7, 1e-4};
  CHECK(fitted_set_yaml(vague, start, "made.csv")
            .find("; 95 %: 0.1us to 100us, not determined; began at 4.7us\"") != std::string::npos);
  CHECK(fit_text(vague).find("0.1us to 100us, not determined") != std::string::npos);
  // If the start does not state its fitted rows, neither does the set.
  ParameterSet silent = start;
  silent.fitted_to.reset();
  silent.sources.at("kernel_gap").clear();
  const std::string unsaid = fitted_set_yaml(result, silent, "made.csv");
  CHECK_FALSE(read_parameter_set(parse_yaml(unsaid, "set.yaml")).fitted_to);
  CHECK(unsaid.find("\"taken over from set v100: not said there\"") != std::string::npos);

  // Any number of threads, and a repeated fit, give the same bits.
  options.threads = 1;
  options.folds = 0;
  CHECK(fit(cells, options).model.canonical_text() == result.model.canonical_text());
  CHECK(parameter_of(result, "kernel_launch").start == options.start.kernel_launch_s);
}

TEST_CASE("outliers do not drag a fit", "[calibration][fit]") {
  CostModel truth = shipped_cost_model("v100");
  truth.kernel_launch_s *= 1.5;
  std::vector<MeasuredCell> cells = cells_of(truth);
  for (std::size_t i = 0; i < cells.size(); i += 7) cells[i].time_s *= 10;
  FitOptions options{.start = shipped_cost_model("v100"),
                     .parameters = {"kernel_launch", "channel_overhead"},
                     .held_out_ranks = {}};
  options.prior_factor = 100;
  const FitResult result = fit(cells, options);
  // With a sanitizer there are fewer cells, in which outliers weigh more.
  CHECK(parameter_of(result, "kernel_launch").estimate ==
        Approx(truth.kernel_launch_s).epsilon(kSanitized ? 1.0 : 0.25));
}

FitResult ended_at(const std::vector<SearchEnd>& ends) {
  FitResult result;
  result.starts = static_cast<int>(ends.size());
  result.ends = ends;
  result.best_start = 1;
  for (const char* name : {"kernel_launch", "channel_overhead"}) {
    result.parameters.push_back(
        {.name = name, .start = 1, .estimate = 1, .linearised = {.least = 0.8, .most = 1.25}});
  }
  return result;
}

TEST_CASE("starts end at the same optimum if neither objective nor estimates differ",
          "[calibration][fit]") {
  const StartsAgreement same = starts_agreement(ended_at({{2.01, {1.1, 0.9}}, {2, {1, 1}}}));
  CHECK(same.same);
  CHECK(same.worst_gap == Approx(0.005));
  CHECK(same.factor == Approx(1 / 0.9));
  CHECK(same.parameter == "channel_overhead");
  // An objective that is worse by 2 %, and an estimate that is outside of its interval.
  CHECK_FALSE(starts_agreement(ended_at({{2.04, {1, 1}}, {2, {1, 1}}})).same);
  const StartsAgreement outside = starts_agreement(ended_at({{2, {3, 1}}, {2, {1, 1}}}));
  CHECK_FALSE(outside.same);
  CHECK(outside.outside == 1);
  CHECK(outside.factor == Approx(3));
  CHECK(outside.parameter == "kernel_launch");
}

TEST_CASE("fits that make no sense are refused", "[calibration][fit]") {
  const std::vector<MeasuredCell> cells = cells_of(shipped_cost_model("v100"));
  FitOptions options{
      .start = shipped_cost_model("v100"), .parameters = {}, .held_out_ranks = {4, 8, 16}};
  CHECK(thrown([&] { return fit(cells, options); }) == "no cell is left to fit");
  options.held_out_ranks.clear();
  std::vector<MeasuredCell> refused = cells;
  for (MeasuredCell& cell : refused) cell.named = Config{.algorithm = "rign"};
  CHECK(thrown([&] {
          return fit(refused, options);
        }).starts_with("no cell is left to fit: unknown algorithm 'rign'; expected one of "));
  options.parameters = {"full_threads"};
  CHECK(thrown([&] { return fit(cells, options); }) ==
        "parameter 'full_threads' is a count or a size, which is not fitted");
  options.parameters = {"kernel_launch", "channel_overhead"};
  options.evaluations = 2;
  CHECK(thrown([&] { return fit(cells, options); }) ==
        "at most 2 evaluations for 2 parameters; expected at least 3");
  options.parameters = {"kernel_launch", "kernel_launch"};
  CHECK(thrown([&] { return fit(cells, options); }) == "parameter 'kernel_launch' is named twice");
}

}  // namespace
}  // namespace cclgym::test
