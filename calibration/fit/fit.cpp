#include "calibration/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "calibration/fit/coordinates.hpp"
#include "calibration/fit/minimise.hpp"
#include "calibration/fit/predict.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

namespace {

constexpr double kRowError = 0.15;  // error of the row to which FitOptions::prior_factor refers

class Fitter {
 public:
  Fitter(const std::vector<MeasuredCell>& cells, const FitOptions& options,
         const std::function<void(const FitProgress&)>& progress)
      : options_(options),
        progress_(progress),
        predictor_(cells, options.threads),
        coordinates_(coordinates_of(options.start, options.parameters)),
        usable_(cells.size(), true) {
    const double tau = std::log(std::max(1.001, options.prior_factor));
    prior_weight_ = kRowError * kRowError / (tau * tau);
  }

  FitResult run() {
    FitResult result;
    require_evaluations();
    predictor_.share({.place = options_.place,
                      .jobs = options_.threads,
                      .peer_timeout_s = options_.peer_timeout_s,
                      .notice = options_.notice},
                     SharedModels{.base = options_.start, .choosing = model_at(origin())});
    const std::vector<Prediction> first = predictor_.predict(model_at(origin()));
    drop_refused(first, result);
    const std::vector<bool> fitted = mask(false);
    const std::vector<bool> held_out = mask(true);
    if (std::none_of(fitted.begin(), fitted.end(), [](bool wanted) { return wanted; })) {
      throw UserError("no cell is left to fit" +
                      (result.refused.empty() ? "" : ": " + reasons_text(result.refused)));
    }
    result.before = compared(predictor_.predict(options_.start, fitted), fitted);
    drop_without_effect(fitted, result);

    // The fit itself and its folds.
    std::vector<Objective> objectives{{"fit", fitted, {}}};
    add_folds(fitted, objectives, result);
    const std::vector<Best> best = minimise_all(objectives);
    const Minimum& minimum = best.front().minimum;
    result.evaluations = minimum.evaluations;
    result.starts = options_.starts;
    result.best_start = best.front().start;
    for (const Minimum& end : best.front().ends) {
      SearchEnd& each = result.ends.emplace_back(SearchEnd{.objective = end.value});
      for (std::size_t i = 0; i < end.at.size(); ++i) {
        each.estimates.push_back(coordinates_[i].value(end.at[i]));
      }
    }
    result.model = options_.start;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      const CostParameter& parameter = *coordinates_[i].parameter;
      parameter.set(result.model,
                    rounded_parameter(parameter, coordinates_[i].value(minimum.at[i])));
    }
    intervals(minimum.at, fitted, result);
    predict_results(objectives, best, held_out, result);
    return result;
  }

 private:
  [[nodiscard]] std::vector<double> origin() const {
    return std::vector<double>(coordinates_.size(), 0.0);
  }

  [[nodiscard]] CostModel model_at(const std::vector<double>& at) const {
    CostModel model = options_.start;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      coordinates_[i].parameter->set(model, coordinates_[i].value(at[i]));
    }
    return model;
  }

  // Mask of the cells with held-out ranks or sizes, or of all others.
  [[nodiscard]] std::vector<bool> mask(bool held_out) const {
    std::vector<bool> wanted(usable_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const MeasuredCell& cell = predictor_.cells()[i];
      const bool held = options_.held_out_ranks.contains(cell.ranks) ||
                        options_.held_out_sizes.contains(cell.bytes);
      wanted[i] = wanted[i] && held == held_out;
    }
    return wanted;
  }

  // A search evaluates its start and a step of each parameter before it can descend. Parameters
  // without effect count as well: which ones these are is known only after some simulations.
  void require_evaluations() const {
    const std::size_t parameters = coordinates_.size();
    if (options_.evaluations > static_cast<int>(parameters)) return;
    throw UserError(fmt::format("at most {} evaluations for {} parameters; expected at least {}",
                                options_.evaluations, parameters, parameters + 1));
  }

  // No fitted parameter decides whether a cell can be simulated, so a cell refused at the start is
  // always refused.
  void drop_refused(const std::vector<Prediction>& predictions, FitResult& result) {
    std::map<std::string, RefusedRows> groups;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      if (predictions[i].refusal.empty()) continue;
      usable_[i] = false;
      const MeasuredCell& cell = predictor_.cells()[i];
      RefusedRows& group = groups[cell.system + predictions[i].refusal];
      group.system = cell.system;
      group.reason = predictions[i].refusal;
      group.rows += cell.rows;
    }
    for (auto& [key, group] : groups) result.refused.push_back(std::move(group));
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<Prediction>& predictions,
                                              const std::vector<bool>& wanted) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      if (!wanted[i]) continue;
      values.push_back(std::log(predictions[i].time_s / predictor_.cells()[i].time_s));
    }
    return values;
  }

  // Residuals at several points, for the same cells.
  std::vector<std::vector<double>> residuals_at(const std::vector<std::vector<double>>& points,
                                                const std::vector<bool>& wanted,
                                                const std::string& stage) {
    std::vector<PredictionRequest> requests;
    for (const std::vector<double>& at : points) requests.push_back({model_at(at), wanted});
    const auto count = static_cast<int>(requests.size());
    const auto answers = predictor_.predict(
        requests, [&](std::size_t done) { report(stage, static_cast<int>(done), count, 0); });
    std::vector<std::vector<double>> rows;
    for (const std::vector<Prediction>& answer : answers) rows.push_back(residuals(answer, wanted));
    return rows;
  }

  // A parameter that changes no cell would only drift along.
  void drop_without_effect(const std::vector<bool>& wanted, FitResult& result) {
    std::vector<bool> effect(coordinates_.size(), false);
    std::vector<double> centre;
    for (const double step : {-1.0, 1.0}) {
      std::vector<std::vector<double>> points;
      std::vector<std::size_t> moved;  // coordinates of the points
      if (centre.empty()) points.push_back(origin());
      for (std::size_t i = 0; i < coordinates_.size(); ++i) {
        if (effect[i]) continue;
        moved.push_back(i);
        points.push_back(origin());
        points.back()[i] = std::clamp(step, coordinates_[i].least(), coordinates_[i].most());
      }
      if (points.empty()) break;
      std::vector<std::vector<double>> rows = residuals_at(points, wanted, "sensitivity");
      if (centre.empty()) {
        centre = std::move(rows.front());
        rows.erase(rows.begin());
      }
      for (std::size_t i = 0; i < moved.size(); ++i) {
        for (std::size_t row = 0; row < centre.size(); ++row) {
          if (std::abs(rows[i][row] - centre[row]) > 1e-4) effect[moved[i]] = true;
        }
      }
    }
    std::vector<FitCoordinate> kept;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      if (effect[i]) {
        kept.push_back(coordinates_[i]);
      } else {
        result.without_effect.push_back(coordinates_[i].parameter->name);
      }
    }
    coordinates_ = std::move(kept);
  }

  // Cells that a minimisation fits, and cells that it leaves out for testing.
  struct Objective {
    std::string stage;
    std::vector<bool> wanted;
    std::vector<bool> left_out;
  };
  // State of a search, for the progress.
  struct Searched {
    int evaluations = 0;
    double value = 0;  // best so far
    double mean = 0;   // mean |ln| there
  };
  // The best minimum of an objective, and the start that led to it.
  struct Best {
    Minimum minimum;
    int start = 0;
    std::vector<Minimum> ends;  // by start
  };

  [[nodiscard]] std::vector<std::vector<double>> starts() const {
    std::vector<std::vector<double>> starts{origin()};
    const double spread = std::log(std::max(1.001, options_.prior_factor));
    for (int start = 1; start < options_.starts; ++start) {
      Random random = Random::stream(options_.seed, {static_cast<std::uint64_t>(start)});
      std::vector<double> at = origin();
      for (double& coordinate : at) coordinate = random.normal(0, spread);
      starts.push_back(std::move(at));
    }
    return starts;
  }

  // Minima of the objectives: on ranks side by side, otherwise one by one.
  std::vector<Best> minimise_all(const std::vector<Objective>& objectives) {
    MinimiseOptions bounds{.evaluations = options_.evaluations};
    for (const FitCoordinate& coordinate : coordinates_) {
      bounds.least.push_back(coordinate.least());
      bounds.most.push_back(coordinate.most());
    }
    const std::vector<std::vector<double>> starts_of_each = starts();
    std::vector<const Objective*> objective_of;
    std::vector<Search> searches;
    for (const Objective& objective : objectives) {
      for (const std::vector<double>& start : starts_of_each) {
        objective_of.push_back(&objective);
        searches.push_back({start, bounds});
      }
    }
    std::vector<Minimum> minima;
    const std::size_t together = options_.place != nullptr ? searches.size() : 1;
    for (std::size_t first = 0; first < searches.size(); first += together) {
      const auto begin = static_cast<std::ptrdiff_t>(first);
      const auto end = static_cast<std::ptrdiff_t>(first + together);
      const std::vector<const Objective*> theirs(objective_of.begin() + begin,
                                                 objective_of.begin() + end);
      std::vector<Searched> searched(together);
      for (Minimum& minimum : minimise_together({searches.begin() + begin, searches.begin() + end},
                                                [&](const std::vector<SearchPoint>& points) {
                                                  return evaluate(theirs, points, searched);
                                                })) {
        minima.push_back(std::move(minimum));
      }
    }
    std::vector<Best> best(objectives.size());
    for (std::size_t i = 0; i < minima.size(); ++i) {
      const std::size_t start = i % starts_of_each.size();
      Best& one = best[i / starts_of_each.size()];
      if (start == 0 || minima[i].value < one.minimum.value) {
        one.minimum = minima[i];
        one.start = static_cast<int>(start);
      }
      one.ends.push_back(std::move(minima[i]));
    }
    return best;
  }

  // Values of the objectives at points of their searches.
  std::vector<double> evaluate(const std::vector<const Objective*>& objective_of,
                               const std::vector<SearchPoint>& points,
                               std::vector<Searched>& searched) {
    std::vector<PredictionRequest> requests;
    for (const SearchPoint& point : points) {
      requests.push_back({model_at(point.at), objective_of[point.search]->wanted});
    }
    const std::vector<std::vector<Prediction>> answers = predictor_.predict(requests);
    std::vector<double> values;
    for (std::size_t i = 0; i < points.size(); ++i) {
      double value = 0;
      double mean = 0;
      const std::vector<double> rows = residuals(answers[i], requests[i].wanted);
      for (const double residual : rows) {
        value += soft_l1(residual, options_.loss_scale);
        mean += std::abs(residual) / static_cast<double>(rows.size());
      }
      for (const double coordinate : points[i].at) value += prior_weight_ * coordinate * coordinate;
      Searched& search = searched[points[i].search];
      if (search.evaluations++ == 0 || value < search.value) {
        search.value = value;
        search.mean = mean;
      }
      values.push_back(value);
    }
    // The first search that has not ended is shown.
    const std::size_t first = points.front().search;
    report(objective_of[first]->stage, searched[first].evaluations, options_.evaluations,
           searched[first].mean);
    return values;
  }

  void intervals(const std::vector<double>& at, const std::vector<bool>& wanted,
                 FitResult& result) {
    constexpr double kStep = 0.03;
    std::vector<std::vector<double>> points{at};
    for (std::size_t i = 0; i < at.size(); ++i) {
      points.push_back(at);
      points.back()[i] += at[i] + kStep > coordinates_[i].most() ? -kStep : kStep;
    }
    std::vector<std::vector<double>> rows = residuals_at(points, wanted, "intervals");
    LinearisedFit linear{.residuals = std::move(rows.front()),
                         .slopes = {},
                         .at = at,
                         .scale = options_.loss_scale,
                         .prior_weight = prior_weight_};
    linear.slopes.assign(linear.residuals.size(), std::vector<double>(at.size(), 0.0));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::vector<double>& moved = rows[i + 1];
      for (std::size_t row = 0; row < moved.size(); ++row) {
        linear.slopes[row][i] = (moved[row] - linear.residuals[row]) / (points[i + 1][i] - at[i]);
      }
    }
    const std::vector<Interval> linearised = linearised_intervals(linear);
    const std::vector<Interval> resampled =
        bootstrap_intervals(linear, options_.resamples, options_.seed);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const FitCoordinate& coordinate = coordinates_[i];
      const auto in_units = [&](const Interval& interval) {
        return Interval{coordinate.value(interval.least), coordinate.value(interval.most)};
      };
      FittedParameter fitted{.name = coordinate.parameter->name,
                             .start = coordinate.start,
                             .estimate = *coordinate.parameter->get(result.model),
                             .linearised = in_units(linearised[i])};
      if (!resampled.empty()) fitted.resampled = in_units(resampled[i]);
      result.parameters.push_back(std::move(fitted));
    }
  }

  void add_folds(const std::vector<bool>& fitted, std::vector<Objective>& objectives,
                 FitResult& result) const {
    std::set<int> counts;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (fitted[i]) counts.insert(predictor_.cells()[i].ranks);
    }
    const int folds = std::min(options_.folds, static_cast<int>(counts.size()));
    if (folds < 2) return;
    for (int fold = 0; fold < folds; ++fold) {
      Fold each;
      int place = 0;
      for (const int ranks : counts) {
        if (place++ % folds == fold) each.held_out_ranks.insert(ranks);
      }
      Objective objective{fmt::format("fold {} of {}", fold + 1, folds), fitted, fitted};
      for (std::size_t i = 0; i < fitted.size(); ++i) {
        const bool held = each.held_out_ranks.contains(predictor_.cells()[i].ranks);
        objective.wanted[i] = fitted[i] && !held;
        objective.left_out[i] = fitted[i] && held;
      }
      objectives.push_back(std::move(objective));
      result.folds.push_back(std::move(each));
    }
  }

  // Errors of the fitted set, and of the sets of the folds.
  void predict_results(const std::vector<Objective>& objectives, const std::vector<Best>& best,
                       const std::vector<bool>& held_out, FitResult& result) {
    std::vector<PredictionRequest> requests{{result.model, objectives.front().wanted},
                                            {result.model, held_out}};
    for (std::size_t i = 1; i < objectives.size(); ++i) {
      const CostModel model = model_at(best[i].minimum.at);
      requests.push_back({model, objectives[i].wanted});
      requests.push_back({model, objectives[i].left_out});
    }
    const std::vector<std::vector<Prediction>> answers = predictor_.predict(requests);
    result.fitted = compared(answers[0], requests[0].wanted);
    result.held_out = compared(answers[1], requests[1].wanted);
    for (std::size_t i = 0; i < result.folds.size(); ++i) {
      const std::size_t at = 2 * i + 2;
      result.folds[i].fitted = summary(answers[at], requests[at].wanted);
      result.folds[i].held_out = summary(answers[at + 1], requests[at + 1].wanted);
    }
  }

  [[nodiscard]] ErrorSummary summary(const std::vector<Prediction>& predictions,
                                     const std::vector<bool>& wanted) const {
    const std::vector<Compared> cells = compared(predictions, wanted);
    std::vector<const Compared*> all;
    for (const Compared& cell : cells) all.push_back(&cell);
    return summarise("", all);
  }

  [[nodiscard]] std::vector<Compared> compared(const std::vector<Prediction>& predictions,
                                               const std::vector<bool>& wanted) const {
    std::vector<Compared> cells;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      if (wanted[i]) cells.push_back({.cell = predictor_.cells()[i], .prediction = predictions[i]});
    }
    return cells;
  }

  void report(const std::string& stage, int evaluation, int evaluations, double mean) const {
    if (progress_) progress_({stage, evaluation, evaluations, mean});
  }

  const FitOptions& options_;
  const std::function<void(const FitProgress&)>& progress_;
  Predictor predictor_;
  std::vector<FitCoordinate> coordinates_;
  std::vector<bool> usable_;
  double prior_weight_ = 0;
};

}  // namespace

FitResult fit(const std::vector<MeasuredCell>& cells, const FitOptions& options,
              const std::function<void(const FitProgress&)>& progress) {
  return Fitter(cells, options, progress).run();
}

}  // namespace cclgym
