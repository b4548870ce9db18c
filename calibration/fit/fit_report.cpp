// Output of a fit: its tables, and its parameter set with sources.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "calibration/fit/fit.hpp"
#include "core/counted.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_writer.hpp"
#include "cost_models/parameters/value_source.hpp"

namespace cclgym {

namespace {

ErrorSummary summary_of(std::string group, const std::vector<Compared>& cells) {
  std::vector<const Compared*> all;
  for (const Compared& cell : cells) all.push_back(&cell);
  return summarise(std::move(group), all);
}

std::string interval_text(const CostParameter& parameter, const Interval& interval) {
  return fmt::format("{} to {}", parameter_text(parameter, interval.least),
                     parameter_text(parameter, interval.most));
}

// The numbers as a list: "4, 8, 32".
std::string ranks_text(const std::set<int>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ", "));
}

// The numbers of ranks that only held-out cells have, "64, 128 ranks". Without any, the held-out
// sizes.
std::string held_out_text(const FitResult& result) {
  std::set<int> ranks;
  for (const Compared& each : result.held_out) ranks.insert(each.cell.ranks);
  for (const Compared& each : result.fitted) ranks.erase(each.cell.ranks);
  if (!ranks.empty()) return fmt::format("{} ranks", ranks_text(ranks));
  std::set<std::uint64_t> sizes;
  for (const Compared& each : result.held_out) sizes.insert(each.cell.bytes);
  return sizes_text(sizes);
}

std::set<int> ranks_of(const std::vector<Compared>& cells) {
  std::set<int> ranks;
  for (const Compared& each : cells) ranks.insert(each.cell.ranks);
  return ranks;
}

std::string starts_text(const FitResult& result) {
  const StartsAgreement agreement = starts_agreement(result);
  std::string text =
      fmt::format("\nthe best of {} starts: number {}\n", result.starts, result.best_start + 1);
  text += fmt::format("objective by start: {:.4g}\n", fmt::join(
                                                          [&] {
                                                            std::vector<double> values;
                                                            for (const SearchEnd& end : result.ends)
                                                              values.push_back(end.objective);
                                                            return values;
                                                          }(),
                                                          ", "));
  return text + fmt::format(
                    "the starts {} at the same optimum: objectives up to {:.1f} % above the "
                    "best, {} differs by a factor of {:.2f}, {} outside of {} 95 % interval\n",
                    agreement.same ? "end" : "do not end", 100 * agreement.worst_gap,
                    agreement.parameter, agreement.factor,
                    counted(static_cast<std::size_t>(agreement.outside), "parameter"),
                    agreement.outside == 1 ? "its" : "their");
}

}  // namespace

StartsAgreement starts_agreement(const FitResult& result) {
  constexpr double kSameObjective = 0.01;
  StartsAgreement agreement;
  if (result.ends.empty()) return agreement;
  const SearchEnd& best = result.ends.at(static_cast<std::size_t>(result.best_start));
  std::set<std::size_t> outside;
  for (const SearchEnd& end : result.ends) {
    const double gap = end.objective / std::max(best.objective, 1e-12) - 1;
    agreement.worst_gap = std::max(agreement.worst_gap, gap);
    for (std::size_t i = 0; i < end.estimates.size(); ++i) {
      const double ratio = std::exp(std::abs(std::log(end.estimates[i] / best.estimates[i])));
      const FittedParameter& parameter = result.parameters.at(i);
      if (ratio > agreement.factor || agreement.parameter.empty()) {
        agreement.factor = std::max(ratio, agreement.factor);
        agreement.parameter = parameter.name;
      }
      if (end.estimates[i] < parameter.linearised.least ||
          end.estimates[i] > parameter.linearised.most) {
        outside.insert(i);
      }
    }
  }
  agreement.outside = static_cast<int>(outside.size());
  agreement.same = agreement.worst_gap <= kSameObjective && outside.empty();
  return agreement;
}

std::string fit_text(const FitResult& result) {
  std::vector<Column> columns{{.heading = "parameter", .left = true},
                              {.heading = "start"},
                              {.heading = "estimate"},
                              {.heading = "95 %, rows and prior"},
                              {.heading = "95 %, resampled rows"}};
  for (const FittedParameter& fitted : result.parameters) {
    const CostParameter& parameter = cost_parameter(fitted.name);
    const std::vector<std::string> texts{
        fitted.name, parameter_text(parameter, fitted.start),
        parameter_text(parameter, fitted.estimate),
        interval_source(parameter, fitted.linearised.least, fitted.linearised.most),
        fitted.resampled.most > 0 ? interval_text(parameter, fitted.resampled) : "-"};
    for (std::size_t i = 0; i < texts.size(); ++i) columns[i].cells.push_back(texts[i]);
  }
  std::string text = format_columns(columns);
  if (!result.without_effect.empty()) {
    text += fmt::format("\nwithout effect on these rows, left as they were: {}\n",
                        fmt::join(result.without_effect, ", "));
  }
  if (result.starts > 1) text += starts_text(result);
  for (const RefusedRows& refused : result.refused) {
    text += fmt::format("\n{} of {} cannot be simulated: {}\n", counted(refused.rows, "row"),
                        refused.system, refused.reason);
  }
  std::vector<ErrorSummary> all{summary_of("before", result.before),
                                summary_of("fitted", result.fitted)};
  if (!result.held_out.empty()) {
    all.push_back(summary_of(fmt::format("held out: {}", held_out_text(result)), result.held_out));
  }
  text += "\n" + error_table_text("error", all);
  text += "\n" + error_table_text("system", by_system(result.fitted));
  text += "\n" + error_table_text("collective", by_collective(result.fitted));
  text += "\n" + error_table_text("size", by_size_decade(result.fitted));
  text += "\n" + error_table_text("ranks", by_ranks(result.fitted));
  if (!result.held_out.empty()) {
    text += "\n" + error_table_text("held out", by_ranks(result.held_out));
    text += "\n" + error_table_text("held out", by_size_decade(result.held_out));
  }
  if (!result.folds.empty()) {
    std::vector<ErrorSummary> folds;
    double inside = 0;
    double outside = 0;
    for (const Fold& fold : result.folds) {
      folds.push_back(fold.held_out);
      folds.back().group =
          fmt::format("without {} ranks, on those", ranks_text(fold.held_out_ranks));
      inside += fold.fitted.mean * fold.fitted.cells;
      outside += fold.held_out.mean * fold.held_out.cells;
    }
    text += "\n" + error_table_text("fold", folds);
    int cells = 0;
    int fitted = 0;
    for (const Fold& fold : result.folds) {
      cells += fold.held_out.cells;
      fitted += fold.fitted.cells;
    }
    text += fmt::format("mean |ln| of all folds: {:.3f} held out, {:.3f} fitted ({:.2f} times)\n",
                        outside / cells, inside / fitted, outside / cells / (inside / fitted));
  }
  return text;
}

std::string fitted_set_yaml(const FitResult& result, const ParameterSet& start,
                            const std::string& measured) {
  const ErrorSummary fitted = summary_of("", result.fitted);
  std::set<std::string> systems;
  std::set<std::string> sources;
  for (const Compared& each : result.fitted) {
    systems.insert(each.cell.system);
    sources.insert(each.cell.sources.begin(), each.cell.sources.end());
  }
  const std::string data =
      fmt::format("{} rows of {}{} on {} ranks", fitted.rows, fmt::join(systems, ", "),
                  sources.empty() ? "" : fmt::format(" ({})", fmt::join(sources, ", ")),
                  ranks_text(ranks_of(result.fitted)));
  std::string comment = fmt::format(
      "Fitted by cclgym fit to {} in {}.\nMean |ln(simulated / measured)| {:.3f} over {} cells, "
      "median {:.3f}, 90 % within {:.3f}.\n",
      data, measured, fitted.mean, fitted.cells, fitted.median, fitted.p90);
  if (!result.held_out.empty()) {
    const ErrorSummary held_out = summary_of("", result.held_out);
    comment += fmt::format("Held out, on {}: {:.3f} over {} cells.\n", held_out_text(result),
                           held_out.mean, held_out.cells);
  }
  ParameterSet set{.model = result.model, .library = start.library};
  for (const CostParameter& parameter : cost_parameters()) {
    set.sources[parameter.name] =
        taken_over_source(start.model.name, start.source_of(parameter.name));
  }
  const std::string rows = fmt::format("{}, mean |ln| {:.3f}", data, fitted.mean);
  for (const FittedParameter& each : result.parameters) {
    const CostParameter& parameter = cost_parameter(each.name);
    set.sources[each.name] =
        fitted_source(parameter, rows, each.linearised.least, each.linearised.most,
                      fmt::format("began at {}", parameter_text(parameter, each.start)));
  }
  std::vector<const MeasuredCell*> cells;
  for (const Compared& each : result.fitted) cells.push_back(&each.cell);
  // If the start does not state its fitted rows, neither does the new set.
  if (start.fitted_to) set.fitted_to = fitted_rows_of(cells, *start.fitted_to);
  return to_yaml(set, comment);
}

}  // namespace cclgym
