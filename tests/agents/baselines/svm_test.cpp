// Tests of the support vector machine on separable samples.
#include "agents/baselines/svm.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

namespace cclgym {
namespace {

TEST_CASE("three classes by size, shifted by the number of ranks, are learned", "[agents][svm]") {
  const auto label = [](double size, double ranks) {
    return size < 14 + ranks ? 0 : size < 22 + ranks ? 1 : 2;
  };
  std::vector<SvmSample> samples;
  for (double size = 10; size <= 30; size += 0.5) {
    for (double ranks = 3; ranks <= 7; ++ranks) {
      samples.push_back({{size, ranks}, label(size, ranks)});
    }
  }
  const SvmClassifier svm(samples, 1);
  CHECK(svm.test_accuracy() > 0.93);
  int wrong = 0;
  for (double size = 10.25; size < 30; size += 0.5) {
    // Points near a border may be classified either way.
    const double border = std::min(std::abs(size - 19), std::abs(size - 27));
    if (border > 0.5 && svm.predict({size, 5}) != label(size, 5)) ++wrong;
  }
  CHECK(wrong == 0);
  // The same samples and seed give the same classifier.
  const SvmClassifier again(samples, 1);
  CHECK(again.cost() == svm.cost());
  CHECK(again.gamma() == svm.gamma());
  for (double size = 10; size < 30; size += 0.1) {
    CHECK(again.predict({size, 4}) == svm.predict({size, 4}));
  }
}

TEST_CASE("a ring around a disc needs the kernel", "[agents][svm]") {
  std::vector<SvmSample> samples;
  for (int x = -6; x <= 6; ++x) {
    for (int y = -6; y <= 6; ++y)
      samples.push_back({{x * 1.0, y * 1.0}, x * x + y * y < 17 ? 4 : 9});
  }
  const SvmClassifier svm(samples, 7);
  CHECK(svm.test_accuracy() > 0.9);
  CHECK(svm.predict({0, 0}) == 4);
  for (const double away : {-6.0, 6.0}) {
    CHECK(svm.predict({away, 0}) == 9);
    CHECK(svm.predict({0, away}) == 9);
  }
}

TEST_CASE("the split has a fifth of every class, whatever their order", "[agents][svm]") {
  std::vector<SvmSample> samples;
  for (int i = 0; i < 50; ++i) samples.push_back({{i * 1.0, i % 7 * 1.0}, i < 10 ? 3 : 8});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const SvmClassifier svm(samples, seed);
    const auto rare =
        std::ranges::count_if(svm.held_out(), [&](std::size_t i) { return samples[i].label == 3; });
    CHECK(svm.held_out().size() == 10);
    CHECK(rare == 2);
    CHECK(svm.cross_validation() > 0.8);
  }
}

TEST_CASE("one class, few samples and one constant feature are accepted", "[agents][svm]") {
  const SvmClassifier one(std::vector<SvmSample>{{{10, 3}, 5}}, 1);
  CHECK(one.predict({30, 3}) == 5);
  std::vector<SvmSample> samples;
  for (int size = 10; size < 20; ++size) samples.push_back({{size * 1.0, 3}, size < 15 ? 0 : 1});
  const SvmClassifier constant(samples, 1);
  CHECK(constant.predict({10, 3}) == 0);
  CHECK(constant.predict({19, 3}) == 1);
  CHECK_THROWS_AS(SvmClassifier({}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace cclgym
