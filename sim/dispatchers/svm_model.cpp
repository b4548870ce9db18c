#include "sim/dispatchers/svm_model.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/random.hpp"

namespace cclgym {

int SvmModel::predict(const SvmPoint& point) const {
  if (classes.empty()) throw std::logic_error("SvmModel: no classes");
  SvmPoint scaled{};
  for (std::size_t i = 0; i < kSvmFeatures; ++i) scaled[i] = (point[i] - mean[i]) * scale[i];
  std::vector<double> kernel;
  for (const SvmPoint& vector : vectors) {
    double squares = 0;
    for (std::size_t i = 0; i < kSvmFeatures; ++i) {
      squares += (scaled[i] - vector[i]) * (scaled[i] - vector[i]);
    }
    kernel.push_back(portable_exp(-gamma * squares));
  }
  std::vector<std::size_t> begin(classes.size() + 1, 0);
  std::partial_sum(class_sizes.begin(), class_sizes.end(), begin.begin() + 1);
  std::vector<int> votes(classes.size(), 0);
  std::size_t pair = 0;
  for (std::size_t a = 0; a < classes.size(); ++a) {
    for (std::size_t b = a + 1; b < classes.size(); ++b, ++pair) {
      double sum = -offsets[pair];
      for (std::size_t v = begin[a]; v < begin[a + 1]; ++v) {
        sum += coefficients[v][b - 1] * kernel[v];
      }
      for (std::size_t v = begin[b]; v < begin[b + 1]; ++v) sum += coefficients[v][a] * kernel[v];
      ++votes[sum > 0 ? a : b];
    }
  }
  return classes[static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin())];
}

bool is_consistent(const SvmModel& model) {
  const std::size_t classes = model.classes.size();
  const std::size_t sum =
      std::accumulate(model.class_sizes.begin(), model.class_sizes.end(), std::size_t{0});
  return classes > 0 && model.class_sizes.size() == classes && model.vectors.size() == sum &&
         model.coefficients.size() == sum && model.offsets.size() == classes * (classes - 1) / 2 &&
         std::ranges::all_of(model.coefficients, [&](const std::vector<double>& row) {
           return row.size() == classes - 1;
         });
}

}  // namespace cclgym
