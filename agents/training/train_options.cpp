#include <algorithm>
#include <string_view>

#include "agents/training/train_config.hpp"

namespace cclgym {

namespace {

OptionSpec count(const std::string& name, const std::string& description, double least,
                 const std::string& default_text) {
  return {.name = name,
          .kind = OptionKind::Integer,
          .description = description,
          .min = least,
          .max = 1e6,
          .default_text = default_text};
}

OptionSpec real(const std::string& name, const std::string& description, double most,
                const std::string& default_text) {
  return {.name = name,
          .kind = OptionKind::Real,
          .description = description,
          .min = 0,
          .max = most,
          .default_text = default_text};
}

OptionSpec mapping(const std::string& name, const std::string& description) {
  return {.name = name, .kind = OptionKind::Mapping, .description = description};
}

OptionSpec mappings(const std::string& name, const std::string& description, bool required) {
  return {.name = name,
          .kind = OptionKind::Mapping,
          .shape = OptionShape::List,
          .description = description,
          .required = required};
}

}  // namespace

const std::vector<OptionSpec>& train_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name", .description = "name of the training run", .required = true},
      mappings("train", "environments to train in, in turn", true),
      mappings("evaluate", "environments to measure the policy in", false),
      mapping("agent", "sizes of the network"),
      mapping("warm_start", "behaviour cloning of an expert, before reinforcement learning"),
      {.name = "value_prior",
       .kind = OptionKind::Choice,
       .description = "alpha-beta estimate from which the critic starts: that of the best program "
                      "(also: true), that of bounds, or none (also: false)",
       .default_text = "programs",
       .choices = {"none", "bounds", "programs", "false", "true"}},
      {.name = "reward",
       .kind = OptionKind::Mapping,
       .description = "reward of the environments of train, in place of their own"},
      mapping("budget",
              "budget of exploration by class of calls and algorithm, for dqn and for expert "
              "experience; calls are explored without one if it is not given"),
      // The names are in the order of Algorithm.
      {.name = "algorithm",
       .kind = OptionKind::Choice,
       .description = "algorithm of reinforcement learning",
       .default_text = "ppo",
       .choices = {"ppo", "dqn"}},
      mapping("curriculum", "iterations at which groups of features are switched on"),
      mapping("ppo", "reinforcement learning by PPO; most of it also applies to dqn"),
      mapping("dqn", "options of dqn only"),
      mapping("trigger",
              "training of the trigger, which detects that the machine has changed; done last"),
      count("evaluate_every", "iterations between two measurements; 0: only at the end", 0, "20"),
      count("checkpoint_every", "iterations between two checkpoints", 1, "5"),
      {.name = "seeds",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .description = "seeds of the training runs, one agent per seed",
       .min = 0,
       .max = 9e15,
       .default_text = "[1]"},
      mapping(
          "variants",
          "by name: changed keys among agent, warm_start, value_prior, reward, budget, curriculum, "
          "algorithm, ppo, dqn, trigger and seeds"),
      {.name = "variant", .description = "name of the variant to train; same as --variant"},
      {.name = "start_from",
       .description =
           "folder of the training run whose agent of the same seed, or of seed 1, is trained "
           "further (fine-tuning); same as --from"},
  };
  return specs;
}

const std::vector<OptionSpec>& variant_options() {
  static const std::vector<OptionSpec> specs = [] {
    constexpr std::string_view kChangeable[] = {"agent",  "warm_start", "value_prior", "reward",
                                                "budget", "curriculum", "algorithm",   "ppo",
                                                "dqn",    "trigger",    "seeds"};
    std::vector<OptionSpec> list;
    for (const OptionSpec& spec : train_options()) {
      if (std::ranges::find(kChangeable, spec.name) != std::end(kChangeable)) list.push_back(spec);
    }
    return list;
  }();
  return specs;
}

const std::vector<OptionSpec>& training_part_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "environment",
       .description = "name of the environment",
       .default_text = "CollectiveTuning-v0"},
      mapping("options", "options of the environment"),
      count("from", "first iteration in which it is used", 0, "0"),
      count("until", "first iteration in which it is no longer used; 0: until the end", 0, "0"),
      real("disagreement",
           "weight of the calls of a sweep for which PCCL's dispatcher (the expert of the warm "
           "start if it is svm or tuner, otherwise svm) is more than 1 % slower than the best "
           "action; other calls have weight 1",
           1e6, "1"),
  };
  return specs;
}

const std::vector<OptionSpec>& curriculum_options() {
  static const std::vector<OptionSpec> specs{
      count("size", "first iteration with the size of the call, ranks and nodes", 0, "0"),
      count("machine", "first iteration with the machine, the collective and the job", 0, "0"),
      count("recent", "first iteration with the times of recent calls", 0, "0"),
      count("counters", "first iteration with the bytes per NIC", 0, "0"),
  };
  return specs;
}

const std::vector<OptionSpec>& evaluation_part_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "label", .description = "label in metrics.csv", .required = true},
      {.name = "environment",
       .description = "name of the environment",
       .default_text = "CollectiveTuning-v0"},
      mapping("options", "options of the environment"),
      count("calls", "number of calls; 0: one pass over a finite workload, else an episode", 0,
            "0"),
  };
  return specs;
}

const std::vector<OptionSpec>& agent_options() {
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> list{
        {.name = "encoder",
         .kind = OptionKind::Integer,
         .shape = OptionShape::OneOrList,
         .description = "units of each layer between the observation and the LSTM",
         .min = 1,
         .max = 1024,
         .default_text = "[32]"},
        count("lstm", "units of the LSTM; 0: none", 0, "32"),
        count("head", "hidden units for each dimension of the action", 1, "16"),
        count("value", "hidden units of the critic", 1, "64"),
    };
    for (OptionSpec& spec : list) spec.max = 1024;
    return list;
  }();
  return specs;
}

const std::vector<OptionSpec>& warm_start_options() {
  static const std::vector<OptionSpec> specs{
      // The names are in the order of ExpertKind.
      {.name = "expert",
       .kind = OptionKind::Choice,
       .description = "expert whose choices are learned; estimate is the oracle, but with the "
                      "action of the least estimate where that is within the margin",
       .default_text = "oracle",
       .choices = {"oracle", "svm", "table", "formula", "tuner", "estimate", "experience"}},
      count("iterations", "number of rollouts; 0: no warm start", 0, "60"),
      real("temperature",
           "for the oracle: scale of how much worse than the best an action may be, as a fraction "
           "of the time",
           1, "0.005"),
      real(
          "margin",
          "for the oracle: actions slower than the best by more than this fraction are never shown",
          10, "0.03"),
      real("learning_rate", "learning rate of Adam", 1, "0.003"),
  };
  return specs;
}

const std::vector<OptionSpec>& ppo_options() {
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> list{
        count("iterations", "number of rollouts", 0, "100"),
        count("environments", "number of environments side by side", 1, "16"),
        count("steps", "steps per environment and iteration", 1, "128"),
        count("sequence", "steps through which gradients flow back; must divide steps", 1, "16"),
        count("epochs", "passes over a rollout", 1, "4"),
        count("minibatches", "minibatches per pass", 1, "4"),
        real("gamma", "discount factor of rewards", 1, "0.5"),
        real("lambda", "lambda of generalised advantage estimation", 1, "0.9"),
        real("clip", "clipping of the probability ratio", 1, "0.2"),
        real("entropy", "weight of the entropy at the beginning; falls to 0", 10, "0.003"),
        mappings("exploration",
                 "rules for calls whose entropy has another weight; the first match applies",
                 false),
        real("value_weight", "weight of the critic's error", 100, "0.5"),
        real("learning_rate", "learning rate of Adam at the beginning; falls to a tenth", 1,
             "0.001"),
        real("largest_norm", "max norm of a gradient; larger ones are scaled down", 1e6, "0.5"),
    };
    return list;
  }();
  return specs;
}

const std::vector<OptionSpec>& dqn_options() {
  static const std::vector<OptionSpec> specs{
      count("replay", "number of transitions that are kept", 1, "65536"),
      count("batch", "transitions per update", 1, "256"),
      count("updates", "updates per iteration, at whose beginning the target network is renewed", 1,
            "64"),
      real("epsilon", "fraction of random actions, which falls from 1 to this value by the middle",
           1, "0.05"),
  };
  return specs;
}

const std::vector<OptionSpec>& budget_options() {
  static const std::vector<OptionSpec> specs{
      count("samples",
            "samples of each class of calls and algorithm, before exploration narrows to the "
            "algorithms that are nearly the best; 0: all actions are drawn alike",
            0, "50"),
      count("cap", "hard cap of the explored calls of a class; 0: none", 0, "0"),
      real("contenders",
           "largest difference between the best reward of an algorithm and that of its class with "
           "which it is still explored",
           1e6, "0.1"),
      {.name = "rule",
       .kind = OptionKind::Flag,
       .description = "true if a class begins with the rule of thumb: Tree with LL below 16 KiB, "
                      "Ring with LL128 below 1 MiB, then Ring with Simple",
       .default_text = "true"},
      real("prior",
           "temperature with which the alpha-beta estimate of an algorithm reduces its samples, to "
           "a fifth at least; 0: not at all",
           1e6, "0.5"),
  };
  return specs;
}

const std::vector<OptionSpec>& trigger_options() {
  static const std::vector<OptionSpec> specs{
      // In the order of TriggerForm.
      {.name = "form",
       .kind = OptionKind::Choice,
       .description = "detector: Page's CUSUM, a small LSTM, or one of each",
       .default_text = "cusum",
       .choices = {"cusum", "lstm", "both"}},
      count("streams", "number of training streams, and of held-out ones; 0: no trigger", 0, "0"),
      count("calls", "calls per stream, at most an episode", 1, "4000"),
      real("false_alarms", "upper bound per 1,000 calls of the training streams", 1000, "0.7"),
      real("rough",
           "share of streams, held-out ones too, that get made-up noise as on real networks: "
           "jitter, late calls and alternating times",
           1, "0"),
      {.name = "units",
       .kind = OptionKind::Integer,
       .description = "units of the LSTM",
       .min = 1,
       .max = 64,
       .default_text = "8"},
      count("fit_streams", "number of further streams, to which the LSTM's weights are fitted", 1,
            "80"),
      count("epochs", "passes over these streams", 1, "60"),
  };
  return specs;
}

}  // namespace cclgym
