#include "agents/baselines/svm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <libsvm/svm.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kFolds = 5;

using Row = std::array<svm_node, kSvmFeatures + 1>;

Row row_of(const SvmPoint& point) {
  Row row{};
  for (std::size_t i = 0; i < kSvmFeatures; ++i) row[i] = {static_cast<int>(i) + 1, point[i]};
  row[kSvmFeatures] = {-1, 0};
  return row;
}

void free_model(svm_model* model) { svm_free_and_destroy_model(&model); }

// Trains on scaled samples.
SvmModel trained(std::span<const SvmSample> samples, double cost, double gamma) {
  std::vector<Row> rows;
  std::vector<double> labels;
  std::vector<svm_node*> pointers;
  for (const SvmSample& sample : samples) {
    rows.push_back(row_of(sample.point));
    labels.push_back(sample.label);
  }
  for (Row& row : rows) pointers.push_back(row.data());
  svm_problem problem{};
  problem.l = static_cast<int>(rows.size());
  problem.y = labels.data();
  problem.x = pointers.data();
  svm_parameter parameter{};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = RBF;
  parameter.C = cost;
  parameter.gamma = gamma;
  parameter.cache_size = 16;  // MB
  parameter.eps = 1e-3;
  parameter.shrinking = 1;
  if (const char* fault = svm_check_parameter(&problem, &parameter)) {
    throw std::logic_error("SvmClassifier: " + std::string(fault));
  }
  // Suppresses libsvm's progress output on stdout.
  svm_set_print_string_function([](const char* /*text*/) {});
  const std::unique_ptr<svm_model, void (*)(svm_model*)> found(svm_train(&problem, &parameter),
                                                               free_model);
  SvmModel model{.cost = cost, .gamma = gamma};
  const auto classes = static_cast<std::size_t>(found->nr_class);
  const auto vectors = static_cast<std::size_t>(found->l);
  for (std::size_t c = 0; c < classes; ++c) {
    model.classes.push_back(found->label[c]);
    model.class_sizes.push_back(static_cast<std::size_t>(found->nSV[c]));
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    model.vectors.push_back({found->SV[v][0].value, found->SV[v][1].value});
    std::vector<double>& coefficients = model.coefficients.emplace_back();
    for (std::size_t c = 0; c + 1 < classes; ++c) coefficients.push_back(found->sv_coef[c][v]);
  }
  for (std::size_t pair = 0; pair < classes * (classes - 1) / 2; ++pair) {
    model.offsets.push_back(found->rho[pair]);
  }
  return model;
}

std::size_t right_ones(const SvmModel& model, std::span<const SvmSample> samples) {
  return static_cast<std::size_t>(std::ranges::count_if(samples, [&](const SvmSample& sample) {
    return model.predict(sample.point) == sample.label;
  }));
}

// The samples by label, in a random order within each. Every fifth of them is then a stratified
// fifth of all.
std::vector<std::size_t> stratified_order(std::span<const SvmSample> samples, std::uint64_t seed) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i],
              order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return samples[i].label; });
  return order;
}

// Mean and inverse standard deviation of each feature.
void fit_scale(std::span<const SvmSample> samples, SvmModel& model) {
  const double count = static_cast<double>(samples.size());
  for (std::size_t i = 0; i < kSvmFeatures; ++i) {
    double sum = 0;
    double squares = 0;
    for (const SvmSample& sample : samples) sum += sample.point[i];
    const double mean = sum / count;
    for (const SvmSample& sample : samples) {
      squares += (sample.point[i] - mean) * (sample.point[i] - mean);
    }
    model.mean[i] = mean;
    model.scale[i] = squares > 0 ? 1 / std::sqrt(squares / count) : 1;
  }
}

// Correct predictions of a 5-fold cross-validation; fold f holds out every fifth sample, beginning
// with sample f.
std::size_t cross_validate(std::span<const SvmSample> train, double cost, double gamma) {
  std::size_t right = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<SvmSample> kept;
    std::vector<SvmSample> held_out;
    for (std::size_t s = 0; s < train.size(); ++s) {
      (s % kFolds == fold ? held_out : kept).push_back(train[s]);
    }
    right += right_ones(trained(kept, cost, gamma), held_out);
  }
  return right;
}

}  // namespace

SvmClassifier::SvmClassifier(std::span<const SvmSample> samples, std::uint64_t seed) {
  if (samples.empty()) throw std::invalid_argument("SvmClassifier: no samples");
  std::vector<SvmSample> train;
  std::vector<SvmSample> test;
  std::size_t place = 0;
  for (const std::size_t sample : stratified_order(samples, seed)) {
    const bool held_out = ++place % kFolds == 0;
    (held_out ? test : train).push_back(samples[sample]);
    if (held_out) held_out_.push_back(sample);
  }
  std::ranges::sort(held_out_);

  SvmModel scaling;
  fit_scale(train, scaling);
  for (SvmSample& sample : train) {
    for (std::size_t i = 0; i < kSvmFeatures; ++i) {
      sample.point[i] = (sample.point[i] - scaling.mean[i]) * scaling.scale[i];
    }
  }
  double cost = 1;
  double gamma = 1;
  std::size_t best = 0;
  bool any = false;
  for (int c = -1; c <= 15 && train.size() >= kFolds; c += 2) {
    for (int g = -5; g <= 5; g += 2) {
      const std::size_t right = cross_validate(train, std::ldexp(1.0, c), std::ldexp(1.0, g));
      if (any && right <= best) continue;
      any = true;
      best = right;
      cost = std::ldexp(1.0, c);
      gamma = std::ldexp(1.0, g);
    }
  }
  if (any) cross_validation_ = static_cast<double>(best) / static_cast<double>(train.size());
  model_ = trained(train, cost, gamma);
  model_.mean = scaling.mean;
  model_.scale = scaling.scale;
  if (!test.empty()) {
    test_accuracy_ =
        static_cast<double>(right_ones(model_, test)) / static_cast<double>(test.size());
  }
}

}  // namespace cclgym
