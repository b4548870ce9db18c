// The decision of a support vector machine with a radial kernel, as a plain set of numbers.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kSvmFeatures = 2;  ///< message size and number of GPUs, as in PCCL
using SvmPoint = std::array<double, kSvmFeatures>;

/// One against one on scaled features x = (feature - mean) * scale, with the kernel exp(-gamma
/// |x - y|^2). The arrangement of coefficients is libsvm's (sv_coef and rho): vectors are grouped
/// by class, and a vector has a coefficient for each of the other classes.
struct SvmModel {
  SvmPoint mean{};
  SvmPoint scale{1, 1};
  double cost = 1;  ///< C of the training
  double gamma = 1;
  std::vector<int> classes{};                       ///< labels
  std::vector<std::size_t> class_sizes{};           ///< vectors of each class
  std::vector<SvmPoint> vectors{};                  ///< scaled
  std::vector<std::vector<double>> coefficients{};  ///< by vector: classes - 1 numbers
  std::vector<double> offsets{};  ///< by pair of classes (0,1), (0,2), …, (1,2), …

  /// Label of the class with the maximum number of votes; among equals, the first class. The same
  /// bits on every machine. Throws std::logic_error if there are no classes.
  [[nodiscard]] int predict(const SvmPoint& point) const;
  friend bool operator==(const SvmModel&, const SvmModel&) = default;
};

/// True if the sizes of the lists agree with each other.
[[nodiscard]] bool is_consistent(const SvmModel& model);

}  // namespace cclgym
