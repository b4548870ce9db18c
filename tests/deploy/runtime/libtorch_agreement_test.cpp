// Compares the runtime with LibTorch: 100,000 random observations in sequences, with an LSTM.
#include <algorithm>
#include <cmath>

#include "agents/network/policy_gradient.hpp"
#include "deploy/sample_policy.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/sanitized.hpp"

namespace cclgym {
namespace {

constexpr std::size_t kSequences = test::kSanitized ? 100 : 2000;
constexpr std::size_t kSteps = 50;

// The runtime's decisions by step: levels, their logits, and the second-likeliest level of each
// dimension.
struct Decisions {
  std::vector<std::int32_t> levels;
  std::vector<std::int32_t> seconds;
  std::vector<float> logits;
};

Decisions decide_all(const PolicyWeights& weights, const SequenceBatch& batch) {
  const PolicyShape& shape = weights.shape;
  const test::LoadedPolicy policy = test::load(format_policy(to_policy_file(weights, {})));
  REQUIRE(policy != nullptr);
  const std::size_t dimensions = shape.levels.size();
  const std::size_t all = cclgym_policy_logits(policy.get(), nullptr, nullptr, 0);
  const std::size_t rows = batch.sequences * batch.steps;
  Decisions made;
  made.levels.resize(rows * dimensions);
  made.seconds.resize(rows * dimensions);
  made.logits.resize(rows * all);
  std::vector<unsigned char> state(cclgym_policy_state_bytes(policy.get()));
  for (std::size_t sequence = 0; sequence < batch.sequences; ++sequence) {
    (void)cclgym_policy_state_init(policy.get(), state.data(), state.size());
    for (std::size_t step = 0; step < batch.steps; ++step) {
      const std::size_t row = step * batch.sequences + sequence;
      std::int32_t* levels = made.levels.data() + row * dimensions;
      const int status = cclgym_policy_decide(
          policy.get(), state.data(), batch.observations.data() + row * shape.observations,
          shape.observations, -1, nullptr, 0, levels, dimensions);
      REQUIRE(status == CCLGYM_POLICY_OK);
      float* logits = made.logits.data() + row * all;
      cclgym_policy_logits(policy.get(), state.data(), logits, all);
      for (std::size_t d = 0; d < dimensions; logits += shape.levels[d], ++d) {
        std::int32_t second = levels[d] == 0 ? 1 : 0;
        for (std::size_t v = 0; v < shape.levels[d]; ++v) {
          const auto level = static_cast<std::int32_t>(v);
          if (level != levels[d] && logits[v] > logits[second]) second = level;
        }
        made.seconds[row * dimensions + d] = second;
      }
    }
  }
  return made;
}

void compare(const PolicyShape& shape, std::uint64_t seed) {
  const PolicyWeights weights = test::sample_weights(shape, seed);
  const std::size_t rows = kSequences * kSteps;
  const std::size_t dimensions = shape.levels.size();
  std::size_t all = 0;
  for (const std::size_t n : shape.levels) all += n;
  SequenceBatch batch;
  batch.sequences = kSequences;
  batch.steps = kSteps;
  Random random(seed + 1);
  batch.observations.resize(rows * shape.observations);
  for (float& x : batch.observations) x = static_cast<float>(random.uniform(-2, 2));
  batch.starts.assign(rows, 0);
  batch.hidden.assign(kSequences * shape.lstm, 0);
  batch.cell.assign(kSequences * shape.lstm, 0);
  for (auto* zeros : {&batch.log_probability, &batch.prior, &batch.advantage, &batch.target}) {
    zeros->assign(rows, 0);
  }
  const Decisions made = decide_all(weights, batch);
  batch.levels = made.levels;

  double worst = 0;
  std::size_t other_argmax = 0;
  // Decides one dimension at a time, from all its levels and then from only the two likeliest.
  std::size_t first = 0;
  for (std::size_t d = 0; d < dimensions; first += shape.levels[d], ++d) {
    for (const bool two : {false, true}) {
      batch.masks.assign(rows * all, 0);
      for (std::size_t row = 0; row < rows; ++row) {
        std::uint8_t* mask = batch.masks.data() + row * all;
        for (std::size_t j = 0; j < dimensions; ++j) {
          const std::size_t at = row * dimensions + j;
          if (j == d && !two) std::fill_n(mask, shape.levels[j], std::uint8_t{1});
          if (j == d && two) mask[made.seconds[at]] = 1;
          mask[made.levels[at]] = 1;
          mask += shape.levels[j];
        }
      }
      const PolicyOutputs outputs = policy_outputs(weights, batch);
      for (std::size_t row = 0; row < rows; ++row) {
        const float* logits = made.logits.data() + row * all + first;
        const auto chosen = static_cast<std::size_t>(made.levels[row * dimensions + d]);
        const auto second = static_cast<std::size_t>(made.seconds[row * dimensions + d]);
        double sum = 0;
        for (std::size_t v = 0; v < shape.levels[d]; ++v) {
          if (two && v != chosen && v != second) continue;
          sum += std::exp(double{logits[v]} - logits[chosen]);
        }
        worst = std::max(worst, std::abs(outputs.log_probability[row] + std::log(sum)));
        // log(1/2) is a tie; below it, LibTorch prefers the other level.
        if (two && outputs.log_probability[row] < std::log(0.5F) - 1e-7F) ++other_argmax;
      }
    }
  }
  INFO("greatest difference of a log probability " << worst << ", other choices " << other_argmax
                                                   << " of " << rows * dimensions);
  CHECK(worst < 1e-5);
  CHECK(other_argmax == 0);
}

TEST_CASE("the runtime and LibTorch agree on 100,000 random observations",
          "[deploy][libtorch-agreement]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  compare({.observations = 60, .levels = {6, 3, 7}}, 1);
  compare({.observations = 30, .encoder = {20, 12}, .lstm = 0, .head = 9, .levels = {4, 3}}, 2);
}

}  // namespace
}  // namespace cclgym
