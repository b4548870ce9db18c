// Checks that an error in an experiment gives a message of one line, with its place.
#include "core/error.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_experiment(text, "bad.yaml"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("bad experiments are refused with place, finding, expectation and nearest name",
          "[experiments][refusal]") {
  for (const test::BadExperiment& bad : test::bad_experiments()) {
    INFO(bad.what << "\n" << bad.text);
    CHECK(refusal(bad.text) == "bad.yaml" + bad.message);
  }
}

TEST_CASE("the experiment behind the bad ones is valid", "[experiments][refusal]") {
  CHECK(refusal(test::experiment_with({})) == "accepted");
}

TEST_CASE("garbage and bombs are refused before they fill the memory", "[experiments][refusal]") {
  const std::size_t before = test::allocated_bytes();
  std::string garbage(10'000'000, '\0');
  for (std::size_t i = 0; i < garbage.size(); ++i) {
    garbage[i] = static_cast<char>((i * 2654435761U) >> 13U);
  }
  CHECK(refusal(garbage).starts_with("bad.yaml"));
  CHECK(refusal(std::string(10'000'000, '[')).starts_with("bad.yaml"));
  CHECK(refusal(std::string(10'000'000, 'a')).starts_with("bad.yaml"));
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 8; ++k) bomb += ", " + below;
    bomb += "]\n";
  }
  CHECK(refusal(bomb).starts_with("bad.yaml:"));
  // The reader of long lists of long ranges stops before they fill the memory.
  std::string ranges;
  for (int i = 0; i < 200; ++i) {
    ranges += (i == 0 ? "" : ", ") + std::to_string(i * 40000 + 4) + "B.." +
              std::to_string(i * 40000 + 40000) + "B +4B";
  }
  const std::string text = test::experiment_with({{"sizes", "[" + ranges + "]"}});
  CHECK(refusal(text).find("too many cells; expected at most 1000000") != std::string::npos);
  CHECK(test::allocated_bytes() - before < std::size_t{1} << 30);
}

TEST_CASE("a missing experiment file is refused", "[experiments][refusal]") {
  CHECK_THROWS_AS(load_experiment("/nonexistent/experiment.yaml"), UserError);
}

}  // namespace
}  // namespace cclgym
