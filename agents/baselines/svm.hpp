// A support vector machine, trained like PCCL's dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/dispatchers/svm_model.hpp"

namespace cclgym {

struct SvmSample {
  SvmPoint point{};
  int label = 0;
};

/// libsvm's C-SVC with the kernel exp(-gamma |x - y|^2), one against one, on features of mean 0 and
/// variance 1. 80 % of the samples, drawn with `seed` so that each label has its share, are for
/// training, and the other 20 % for testing. C in 2^-1, 2^1, ... 2^15 and gamma in 2^-5, 2^-3, ...
/// 2^5 maximise the accuracy of a 5-fold cross-validation on the training samples, whose folds are
/// stratified as well (ties: minimum C, then minimum gamma). The same samples and seed give the
/// same classifier.
class SvmClassifier {
 public:
  /// Throws std::invalid_argument if there are no samples.
  SvmClassifier(std::span<const SvmSample> samples, std::uint64_t seed);

  [[nodiscard]] int predict(const SvmPoint& point) const { return model_.predict(point); }
  [[nodiscard]] const SvmModel& model() const { return model_; }
  /// Fraction of test samples classified correctly; 1 if there are none.
  [[nodiscard]] double test_accuracy() const { return test_accuracy_; }
  /// Accuracy of the cross-validation for the chosen C and gamma; 0 if there are fewer than 5
  /// training samples.
  [[nodiscard]] double cross_validation() const { return cross_validation_; }
  /// Indices of the test samples, ascending.
  [[nodiscard]] const std::vector<std::size_t>& held_out() const { return held_out_; }
  [[nodiscard]] double cost() const { return model_.cost; }
  [[nodiscard]] double gamma() const { return model_.gamma; }

 private:
  SvmModel model_;
  std::vector<std::size_t> held_out_;
  double test_accuracy_ = 1;
  double cross_validation_ = 0;
};

}  // namespace cclgym
