// Compares the TorchScript module with the network in plain loops.
#include "agents/export/torchscript.hpp"

#include <algorithm>
#include <cmath>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/network/policy_network.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

PolicyWeights named_weights(const PolicyShape& shape, std::uint64_t seed) {
  PolicyWeights weights = test::random_weights(shape, seed);
  for (std::size_t i = 0; i < shape.observations; ++i) weights.features.push_back("o");
  for (const std::size_t n : shape.levels) {
    weights.knobs.push_back({"knob", std::vector<std::string>(n, "level")});
  }
  return weights;
}

// A random subset of the actions with 3, 2 and 4 levels.
std::vector<std::int32_t> some_actions(Random& random) {
  std::vector<std::int32_t> actions;
  for (std::int32_t code = 0; code < 24; ++code) {
    if (random.uniform() < 0.5 && code != 13) continue;
    actions.insert(actions.end(), {code / 8, code / 4 % 2, code % 4});
  }
  return actions;
}

class LegalActions : public ConditionalMasks {
 public:
  explicit LegalActions(std::vector<std::int32_t> actions) : actions_(std::move(actions)) {}
  void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const override {
    std::ranges::fill(out, std::uint8_t{0});
    for (std::size_t at = 0; at < actions_.size(); at += 3) {
      const auto* const action = actions_.data() + at;
      if (!std::equal(prefix.begin(), prefix.end(), action)) continue;
      out[static_cast<std::size_t>(action[prefix.size()])] = 1;
    }
  }

 private:
  std::vector<std::int32_t> actions_;
};

// Allows every level of every dimension.
class Everything : public ConditionalMasks {
 public:
  void mask(std::span<const std::int32_t> /*prefix*/, std::span<std::uint8_t> out) const override {
    std::ranges::fill(out, std::uint8_t{1});
  }
};

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
  const PolicyWeights weights = named_weights(shape, seed);
  Random random(seed);
  const std::vector<std::int32_t> actions = some_actions(random);
  const std::string path = folder.path() + "/p.pt";
  write_torchscript(weights, {{"ring gpus=4", "allreduce", actions}}, path);

  constexpr std::size_t kCalls = 500;
  std::vector<float> observations(kCalls * shape.observations);
  for (float& x : observations) x = static_cast<float>(random.uniform(-12, 12));
  const ScriptedCalls scripted = run_torchscript(path, "ring gpus=4/allreduce", observations);
  REQUIRE(scripted.levels.size() == kCalls * 3);
  REQUIRE(scripted.logits.size() == kCalls * 9);
  REQUIRE(scripted.forward.size() == kCalls * 9);
  REQUIRE(scripted.states.size() == kCalls * 2 * shape.lstm);

  PolicyRunner runner(std::make_shared<const PolicyNetwork>(weights));
  const LegalActions legal(actions);
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
      const double here = runner.log_probability(Everything(), levels, {});
      const auto row = std::span(logits).subspan(call * 9, 9);
      return std::abs(log_probability(row, shape, levels) - here);
    };
    (void)runner.choose(Everything(), nullptr, likeliest, {});
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
  const PolicyWeights weights = named_weights(test::small_shape(), 1);
  write_torchscript(weights, {{"m", "allreduce", {0, 0, 0}}}, path);
  CHECK(run_torchscript(path, "m/allreduce", {}).levels.empty());
  CHECK_THROWS_AS(run_torchscript(path, "m/allgather", {}), UserError);
  PolicyWeights unnamed = weights;
  unnamed.knobs.clear();
  CHECK_THROWS_AS(write_torchscript(unnamed, {}, path), std::logic_error);
}

}  // namespace
}  // namespace cclgym
