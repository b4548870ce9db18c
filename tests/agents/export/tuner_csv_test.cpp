// Tests of the CSV for NCCL's stock tuner, written from a policy with hand-set heads.
#include "agents/export/tuner_csv.hpp"

#include <sstream>

#include "agents/baselines/baselines_testing.hpp"
#include "agents/export/policy_export.hpp"
#include "agents/training/training_environment.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

// Weights that choose tree, LL and 4 channels below a size, and ring, Simple and 8 channels from
// that size on. If `tuner`, they choose the first level of every knob, which is NCCL's default.
PolicyWeights hand_made(const YamlValue& options, bool tuner) {
  const TrainingEnvironment where("CollectiveTuning-v0", options, {});
  Random random(1);
  PolicyWeights weights = initial_policy_weights(
      where.network_shape({.encoder = {1}, .lstm = 0, .head = 2, .value = 1, .levels = {}}),
      random);
  where.describe(weights);
  for (PolicyTensor& tensor : weights.tensors) {
    std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
  }
  const auto set = [&](const std::string& name, std::size_t at, float value) {
    for (PolicyTensor& tensor : weights.tensors) {
      if (tensor.name == name) tensor.values.at(at) = value;
    }
  };
  // The encoder's only unit is -1 below 2^20 bytes and 1 above, because "size" is log2(bytes) / 30.
  for (std::size_t i = 0; i < weights.features.size(); ++i) {
    if (weights.features[i] == "size") set("encoder.0.weight", i, 3000);
  }
  set("encoder.0.bias", 0, -3000.0F * 19.9F / 30);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::string head = "head." + std::to_string(d);
    set(head + ".weight", 0, 5);
    const std::vector<std::string>& levels = weights.knobs[d].levels;
    const auto wants = [&](const std::string& small, const std::string& large) {
      for (std::size_t v = 0; v < levels.size(); ++v) {
        float base = -3;
        if (levels[v] == small || levels[v] == large) base = 0;
        if (tuner && d == 0 && v == 0) base = 9;
        set(head + ".out.bias", v, base);
        set(head + ".out.weight", v * 2,
            levels[v] == small   ? -1.0F
            : levels[v] == large ? 1.0F
                                 : 0);
      }
    };
    if (d == 0) wants("tree", "ring");
    if (d == 1) wants("LL", "Simple");
    if (d == 2) wants("4", "8");
  }
  return weights;
}

TEST_CASE("two size regimes become two lines; NCCL's default choice is left to NCCL",
          "[agents][tuner-csv]") {
  const YamlValue options = parse_yaml(
      "{fabric: ndv4, actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], "
      "sizes: 1MiB}}",
      "t.yaml");
  const auto setup = read_tuning_setup(options);
  const auto rules = policy_rules(*setup->actions, setup->fabric_label);
  const TunerCsv csv = tuner_csv(to_policy_file(hand_made(options, false), rules), *setup);
  CHECK(csv.lines == 2);
  CHECK(csv.left_out == 0);
  std::istringstream lines(csv.text);
  std::string line;
  std::vector<std::string> found;
  while (std::getline(lines, line)) {
    if (!line.starts_with("#")) found.push_back(line);
  }
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "allreduce,0,1048575,tree,ll,4,1,8");
  CHECK(found[1] == "allreduce,1048576,1099511627776,ring,simple,8,1,8");

  const TunerCsv none = tuner_csv(to_policy_file(hand_made(options, true), rules), *setup);
  CHECK(none.lines == 0);
  CHECK(none.left_out == 1);
  CHECK(none.text.find("left to NCCL; the policy chooses nccl-default") != std::string::npos);
  CHECK_THROWS_AS(tuner_csv(to_policy_file(hand_made(options, false), {}), *setup), UserError);
}

}  // namespace
}  // namespace cclgym
