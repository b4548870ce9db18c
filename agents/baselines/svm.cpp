#include "agents/baselines/svm.hpp"

#include <algorithm>
#include <cmath>
#include <libsvm/svm.h>
#include <stdexcept>
#include <string>

#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kFolds = 5;

using Node = svm_node;
using Row = std::array<Node, kSvmFeatures + 1>;

Row row_of(const SvmPoint& point) {
  Row row{};
  for (std::size_t i = 0; i < kSvmFeatures; ++i) row[i] = {static_cast<int>(i) + 1, point[i]};
  row[kSvmFeatures] = {-1, 0};
  return row;
}

}  // namespace

// A libsvm model together with the samples to which it points.
class SvmClassifier::Model {
 public:
  Model(std::span<const SvmSample> samples, double cost, double gamma) {
    for (const SvmSample& sample : samples) {
      rows_.push_back(row_of(sample.point));
      labels_.push_back(sample.label);
    }
    for (Row& row : rows_) pointers_.push_back(row.data());
    svm_problem problem{};
    problem.l = static_cast<int>(rows_.size());
    problem.y = labels_.data();
    problem.x = pointers_.data();
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
    model_ = svm_train(&problem, &parameter);
  }
  ~Model() { svm_free_and_destroy_model(&model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] int predict(const SvmPoint& point) const {
    const Row row = row_of(point);
    return static_cast<int>(std::lround(svm_predict(model_, row.data())));
  }
  [[nodiscard]] double accuracy(std::span<const SvmSample> samples) const {
    if (samples.empty()) return 1;
    const auto right = std::ranges::count_if(
        samples, [&](const SvmSample& sample) { return predict(sample.point) == sample.label; });
    return static_cast<double>(right) / static_cast<double>(samples.size());
  }

 private:
  std::vector<Row> rows_;
  std::vector<Node*> pointers_;
  std::vector<double> labels_;
  svm_model* model_ = nullptr;
};

SvmClassifier::SvmClassifier(std::span<const SvmSample> samples, std::uint64_t seed) {
  if (samples.empty()) throw std::invalid_argument("SvmClassifier: no samples");
  std::vector<SvmSample> shuffled(samples.begin(), samples.end());
  Random random(seed);
  for (std::size_t i = shuffled.size(); i-- > 1;) {
    std::swap(shuffled[i],
              shuffled[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
  }
  const std::size_t training = shuffled.size() - shuffled.size() / 5;

  const double count = static_cast<double>(training);
  for (std::size_t i = 0; i < kSvmFeatures; ++i) {
    double sum = 0;
    double squares = 0;
    for (std::size_t s = 0; s < training; ++s) sum += shuffled[s].point[i];
    mean_[i] = sum / count;
    for (std::size_t s = 0; s < training; ++s) {
      squares += (shuffled[s].point[i] - mean_[i]) * (shuffled[s].point[i] - mean_[i]);
    }
    scale_[i] = squares > 0 ? 1 / std::sqrt(squares / count) : 1;
  }
  for (SvmSample& sample : shuffled) {
    for (std::size_t i = 0; i < kSvmFeatures; ++i) {
      sample.point[i] = (sample.point[i] - mean_[i]) * scale_[i];
    }
  }
  const std::span<const SvmSample> all(shuffled);
  const std::span<const SvmSample> train = all.first(training);

  // Fold f holds out every fifth sample, beginning with sample f.
  double best = -1;
  for (int c = -1; c <= 15 && training >= kFolds; c += 2) {
    for (int g = -5; g <= 5; g += 2) {
      double accuracy = 0;
      for (std::size_t fold = 0; fold < kFolds; ++fold) {
        std::vector<SvmSample> kept;
        std::vector<SvmSample> held_out;
        for (std::size_t s = 0; s < training; ++s) {
          (s % kFolds == fold ? held_out : kept).push_back(train[s]);
        }
        accuracy += Model(kept, std::ldexp(1.0, c), std::ldexp(1.0, g)).accuracy(held_out);
      }
      if (accuracy > best + 1e-12) {
        best = accuracy;
        cost_ = std::ldexp(1.0, c);
        gamma_ = std::ldexp(1.0, g);
      }
    }
  }
  model_ = std::make_unique<const Model>(train, cost_, gamma_);
  test_accuracy_ = model_->accuracy(all.subspan(training));
}

SvmClassifier::~SvmClassifier() = default;

int SvmClassifier::predict(const SvmPoint& point) const {
  SvmPoint scaled{};
  for (std::size_t i = 0; i < kSvmFeatures; ++i) scaled[i] = (point[i] - mean_[i]) * scale_[i];
  return model_->predict(scaled);
}

}  // namespace cclgym
