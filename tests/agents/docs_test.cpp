// Compares docs/agents.md with the records of training files. With CCLGYM_UPDATE_DOCS=1 in the
// environment, the test writes the tables into the page.
#include <filesystem>
#include <set>
#include <string>

#include "agents/training/train_config.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"
#include "support/thorough.hpp"

namespace cclgym {
namespace {

TEST_CASE("docs/agents.md has the tables of the records", "[agents][docs]") {
  test::DocPage page("agents.md");
  page.put("train", train_options());
  page.put("training-part", training_part_options());
  page.put("evaluation-part", evaluation_part_options());
  page.put("curriculum", curriculum_options());
  page.put("agent", agent_options());
  page.put("warm-start", warm_start_options());
  page.put("ppo", ppo_options());
  page.put("exploration", exploration_options());
  page.put("dqn", dqn_options());
  page.put("budget", budget_options());
  page.put("trigger", trigger_options());
  page.check();
}

TEST_CASE("The shipped training files are read", "[agents][docs][thorough]") {
  const std::set<std::string> expected{"train-ndv4",
                                       "train-cloud-ib",
                                       "train-deploy",
                                       "train-cloud-ib-dgx2",
                                       "train-cloud-ib-dgx2x2",
                                       "train-offline",
                                       "train-transfer",
                                       "train-fine-tune",
                                       "train-nccl-loopback",
                                       "train-netlab",
                                       "train-netlab-loop",
                                       "train-openmpi",
                                       "train-trigger-ethernet",
                                       "train-pccl",
                                       "train-dgx1-synthesis",
                                       "train-two-machines-synthesis",
                                       "train-reward",
                                       "train-reward-ablation",
                                       "train-direct",
                                       "train-stragglers",
                                       "train-jobs",
                                       "train-job-step",
                                       "train-zero-shot"};
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("experiments"))) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".yaml" || !name.starts_with("train-")) continue;
    found.insert(name);
    // These two take two thirds of the time. Two others have environments of the same kinds:
    // train-transfer and train-two-machines-synthesis.
    const bool thorough = test::thorough() && !test::kSanitized;
    if (!thorough && (name == "train-zero-shot" || name == "train-dgx1-synthesis")) continue;
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
