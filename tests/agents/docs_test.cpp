// Compares docs/agents.md with the records of training files. With CCLGYM_UPDATE_DOCS=1 in the
// environment, the test writes the tables into the page.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "agents/training/train_config.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

const std::string kPage = CCLGYM_SOURCE_DIR "/docs/agents.md";

std::string page() {
  std::ifstream file(kPage);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the page with the table between the marks of its name replaced.
std::string with_table(const std::string& text, const std::string& name,
                       const std::vector<OptionSpec>& specs) {
  const std::string begin = "<!-- begin generated: " + name + " -->\n";
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find("<!-- end generated -->", from);
  REQUIRE(to != std::string::npos);
  return text.substr(0, from) + begin + markdown_table(specs) + text.substr(to);
}

TEST_CASE("docs/agents.md has the tables of the records") {
  std::string expected = page();
  expected = with_table(expected, "train", train_options());
  expected = with_table(expected, "training-part", training_part_options());
  expected = with_table(expected, "evaluation-part", evaluation_part_options());
  expected = with_table(expected, "agent", agent_options());
  expected = with_table(expected, "warm-start", warm_start_options());
  expected = with_table(expected, "ppo", ppo_options());
  expected = with_table(expected, "exploration", exploration_options());
  expected = with_table(expected, "dqn", dqn_options());
  expected = with_table(expected, "trigger", trigger_options());
  if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) std::ofstream(kPage) << expected;
  INFO("CCLGYM_UPDATE_DOCS=1 build/tests/agents/test_agents writes the page");
  CHECK(page() == expected);
}

TEST_CASE("The shipped training files are read") {
  const std::set<std::string> expected{
      "train-ndv4",    "train-cloud-ib", "train-cloud-ib-dgx2", "train-cloud-ib-dgx2x2",
      "train-offline", "train-transfer", "train-fine-tune",     "train-netlab",
      "train-openmpi"};
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(CCLGYM_SOURCE_DIR "/experiments")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".yaml" || !name.starts_with("train-")) continue;
    found.insert(name);
    INFO(name);
    const TrainConfig config = load_train_config(entry.path().string());
    CHECK(config.name == name);
    CHECK(!config.evaluation.empty());
    CHECK(config.warm_start.iterations > 0);
  }
  CHECK(found == expected);
}

}  // namespace
}  // namespace cclgym
