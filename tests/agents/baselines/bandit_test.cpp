// Tests of UCB1.
#include "agents/baselines/bandit.hpp"

#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

TEST_CASE("UCB1 tries each arm once, then finds the best of ten", "[agents][bandit]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Ucb1 bandit(10);
    for (int pull = 0; pull < 5000; ++pull) {
      const std::size_t arm = bandit.choose();
      if (pull < 10) REQUIRE(arm == static_cast<std::size_t>(pull));
      // Arm 6 costs 0.3 less than the next best, with noise of the same size.
      const double mean = arm == 6 ? 1.0 : 1.3 + 0.1 * static_cast<double>(arm);
      bandit.learn(arm, random.normal(mean, 0.3));
    }
    CHECK(bandit.best() == 6);
    // Regret is logarithmic, so the best arm gets most of the pulls.
    CHECK(bandit.pulls(6) > 3000);
    std::size_t all = 0;
    for (std::size_t arm = 0; arm < 10; ++arm) {
      all += bandit.pulls(arm);
      CHECK(bandit.pulls(arm) >= 2);
    }
    CHECK(all == 5000);
  }
}

TEST_CASE("UCB1's choices are the same however costs are scaled and shifted", "[agents][bandit]") {
  Random random(3);
  Ucb1 one(5);
  Ucb1 other(5);
  for (int pull = 0; pull < 500; ++pull) {
    const std::size_t arm = one.choose();
    REQUIRE(other.choose() == arm);
    const double cost = static_cast<double>(arm) + static_cast<double>(random.integer(0, 7));
    one.learn(arm, cost);
    other.learn(arm, 1024 * cost);
  }
}

}  // namespace
}  // namespace cclgym
