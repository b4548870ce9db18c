// Thins tests that run over thousands of combinations. `ctest -L thorough` runs them over all
// combinations; every other run, such as the one after a small change or with a sanitizer, takes a
// sample.
#pragma once

#include <cstdlib>

#include "core/hash.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

/// True if the environment has CCLGYM_THOROUGH, which CTest sets for the tests with the label
/// "thorough". Test cases that depend on it are tagged [thorough].
inline bool thorough() { return std::getenv("CCLGYM_THOROUGH") != nullptr; }

/// A sample of the combinations of a loop, which is the same in every run.
class Sample {
 public:
  /// Takes about one of `share` combinations, a third of these with a sanitizer; all if thorough().
  explicit Sample(std::uint64_t share) : share_(thorough() ? 1 : kSanitized ? 3 * share : share) {}

  /// True if the loop's next combination is not in the sample.
  bool skips() { return splitmix64_finaliser(++count_) % share_ != 0; }

  /// `count`, which all combinations reach, scaled to the sample, with some room for luck.
  [[nodiscard]] int scaled(int count) const {
    return share_ == 1 ? count : count / static_cast<int>(2 * share_);
  }

 private:
  std::uint64_t share_;
  std::uint64_t count_ = 0;
};

}  // namespace cclgym::test
