// Compares the TorchScript module with the network in plain loops.
#include "agents/export/torchscript.hpp"

#include <algorithm>
#include <cmath>

#include "agents/agents_testing.hpp"
#include "agents/export/some_actions.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/network/policy_network.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

// Log probability of the chosen levels, from the logits of all heads.
double log_probability(std::span<const float> logits, const PolicyShape& shape,
                       std::span<const std::int32_t> levels) {
  double sum = 0;
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const auto head = logits.first(shape.levels[d]);
    double total = 0;
    for (const float logit : head) total += std::exp(static_cast<double>(logit));
    sum += head[static_cast<std::size_t>(levels[d])] - std::log(total);
    logits = logits.subspan(shape.levels[d]);
  }
  return sum;
}

void compare(const PolicyShape& shape, std::uint64_t seed) {
  const test::TemporaryFolder folder;
  const PolicyWeights weights = test::named_weights(shape, seed);
  Random random(seed);
  const std::vector<std::int32_t> actions = test::some_actions(random);
  const std::string path = folder.path() + "/p.pt";
  write_text_file(path, torchscript_module(weights, {{"ring gpus=4", "allreduce", actions}}));

  constexpr std::size_t kCalls = 500;
  std::vector<float> observations(kCalls * shape.observations);
  for (float& x : observations) x = static_cast<float>(random.uniform(-12, 12));
  const ScriptedCalls scripted = run_torchscript(path, "ring gpus=4/allreduce", observations);
  REQUIRE(scripted.levels.size() == kCalls * 3);
  REQUIRE(scripted.logits.size() == kCalls * 9);
  REQUIRE(scripted.forward.size() == kCalls * 9);
  REQUIRE(scripted.states.size() == kCalls * 2 * shape.lstm);

  PolicyRunner runner(std::make_shared<const PolicyNetwork>(weights));
  const test::LegalActions legal(actions);
  double worst = 0;
  std::size_t other_choices = 0;
  std::vector<std::int32_t> chosen(3);
  std::vector<std::int32_t> likeliest(3);
  for (std::size_t call = 0; call < kCalls; ++call) {
    runner.observe(std::span(observations).subspan(call * shape.observations, shape.observations));
    for (std::size_t i = 0; i < runner.state().size(); ++i) {
      const float there = scripted.states[call * runner.state().size() + i];
      worst = std::max(worst, std::abs(double{runner.state()[i]} - there));
    }
    (void)runner.choose(legal, nullptr, chosen, {});
    if (!std::ranges::equal(chosen, std::span(scripted.levels).subspan(call * 3, 3))) {
      ++other_choices;
      continue;
    }
    const auto apart = [&](std::span<const std::int32_t> levels, const std::vector<float>& logits) {
      const double here = runner.log_probability(test::AllLegal(), levels, {});
      const auto row = std::span(logits).subspan(call * 9, 9);
      return std::abs(log_probability(row, shape, levels) - here);
    };
    (void)runner.choose(test::AllLegal(), nullptr, likeliest, {});
    worst = std::max({worst, apart(chosen, scripted.logits), apart(likeliest, scripted.forward)});
  }
  INFO("max difference " << worst << ", other choices " << other_choices);
  CHECK(worst < 1e-5);
  CHECK(other_choices == 0);
}

TEST_CASE("The TorchScript module and the network in plain loops agree", "[agents][torchscript]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const PolicyShape whole = test::small_shape();
  PolicyShape no_memory = whole;
  no_memory.lstm = 0;
  compare(whole, 21);
  compare(no_memory, 22);
}

TEST_CASE("Files that are not a policy's module are refused", "[agents][torchscript]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/p.pt";
  CHECK_THROWS_AS(run_torchscript(path, "m/allreduce", {}), UserError);
  write_text_file(path, "PK no archive");
  CHECK_THROWS_AS(run_torchscript(path, "m/allreduce", {}), UserError);
  const PolicyWeights weights = test::named_weights(test::small_shape(), 1);
  write_text_file(path, torchscript_module(weights, {{"m", "allreduce", {0, 0, 0}}}));
  CHECK(run_torchscript(path, "m/allreduce", {}).levels.empty());
  CHECK_THROWS_AS(run_torchscript(path, "m/allgather", {}), UserError);
  PolicyWeights unnamed = weights;
  unnamed.knobs.clear();
  CHECK_THROWS_AS(torchscript_module(unnamed, {}), std::logic_error);
}

}  // namespace
}  // namespace cclgym
