// A support vector machine, trained like PCCL's dispatcher.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kSvmFeatures = 2;  ///< message size and number of GPUs, as in PCCL
using SvmPoint = std::array<double, kSvmFeatures>;

struct SvmSample {
  SvmPoint point{};
  int label = 0;
};

/// libsvm's C-SVC with the kernel exp(-gamma |x - y|^2), one against one, on features of mean 0 and
/// variance 1. 80 % of the samples, drawn with `seed`, are for training, and the other 20 % for
/// testing. C in 2^-1, 2^1, ... 2^15 and gamma in 2^-5, 2^-3, ... 2^5 maximise the accuracy of a
/// 5-fold cross-validation on the training samples (ties: minimum C, then minimum gamma). The same
/// samples and seed give the same classifier.
class SvmClassifier {
 public:
  /// Throws std::invalid_argument if there are no samples.
  SvmClassifier(std::span<const SvmSample> samples, std::uint64_t seed);
  ~SvmClassifier();
  SvmClassifier(const SvmClassifier&) = delete;
  SvmClassifier& operator=(const SvmClassifier&) = delete;

  [[nodiscard]] int predict(const SvmPoint& point) const;
  /// Fraction of test samples classified correctly; 1 if there is a single sample.
  [[nodiscard]] double test_accuracy() const { return test_accuracy_; }
  [[nodiscard]] double cost() const { return cost_; }
  [[nodiscard]] double gamma() const { return gamma_; }

 private:
  class Model;
  SvmPoint mean_{};
  SvmPoint scale_{};
  std::unique_ptr<const Model> model_;
  double test_accuracy_ = 1;
  double cost_ = 1;
  double gamma_ = 1;
};

}  // namespace cclgym
