// Results of tasks are read back bit for bit from their bytes, and nothing else is.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "agents/tasks/policy_run_wire.hpp"
#include "agents/tasks/training_wire.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

constexpr int kCases = 200;

// Numbers of all magnitudes, with those that texts lose.
double any_double(Random& random) {
  switch (random.integer(0, 7)) {
    case 0:
      return -0.0;
    case 1:
      return std::numeric_limits<double>::quiet_NaN();
    case 2:
      return std::numeric_limits<double>::denorm_min();
    default:
      return std::ldexp(random.uniform(-1, 1), static_cast<int>(random.integer(-900, 900)));
  }
}

std::string any_text(Random& random) {
  std::string text(static_cast<std::size_t>(random.integer(0, 12)), ' ');
  for (char& c : text) c = static_cast<char>(random.integer(-128, 127));
  return text;
}

int any_int(Random& random) { return static_cast<int>(random.integer(-1000, 100000)); }

std::uint64_t any_count(Random& random) { return random(); }

PolicyRun any_run(Random& random) {
  PolicyRun run{.policy = any_text(random),
                .seed = any_count(random),
                .calls = any_count(random),
                .oracle_ratio = any_double(random),
                .default_ratio = any_double(random),
                .decisions_per_call = any_double(random),
                .step_us = any_double(random),
                .iteration_us = any_double(random),
                .cells = {}};
  run.cells.resize(static_cast<std::size_t>(random.integer(0, 4)));
  for (EvaluatedCell& cell : run.cells) {
    cell = {.collective = any_text(random),
            .bytes = any_count(random),
            .calls = any_count(random),
            .time_us = any_double(random),
            .oracle_ratio = any_double(random),
            .default_ratio = any_double(random),
            .choice = any_text(random),
            .config = {.algorithm = any_text(random),
                       .protocol = random.uniform() < 0.5 ? Protocol::LL : Protocol::Simple,
                       .channels = any_int(random),
                       .instances = any_int(random),
                       .threads = any_int(random),
                       .tile_bytes = any_count(random),
                       .slots = any_int(random)},
            .costs = {.steps = any_int(random), .rounds_per_chunk = any_double(random)}};
  }
  return run;
}

bool same_bits(double one, double other) {
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

bool same(const EvaluatedCell& one, const EvaluatedCell& other) {
  return one.collective == other.collective && one.bytes == other.bytes &&
         one.calls == other.calls && same_bits(one.time_us, other.time_us) &&
         same_bits(one.oracle_ratio, other.oracle_ratio) &&
         same_bits(one.default_ratio, other.default_ratio) && one.choice == other.choice &&
         one.config == other.config && one.costs.steps == other.costs.steps &&
         same_bits(one.costs.rounds_per_chunk, other.costs.rounds_per_chunk);
}

bool same(const PolicyRun& one, const PolicyRun& other) {
  return one.policy == other.policy && one.seed == other.seed && one.calls == other.calls &&
         same_bits(one.oracle_ratio, other.oracle_ratio) &&
         same_bits(one.default_ratio, other.default_ratio) &&
         same_bits(one.decisions_per_call, other.decisions_per_call) &&
         same_bits(one.step_us, other.step_us) && same_bits(one.iteration_us, other.iteration_us) &&
         std::ranges::equal(one.cells, other.cells,
                            [](const EvaluatedCell& left, const EvaluatedCell& right) {
                              return same(left, right);
                            });
}

TEST_CASE("The run of a policy is read back bit for bit", "[agents][tasks]") {
  Random random(1);
  for (int i = 0; i < kCases; ++i) {
    const PolicyRun run = any_run(random);
    const std::string bytes = policy_run_bytes(run);
    const auto read = read_policy_run(bytes);
    REQUIRE(read);
    CHECK(same(*read, run));
    CHECK_FALSE(read_policy_run(bytes + "x"));
    const auto cut =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
    CHECK_FALSE(read_policy_run(bytes.substr(0, cut)));
  }
}

bool same(const PolicyMeasure& one, const PolicyMeasure& other) {
  return one.calls == other.calls && same_bits(one.mean_reward, other.mean_reward) &&
         same_bits(one.oracle_ratio, other.oracle_ratio) &&
         same_bits(one.worst_cell, other.worst_cell) &&
         same_bits(one.default_ratio, other.default_ratio);
}

bool same(const IterationReport& one, const IterationReport& other) {
  return one.iteration == other.iteration && one.warm_start == other.warm_start &&
         one.calls == other.calls && same_bits(one.mean_reward, other.mean_reward) &&
         same_bits(one.loss.policy, other.loss.policy) &&
         same_bits(one.loss.value, other.loss.value) &&
         same_bits(one.loss.entropy, other.loss.entropy) &&
         same_bits(one.loss.divergence, other.loss.divergence) &&
         same_bits(one.loss.clipped, other.loss.clipped) &&
         same_bits(one.gradient_norm, other.gradient_norm) &&
         same_bits(one.learning_rate, other.learning_rate) && same_bits(one.cpu_s, other.cpu_s) &&
         std::ranges::equal(one.evaluation, other.evaluation,
                            [](const PolicyMeasure& left, const PolicyMeasure& right) {
                              return same(left, right);
                            });
}

TrainedPart any_part(Random& random) {
  TrainedPart part{.checkpoint = any_text(random),
                   .reports = {},
                   .notices = {any_text(random), any_text(random)},
                   .ended = random.uniform() < 0.5,
                   .triggers = {.text = any_text(random), .lines = {any_text(random)}}};
  part.reports.resize(static_cast<std::size_t>(random.integer(0, 4)));
  for (IterationReport& report : part.reports) {
    report = {.iteration = any_int(random),
              .warm_start = random.uniform() < 0.5,
              .calls = any_count(random),
              .mean_reward = any_double(random),
              .loss = {.policy = any_double(random),
                       .value = any_double(random),
                       .entropy = any_double(random),
                       .divergence = any_double(random),
                       .clipped = any_double(random)},
              .gradient_norm = any_double(random),
              .learning_rate = any_double(random),
              .cpu_s = any_double(random),
              .evaluation = {}};
    report.evaluation.resize(static_cast<std::size_t>(random.integer(0, 3)));
    for (PolicyMeasure& one : report.evaluation) {
      one = {.calls = any_count(random),
             .mean_reward = any_double(random),
             .oracle_ratio = any_double(random),
             .worst_cell = any_double(random),
             .default_ratio = any_double(random)};
    }
  }
  return part;
}

TEST_CASE("A part of a training is read back bit for bit", "[agents][tasks]") {
  Random random(2);
  for (int i = 0; i < kCases; ++i) {
    const TrainedPart part = any_part(random);
    const std::string bytes = trained_part_bytes(part);
    const auto read = read_trained_part(bytes);
    REQUIRE(read);
    CHECK(read->checkpoint == part.checkpoint);
    CHECK(std::ranges::equal(
        read->reports, part.reports,
        [](const IterationReport& one, const IterationReport& other) { return same(one, other); }));
    CHECK(read->notices == part.notices);
    CHECK(read->ended == part.ended);
    CHECK(read->triggers.text == part.triggers.text);
    CHECK(read->triggers.lines == part.triggers.lines);
    CHECK_FALSE(read_trained_part(bytes + "x"));
    const auto cut =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
    CHECK_FALSE(read_trained_part(bytes.substr(0, cut)));
  }
}

TEST_CASE("The order of a training task is read back bit for bit", "[agents][tasks]") {
  Random random(3);
  for (int i = 0; i < kCases; ++i) {
    const TrainingOrder order{.budget_s = any_double(random),
                              .cpu_s = any_double(random),
                              .checkpoint = any_text(random)};
    const std::string bytes = training_order_bytes(order);
    const auto read = read_training_order(bytes);
    REQUIRE(read);
    CHECK(same_bits(read->budget_s, order.budget_s));
    CHECK(same_bits(read->cpu_s, order.cpu_s));
    CHECK(read->checkpoint == order.checkpoint);
    CHECK_FALSE(read_training_order(bytes + "x"));
    CHECK_FALSE(read_training_order(bytes.substr(0, bytes.size() - 1)));
  }
}

}  // namespace
}  // namespace cclgym
