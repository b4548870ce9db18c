// A training file: the input of `cclgym train` (docs/agents.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/experts/experience.hpp"
#include "agents/experts/expert.hpp"
#include "agents/network/dqn.hpp"
#include "agents/network/policy_weights.hpp"
#include "agents/training/exploration.hpp"
#include "agents/training/training_environment.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

/// An environment that is used for training in part of the iterations (curriculum).
struct TrainingPart {
  std::shared_ptr<const TrainingEnvironment> environment;
  int from = 0;   ///< first iteration in which it is used
  int until = 0;  ///< first iteration in which it is no longer used; 0: until the end
  /// Weight of calls for which PCCL's dispatcher is not at the optimum (disagreement.hpp).
  double disagreement = 1;
};

/// An environment in which the policy is measured.
struct EvaluationPart {
  std::string label;  ///< label in metrics.csv
  std::shared_ptr<const TrainingEnvironment> environment;
  int calls = 0;  ///< 0: an episode, or one pass over the calls of the workload
};

/// Behaviour cloning before reinforcement learning.
struct WarmStartOptions {
  ExpertKind expert = ExpertKind::Oracle;
  int iterations = 0;  ///< 0: no warm start
  double temperature = 0;
  double margin = 0;
  double learning_rate = 0;
};

struct PpoOptions {
  int iterations = 0;
  int environments = 0;  ///< number of environments side by side
  int steps = 0;         ///< steps per environment and iteration
  int sequence = 0;      ///< steps through which gradients flow
  int epochs = 0;
  int minibatches = 0;
  double gamma = 0;
  double lambda = 0;
  double clip = 0;
  double entropy = 0;                          ///< weight at the beginning; decreases linearly to 0
  std::vector<ExplorationRule> exploration{};  ///< rules for calls that need another weight
  double value_weight = 0;
  double learning_rate = 0;  ///< rate at the beginning; decreases linearly to a tenth
  double largest_norm = 0;
};

enum class Algorithm : std::uint8_t { Ppo, Dqn };

/// Detectors of changes: Page's CUSUM, a small LSTM, or one of each.
enum class TriggerForm : std::uint8_t { Cusum, Lstm, Both };

/// Options of the trigger, which is trained after the agent on streams in which the agent acts.
struct TriggerOptions {
  TriggerForm form = TriggerForm::Cusum;
  int streams = 0;          ///< number of training streams, and of held-out streams; 0: no trigger
  int calls = 0;            ///< calls per stream, at most an episode
  double false_alarms = 0;  ///< upper bound per 1,000 calls of the training streams
  double rough = 0;  ///< share of streams with made-up noise (agents/trigger/made_up_noise.hpp)
  // LSTM only.
  int units = 0;        ///< units of the LSTM
  int fit_streams = 0;  ///< number of further streams, to which its weights are fitted
  int epochs = 0;       ///< passes over these streams
};

struct TrainConfig {
  std::string name;
  std::string file;
  std::string text;     ///< text of the file, and the choice of the variant
  std::string variant;  ///< name of the chosen variant, which is also part of `name`; empty: none
  /// Folder of the training whose agents are trained further; empty: agents start from scratch.
  std::string start_from;
  std::vector<TrainingPart> parts;
  std::vector<EvaluationPart> evaluation;
  PolicyShape layers;  ///< encoder, lstm, head, value
  ValuePrior value_prior = ValuePrior::Programs;
  /// Budget of exploration, with dqn and expert experience; nullopt: none.
  std::optional<ExplorationBudget> budget{};
  std::array<int, kFeatureGroups> features_from{};  ///< first iteration of each group of features
  WarmStartOptions warm_start;
  Algorithm algorithm = Algorithm::Ppo;
  PpoOptions ppo;
  DqnOptions dqn;  ///< used by Dqn beside iterations, rollouts, gamma and Adam of `ppo`
  TriggerOptions trigger;
  int evaluate_every = 0;    ///< iterations between evaluations
  int checkpoint_every = 0;  ///< iterations between checkpoints
  std::vector<std::uint64_t> seeds;
  /// Caveats, each once: programs that only some of the environments of `parts` can run.
  std::vector<std::string> warnings{};

  /// Name of the algorithm: "ppo", "dqn".
  [[nodiscard]] std::string_view algorithm_name() const {
    return algorithm == Algorithm::Dqn ? "dqn" : "ppo";
  }
  /// Name of the agents in evaluations: "lstm-ppo", "dqn".
  [[nodiscard]] std::string agent_name() const {
    return algorithm == Algorithm::Dqn ? "dqn" : "lstm-ppo";
  }
  /// True if the agent keeps its experience.
  [[nodiscard]] bool remembers() const {
    return budget.has_value() ||
           (warm_start.iterations > 0 && warm_start.expert == ExpertKind::Experience);
  }
  /// Groups of features that are on in an iteration.
  [[nodiscard]] FeatureGroups features_in(int iteration) const;
  [[nodiscard]] int iterations() const { return warm_start.iterations + ppo.iterations; }
  /// 16 hex digits that differ between trainings whose checkpoints are incompatible.
  [[nodiscard]] std::string hash() const;
};

// Records of the file and of its mappings.
[[nodiscard]] const std::vector<OptionSpec>& train_options();
[[nodiscard]] const std::vector<OptionSpec>& variant_options();
[[nodiscard]] const std::vector<OptionSpec>& training_part_options();
[[nodiscard]] const std::vector<OptionSpec>& evaluation_part_options();
[[nodiscard]] const std::vector<OptionSpec>& curriculum_options();
[[nodiscard]] const std::vector<OptionSpec>& agent_options();
[[nodiscard]] const std::vector<OptionSpec>& warm_start_options();
[[nodiscard]] const std::vector<OptionSpec>& ppo_options();
[[nodiscard]] const std::vector<OptionSpec>& dqn_options();
[[nodiscard]] const std::vector<OptionSpec>& budget_options();
[[nodiscard]] const std::vector<OptionSpec>& trigger_options();

/// Keys that a command line adds to a training file.
struct TrainChoices {
  std::string variant{};
  std::string start_from{};  ///< relative to the working directory
};
/// Names of the variants that a command line chooses: the name itself if it is a variant of the
/// file, every variant for "all", otherwise the names between commas. One empty name if `chosen` is
/// empty. Throws UserError if a name is there twice; load_train_config() checks names.
[[nodiscard]] std::vector<std::string> chosen_variants(const std::string& path,
                                                       const std::string& chosen);
/// Reads a training file. Throws UserError at the location of the mistake, and at a program that no
/// environment of the training can run.
[[nodiscard]] TrainConfig load_train_config(const std::string& path,
                                            const TrainChoices& choices = {});
/// Reads the text of a training file; `file` is the base of relative paths and the name in
/// messages. `make` makes its environments; by default it makes those that the file asks for.
[[nodiscard]] TrainConfig read_train_config(
    const std::string& text, const std::string& file,
    const TrainingEnvironmentMaker& make = make_training_environment);

}  // namespace cclgym
