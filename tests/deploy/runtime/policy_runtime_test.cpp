// Tests of the runtime: the documented network, only legal actions, errors without side effects.
#include "deploy/runtime/policy_runtime.h"

#include <cstring>
#include <set>

#include "core/files/text_file.hpp"
#include "deploy/sample_policy.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

using test::full_shape;
using test::load;
using test::LoadedPolicy;
using test::ReferenceNetwork;
using test::sample_weights;
using test::small_shape;

std::vector<float> draw_observation(std::size_t size, Random& random) {
  std::vector<float> observation(size);
  for (float& value : observation) value = static_cast<float>(random.uniform(-2, 2));
  return observation;
}

struct Stream {
  explicit Stream(const cclgym_policy* policy)
      : state(cclgym_policy_state_bytes(policy)), action(cclgym_policy_knobs(policy)) {
    REQUIRE(cclgym_policy_state_init(policy, state.data(), state.size()) == CCLGYM_POLICY_OK);
  }
  int decide(const cclgym_policy* policy, const std::vector<float>& observation, int rules = -1,
             const std::vector<std::uint8_t>& allowed = {}) {
    return cclgym_policy_decide(policy, state.data(), observation.data(), observation.size(), rules,
                                allowed.empty() ? nullptr : allowed.data(), allowed.size(),
                                action.data(), action.size());
  }
  std::vector<unsigned char> state;
  std::vector<std::int32_t> action;
};

void compare_with_reference(const PolicyShape& shape, int calls) {
  const PolicyWeights weights = sample_weights(shape, 3);
  const LoadedPolicy policy = load(format_policy(to_policy_file(weights, {})));
  REQUIRE(policy != nullptr);
  ReferenceNetwork reference(weights);
  Stream stream(policy.get());
  Random random(4);
  std::vector<float> logits(cclgym_policy_logits(policy.get(), nullptr, nullptr, 0));
  double worst = 0;
  int near_ties = 0;
  std::set<std::vector<std::int32_t>> actions;
  for (int call = 0; call < calls; ++call) {
    const std::vector<float> observation = draw_observation(shape.observations, random);
    REQUIRE(stream.decide(policy.get(), observation) == CCLGYM_POLICY_OK);
    actions.insert(stream.action);
    cclgym_policy_logits(policy.get(), stream.state.data(), logits.data(), logits.size());
    reference.see(observation);
    std::size_t at = 0;
    for (std::size_t d = 0; d < shape.levels.size(); ++d) {
      const std::vector<double> expected = reference.logits(d, stream.action);
      double best = -1e9;
      for (std::size_t v = 0; v < expected.size(); ++v, ++at) {
        worst = std::max(worst, std::abs(expected[v] - logits[at]));
        best = std::max(best, expected[v]);
      }
      const double chosen = expected[static_cast<std::size_t>(stream.action[d])];
      if (chosen < best) {
        REQUIRE(best - chosen < 1e-5);
        ++near_ties;
      }
    }
  }
  CHECK(worst < 1e-5);
  CHECK(near_ties <= calls / 1000);
  CHECK(actions.size() > 4);
}

TEST_CASE("decisions are those of the network in double precision", "[deploy][policy-runtime]") {
  compare_with_reference(small_shape(), 4000);
  compare_with_reference(full_shape(), 1000);
  PolicyShape deep = small_shape();
  deep.encoder = {33, 8, 17};
  compare_with_reference(deep, 1000);
  PolicyShape no_lstm = small_shape();
  no_lstm.lstm = 0;
  compare_with_reference(no_lstm, 1000);
}

TEST_CASE("the state is all that a stream of calls depends on", "[deploy][policy-runtime]") {
  const LoadedPolicy policy =
      load(format_policy(to_policy_file(sample_weights(full_shape(), 1), {})));
  Random random(2);
  Stream first(policy.get());
  Stream second(policy.get());
  for (int call = 0; call < 20; ++call) {
    const auto observation = draw_observation(93, random);
    const auto other = draw_observation(93, random);
    Stream third(policy.get());
    REQUIRE(first.decide(policy.get(), observation) == CCLGYM_POLICY_OK);
    REQUIRE(third.decide(policy.get(), other) == CCLGYM_POLICY_OK);
    // A copy of the bytes is a copy of the state, at any address.
    std::vector<unsigned char> moved(second.state.size() + 4);
    std::memcpy(moved.data() + 4, second.state.data(), second.state.size());
    REQUIRE(cclgym_policy_decide(policy.get(), moved.data() + 4, observation.data(), 93, -1,
                                 nullptr, 0, second.action.data(), 8) == CCLGYM_POLICY_OK);
    std::memcpy(second.state.data(), moved.data() + 4, second.state.size());
    CHECK(first.action == second.action);
    CHECK(first.state == second.state);
  }
}

TEST_CASE("rules and allowed levels are kept", "[deploy][policy-runtime]") {
  const PolicyWeights weights = sample_weights(small_shape(), 5);
  const std::vector<std::int32_t> some{0, 0, 3, 0, 1, 1, 1, 0, 0, 1, 0, 2, 2, 1, 0};
  const LoadedPolicy policy = load(format_policy(
      to_policy_file(weights, {{"m", "allreduce", some}, {"m x=2", "allgather", {2, 1, 3}}})));
  REQUIRE(policy != nullptr);
  CHECK(cclgym_policy_rules_count(policy.get()) == 2);
  CHECK(cclgym_policy_rules(policy.get(), "m", "allreduce") == 0);
  CHECK(cclgym_policy_rules(policy.get(), "m x=2", "allgather") == 1);
  CHECK(cclgym_policy_rules(policy.get(), "m", "allgather") == -1);
  CHECK(cclgym_policy_rules(policy.get(), "", "") == -1);
  CHECK(std::string(cclgym_policy_rules_name(policy.get(), 1)) == "m x=2/allgather");
  std::set<std::vector<std::int32_t>> legal;
  for (std::size_t i = 0; i < some.size(); i += 3)
    legal.insert({some[i], some[i + 1], some[i + 2]});

  Random random(6);
  Stream stream(policy.get());
  std::set<std::vector<std::int32_t>> seen;
  int none = 0;
  for (int call = 0; call < 5000; ++call) {
    const auto observation = draw_observation(7, random);
    if (call % 2 == 0) {
      REQUIRE(stream.decide(policy.get(), observation, 0) == CCLGYM_POLICY_OK);
      REQUIRE(legal.count(stream.action) == 1);
      seen.insert(stream.action);
      continue;
    }
    std::vector<std::uint8_t> allowed(9);
    for (auto& byte : allowed) byte = static_cast<std::uint8_t>(random.integer(0, 2) > 0);
    const auto fits = [&](const std::vector<std::int32_t>& action) {
      return allowed[static_cast<std::size_t>(action[0])] != 0 &&
             allowed[3 + static_cast<std::size_t>(action[1])] != 0 &&
             allowed[5 + static_cast<std::size_t>(action[2])] != 0;
    };
    const bool any = std::any_of(legal.begin(), legal.end(), fits);
    const Stream before = stream;
    const int status = stream.decide(policy.get(), observation, 0, allowed);
    REQUIRE(status == (any ? CCLGYM_POLICY_OK : CCLGYM_POLICY_NO_LEGAL_ACTION));
    if (any) {
      REQUIRE(legal.count(stream.action) == 1);
      REQUIRE(fits(stream.action));
    } else {
      ++none;
      REQUIRE(stream.action == before.action);
    }
  }
  CHECK(seen.size() == legal.size());
  CHECK(none > 10);
}

TEST_CASE("a choice that leads nowhere gives way to the next likeliest",
          "[deploy][policy-runtime]") {
  const PolicyWeights weights = sample_weights(small_shape(), 5);
  // The last level follows from the first; `allowed` forbids it after some of them.
  const LoadedPolicy policy = load(
      format_policy(to_policy_file(weights, {{"m", "allreduce", {0, 0, 0, 1, 1, 1, 2, 0, 2}}})));
  REQUIRE(policy != nullptr);
  ReferenceNetwork reference(weights);
  Stream stream(policy.get());
  Random random(7);
  int returned = 0;
  for (int call = 0; call < 1000; ++call) {
    const auto observation = draw_observation(7, random);
    std::vector<std::uint8_t> allowed(9, 1);
    const auto forbidden = static_cast<std::size_t>(random.integer(0, 2));
    allowed[5 + forbidden] = 0;
    REQUIRE(stream.decide(policy.get(), observation, 0, allowed) == CCLGYM_POLICY_OK);
    reference.see(observation);
    const std::vector<double> logits = reference.logits(0, {});
    std::size_t best = forbidden == 0 ? 1 : 0;
    for (std::size_t level = 0; level < 3; ++level) {
      if (level != forbidden && logits[level] > logits[best]) best = level;
    }
    if (std::abs(logits[0] - logits[1]) < 1e-4 || std::abs(logits[1] - logits[2]) < 1e-4) continue;
    CHECK(stream.action[0] == static_cast<std::int32_t>(best));
    returned += static_cast<int>(logits[forbidden] > logits[best]);
  }
  CHECK(returned > 100);
}

TEST_CASE("errors are said, and change nothing", "[deploy][policy-runtime]") {
  const LoadedPolicy policy =
      load(format_policy(to_policy_file(sample_weights(small_shape(), 1), {})));
  Random random(1);
  Stream stream(policy.get());
  std::vector<float> observation = draw_observation(7, random);
  REQUIRE(stream.decide(policy.get(), observation) == CCLGYM_POLICY_OK);
  Stream undisturbed = stream;
  std::vector<float> bad = observation;
  for (const float value : {std::nanf(""), INFINITY, -INFINITY}) {
    bad[3] = value;
    CHECK(stream.decide(policy.get(), bad) == CCLGYM_POLICY_BAD_OBSERVATION);
  }
  CHECK(stream.decide(policy.get(), observation, -1, std::vector<std::uint8_t>(9, 0)) ==
        CCLGYM_POLICY_NO_LEGAL_ACTION);
  CHECK(stream.decide(policy.get(), observation, 0) == CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(stream.decide(policy.get(), observation, -2) == CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(stream.decide(policy.get(), observation, -1, {1, 1}) == CCLGYM_POLICY_BAD_ARGUMENT);
  bad.pop_back();
  CHECK(stream.decide(policy.get(), bad) == CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(stream.action == undisturbed.action);
  // The next decision is made as if the error had not occurred.
  observation = draw_observation(7, random);
  REQUIRE(stream.decide(policy.get(), observation) == CCLGYM_POLICY_OK);
  REQUIRE(undisturbed.decide(policy.get(), observation) == CCLGYM_POLICY_OK);
  CHECK(stream.action == undisturbed.action);
  CHECK(stream.state == undisturbed.state);

  CHECK(cclgym_policy_decide(nullptr, nullptr, nullptr, 0, -1, nullptr, 0, nullptr, 0) ==
        CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(cclgym_policy_state_init(policy.get(), stream.state.data(), 4) ==
        CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(cclgym_policy_state_init(policy.get(), nullptr, 1 << 20) == CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(cclgym_policy_state_bytes(nullptr) == 0);
  CHECK(cclgym_policy_level_name(policy.get(), 0, 3) == nullptr);
  CHECK(cclgym_policy_level_name(policy.get(), 3, 0) == nullptr);
  CHECK(cclgym_policy_feature_name(policy.get(), 7) == nullptr);
  cclgym_policy_free(nullptr);
}

TEST_CASE("names and provenance come with the policy", "[deploy][policy-runtime]") {
  const LoadedPolicy policy =
      load(format_policy(to_policy_file(sample_weights(small_shape(), 1), {})));
  CHECK(std::string(cclgym_policy_provenance(policy.get())) == "made by a test");
  CHECK(std::string(cclgym_policy_knob_name(policy.get(), 1)) == "knob1");
  CHECK(std::string(cclgym_policy_level_name(policy.get(), 2, 3)) == "level3");
  CHECK(cclgym_policy_levels(policy.get(), 2) == 4);
  CHECK(std::string(cclgym_policy_feature_name(policy.get(), 6)) == "feature6");
}

TEST_CASE("files are loaded, and what is wrong with them is said", "[deploy][policy-runtime]") {
  cclgym_policy* policy = nullptr;
  char error[64] = "";
  const std::string path = test::build_path("tests/deploy/sample.policy");
  write_text_file(path, format_policy(to_policy_file(sample_weights(small_shape(), 1), {})));
  CHECK(cclgym_policy_load(path.c_str(), &policy, error, sizeof(error)) == CCLGYM_POLICY_OK);
  cclgym_policy_free(policy);
  CHECK(cclgym_policy_load("no/such.policy", &policy, error, sizeof(error)) ==
        CCLGYM_POLICY_BAD_FILE);
  CHECK(policy == nullptr);
  CHECK(std::string(error).starts_with("'no/such.policy'"));
  CHECK(cclgym_policy_load("no/such.policy", &policy, error, 4) == CCLGYM_POLICY_BAD_FILE);
  CHECK(std::string(error) == "'no");
  CHECK(cclgym_policy_load("no/such.policy", &policy, nullptr, 0) == CCLGYM_POLICY_BAD_FILE);
  CHECK(cclgym_policy_load(nullptr, &policy, error, sizeof(error)) == CCLGYM_POLICY_BAD_ARGUMENT);
  CHECK(cclgym_policy_load("x", nullptr, error, sizeof(error)) == CCLGYM_POLICY_BAD_ARGUMENT);
}

TEST_CASE("a decision allocates nothing", "[deploy][policy-runtime]") {
  const LoadedPolicy policy = load(format_policy(to_policy_file(
      sample_weights(small_shape(), 1), {{"m", "allreduce", {0, 0, 0, 1, 1, 1, 2, 0, 3}}})));
  Random random(1);
  Stream stream(policy.get());
  const auto observation = draw_observation(7, random);
  const std::vector<std::uint8_t> allowed(9, 1);
  const long before = test::allocations();
  for (int i = 0; i < 100; ++i) {
    (void)stream.decide(policy.get(), observation, i % 2 - 1, allowed);
  }
  CHECK(test::allocations() == before);
}

}  // namespace
}  // namespace cclgym
