// Compares the ONNX model with the network in plain loops: this test writes a model and the
// decisions of the network, and onnx_check.py runs the model.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/wait.h>

#include "agents/agents_testing.hpp"
#include "agents/export/onnx_model.hpp"
#include "agents/export/some_actions.hpp"
#include "agents/network/policy_network.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

constexpr int kScriptSkipped = 77;
constexpr std::size_t kMostSaid = 1 << 20;

bool writes_onnx() {
  try {
    need_onnx();
    return true;
  } catch (const UserError& error) {
    INFO(error.what());
    REQUIRE(test::contains(error.what(), "scripts/setup onnx"));
    return false;
  }
}

// The interpreter of the virtual environment, or else the system's.
std::string python() {
  const std::string venv = test::source_path(".venv/bin/python3");
  return std::filesystem::exists(venv) ? venv : "/usr/bin/python3";
}

// All logits of a call, given these levels.
std::vector<float> logits_of(PolicyRunner& runner, const PolicyShape& shape,
                             const std::vector<std::int32_t>& chosen) {
  std::vector<float> logits;
  std::vector<PolicyRunner::HeadOutput> outputs(shape.levels.size());
  for (std::size_t d = 0; d < shape.levels.size(); ++d) {
    std::vector<std::int32_t> levels = chosen;
    for (std::size_t level = 0; level < shape.levels[d]; ++level) {
      levels[d] = static_cast<std::int32_t>(level);
      runner.head_outputs(test::AllLegal(), levels, outputs);
      logits.push_back(outputs[d].given);
    }
  }
  return logits;
}

template <class Numbers>
std::string line_of(const char* what, const Numbers& numbers) {
  return fmt::format("{} {}\n", what, fmt::join(numbers, " "));
}

// Writes DIR/model.onnx and DIR/calls.txt: lines of numbers, some of which belong to a call.
void write_case(const PolicyShape& shape, std::uint64_t seed, const std::string& folder) {
  const PolicyWeights weights = test::named_weights(shape, seed);
  Random random(seed);
  const std::vector<std::int32_t> some = test::some_actions(random);
  const std::vector<std::int32_t> one{2, 0, 3};
  write_text_file(folder + "/model.onnx", onnx_model(weights, {{"ring gpus=4", "allreduce", some},
                                                               {"dgx1", "allgather", one}}));
  PolicyRunner runner(std::make_shared<const PolicyNetwork>(weights));
  std::string text = line_of("some", some) + line_of("one", one);
  for (int call = 0; call < 300; ++call) {
    std::vector<float> observation(shape.observations);
    for (float& x : observation) x = static_cast<float>(random.uniform(-12, 12));
    runner.observe(observation);
    std::vector<std::int32_t> chosen(shape.levels.size());
    const bool masked = call % 3 != 0;
    const std::vector<std::int32_t>& legal = call % 3 == 1 ? some : one;
    const test::LegalActions rules(legal);
    const test::AllLegal all;
    const ConditionalMasks& masks = masked ? static_cast<const ConditionalMasks&>(rules) : all;
    (void)runner.choose(masks, nullptr, chosen, {});
    text += fmt::format("rules {}\n", !masked ? "all" : call % 3 == 1 ? "some" : "one");
    text += line_of("observation", observation) + line_of("levels", chosen) +
            line_of("logits", logits_of(runner, shape, chosen)) + line_of("state", runner.state());
  }
  write_text_file(folder + "/calls.txt", text);
}

TEST_CASE("An ONNX runtime and the network in plain loops agree", "[agents][onnx]") {
  SKIP_UNLESS(writes_onnx(), test::kNeedsOnnx);
  PolicyShape no_memory = test::small_shape();
  no_memory.lstm = 0;
  for (const PolicyShape& shape : {test::small_shape(), no_memory}) {
    const test::TemporaryFolder folder;
    write_case(shape, 31, folder.path());
    const std::string command = fmt::format("{} -B {} {} >{}/said 2>&1", python(),
                                            test::source_path("tests/agents/export/onnx_check.py"),
                                            folder.path(), folder.path());
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
    INFO(read_text_file(folder.path() + "/said", kMostSaid));
    REQUIRE(WIFEXITED(status));
    SKIP_UNLESS(WEXITSTATUS(status) != kScriptSkipped, test::kNeedsOnnxRuntime);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("An ONNX model has the same bytes each time, and needs names", "[agents][onnx]") {
  SKIP_UNLESS(writes_onnx(), test::kNeedsOnnx);
  const PolicyWeights weights = test::named_weights(test::small_shape(), 1);
  const std::string model = onnx_model(weights, {{"m", "allreduce", {0, 0, 0}}});
  CHECK(model == onnx_model(weights, {{"m", "allreduce", {0, 0, 0}}}));
  CHECK(model != onnx_model(weights, {{"m", "allreduce", {0, 0, 1}}}));
  for (const char* text : {"cclgym_version", "rules/m/allreduce", "[[0,0,0]]", "logits_2"}) {
    INFO(text);
    CHECK(test::contains(model, text));
  }
  CHECK_FALSE(test::contains(model, "value.out"));
  PolicyWeights unnamed = weights;
  unnamed.knobs.clear();
  CHECK_THROWS_AS(onnx_model(unnamed, {}), std::logic_error);
}

}  // namespace
}  // namespace cclgym
