#include "calibration/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "calibration/fit/minimise.hpp"
#include "calibration/fit/predict.hpp"
#include "core/error.hpp"
#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

namespace {

constexpr double kRowError = 0.15;  // error of the row to which FitOptions::prior_factor refers

// A fitted parameter; the coordinate is the logarithm of its ratio to the start.
struct Coordinate {
  const CostParameter* parameter = nullptr;
  double start = 0;

  [[nodiscard]] double value(double at) const {
    return std::clamp(start * std::exp(at), parameter->fit->min, parameter->fit->max);
  }
  [[nodiscard]] double least() const { return std::log(parameter->fit->min / start); }
  [[nodiscard]] double most() const { return std::log(parameter->fit->max / start); }
};

std::vector<Coordinate> coordinates_of(const FitOptions& options) {
  std::vector<const CostParameter*> wanted;
  for (const std::string& name : options.parameters) {
    const CostParameter& parameter = cost_parameter(name);
    if (!parameter.fit) {
      throw UserError(
          fmt::format("parameter '{}' is a count or a size, which is not fitted", name));
    }
    if (std::find(wanted.begin(), wanted.end(), &parameter) != wanted.end()) {
      throw UserError(fmt::format("parameter '{}' is named twice", name));
    }
    wanted.push_back(&parameter);
  }
  if (options.parameters.empty()) {
    for (const CostParameter& parameter : cost_parameters()) {
      if (parameter.fit && parameter.fit->by_default) wanted.push_back(&parameter);
    }
  }
  std::vector<Coordinate> coordinates;
  for (const CostParameter* parameter : wanted) {
    const double start = parameter->get(options.start).value_or(0);
    coordinates.push_back({parameter, std::clamp(start > 0 ? start : parameter->fit->start,
                                                 parameter->fit->min, parameter->fit->max)});
  }
  return coordinates;
}

class Fitter {
 public:
  Fitter(const std::vector<MeasuredCell>& cells, const FitOptions& options,
         const std::function<void(const FitProgress&)>& progress)
      : options_(options),
        progress_(progress),
        predictor_(cells, options.threads),
        coordinates_(coordinates_of(options)),
        usable_(cells.size(), true) {
    const double tau = std::log(std::max(1.001, options.prior_factor));
    prior_weight_ = kRowError * kRowError / (tau * tau);
  }

  FitResult run() {
    FitResult result;
    const std::vector<Prediction> first = predictor_.predict(model_at(origin()));
    drop_refused(first, result);
    const std::vector<bool> fitted = mask(false);
    const std::vector<bool> held_out = mask(true);
    if (std::none_of(fitted.begin(), fitted.end(), [](bool wanted) { return wanted; })) {
      throw UserError("no cell is left to fit");
    }
    result.before = compared(predictor_.predict(options_.start, fitted), fitted);
    drop_without_effect(fitted, result);

    const Minimum minimum = minimise_over(fitted, "fit");
    result.evaluations = minimum.evaluations;
    result.model = options_.start;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      const CostParameter& parameter = *coordinates_[i].parameter;
      parameter.set(result.model,
                    rounded_parameter(parameter, coordinates_[i].value(minimum.at[i])));
    }
    intervals(minimum.at, fitted, result);
    result.fitted = compared(predictor_.predict(result.model, fitted), fitted);
    result.held_out = compared(predictor_.predict(result.model, held_out), held_out);
    run_folds(fitted, result);
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

  std::vector<double> residuals_at(const std::vector<double>& at, const std::vector<bool>& wanted) {
    return residuals(predictor_.predict(model_at(at), wanted), wanted);
  }

  // A parameter that changes no cell would only drift along.
  void drop_without_effect(const std::vector<bool>& wanted, FitResult& result) {
    const std::vector<double> centre = residuals_at(origin(), wanted);
    std::vector<Coordinate> kept;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      report("sensitivity", static_cast<int>(i) + 1, static_cast<int>(coordinates_.size()), 0);
      bool effect = false;
      for (const double step : {-1.0, 1.0}) {
        std::vector<double> at = origin();
        at[i] = std::clamp(step, coordinates_[i].least(), coordinates_[i].most());
        const std::vector<double> moved = residuals_at(at, wanted);
        for (std::size_t row = 0; row < moved.size(); ++row) {
          effect = effect || std::abs(moved[row] - centre[row]) > 1e-4;
        }
        if (effect) break;
      }
      if (effect) {
        kept.push_back(coordinates_[i]);
      } else {
        result.without_effect.push_back(coordinates_[i].parameter->name);
      }
    }
    coordinates_ = std::move(kept);
  }

  Minimum minimise_over(const std::vector<bool>& wanted, const std::string& stage) {
    MinimiseOptions bounds{.evaluations = options_.evaluations};
    for (const Coordinate& coordinate : coordinates_) {
      bounds.least.push_back(coordinate.least());
      bounds.most.push_back(coordinate.most());
    }
    if (options_.evaluations <= static_cast<int>(coordinates_.size())) {
      throw UserError(fmt::format("at most {} evaluations for {} parameters; expected at least {}",
                                  options_.evaluations, coordinates_.size(),
                                  coordinates_.size() + 1));
    }
    int evaluation = 0;
    double best = 0;
    double best_mean = 0;
    return minimise(
        [&](const std::vector<double>& at) {
          double value = 0;
          double mean = 0;
          const std::vector<double> rows = residuals_at(at, wanted);
          for (const double residual : rows) {
            value += soft_l1(residual, options_.loss_scale);
            mean += std::abs(residual) / static_cast<double>(rows.size());
          }
          for (const double coordinate : at) value += prior_weight_ * coordinate * coordinate;
          if (evaluation++ == 0 || value < best) {
            best = value;
            best_mean = mean;
          }
          report(stage, evaluation, options_.evaluations, best_mean);
          return value;
        },
        origin(), bounds);
  }

  void intervals(const std::vector<double>& at, const std::vector<bool>& wanted,
                 FitResult& result) {
    constexpr double kStep = 0.03;
    LinearisedFit linear{.residuals = residuals_at(at, wanted),
                         .slopes = {},
                         .at = at,
                         .scale = options_.loss_scale,
                         .prior_weight = prior_weight_};
    linear.slopes.assign(linear.residuals.size(), std::vector<double>(at.size(), 0.0));
    for (std::size_t i = 0; i < at.size(); ++i) {
      report("intervals", static_cast<int>(i) + 1, static_cast<int>(at.size()), 0);
      std::vector<double> moved = at;
      moved[i] += at[i] + kStep > coordinates_[i].most() ? -kStep : kStep;
      const std::vector<double> rows = residuals_at(moved, wanted);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        linear.slopes[row][i] = (rows[row] - linear.residuals[row]) / (moved[i] - at[i]);
      }
    }
    const std::vector<Interval> linearised = linearised_intervals(linear);
    const std::vector<Interval> resampled =
        bootstrap_intervals(linear, options_.resamples, options_.seed);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Coordinate& coordinate = coordinates_[i];
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

  void run_folds(const std::vector<bool>& fitted, FitResult& result) {
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
      std::vector<bool> inside = fitted;
      std::vector<bool> outside = fitted;
      for (std::size_t i = 0; i < fitted.size(); ++i) {
        const bool held = each.held_out_ranks.contains(predictor_.cells()[i].ranks);
        inside[i] = fitted[i] && !held;
        outside[i] = fitted[i] && held;
      }
      const Minimum minimum = minimise_over(inside, fmt::format("fold {} of {}", fold + 1, folds));
      const CostModel model = model_at(minimum.at);
      each.fitted = summary(model, inside);
      each.held_out = summary(model, outside);
      result.folds.push_back(std::move(each));
    }
  }

  ErrorSummary summary(const CostModel& model, const std::vector<bool>& wanted) {
    const std::vector<Compared> cells = compared(predictor_.predict(model, wanted), wanted);
    std::vector<const Compared*> all;
    for (const Compared& cell : cells) all.push_back(&cell);
    return summarise("", all);
  }

  [[nodiscard]] std::vector<Compared> compared(const std::vector<Prediction>& predictions,
                                               const std::vector<bool>& wanted) const {
    std::vector<Compared> cells;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      if (wanted[i]) cells.push_back({predictor_.cells()[i], predictions[i]});
    }
    return cells;
  }

  void report(const std::string& stage, int evaluation, int evaluations, double mean) const {
    if (progress_) progress_({stage, evaluation, evaluations, mean});
  }

  const FitOptions& options_;
  const std::function<void(const FitProgress&)>& progress_;
  Predictor predictor_;
  std::vector<Coordinate> coordinates_;
  std::vector<bool> usable_;
  double prior_weight_ = 0;
};

}  // namespace

FitResult fit(const std::vector<MeasuredCell>& cells, const FitOptions& options,
              const std::function<void(const FitProgress&)>& progress) {
  return Fitter(cells, options, progress).run();
}

}  // namespace cclgym
