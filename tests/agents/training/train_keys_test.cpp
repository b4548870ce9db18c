// Checks that every key of a training file has an effect: each key gets two values in tiny training
// runs, whose results must differ. A key without a probe here fails the test.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agents/agents_testing.hpp"
#include "agents/network/policy_gradient.hpp"
#include "agents/training/exploration.hpp"
#include "agents/training/trainer.hpp"
#include "agents/trigger/agent_triggers.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

namespace cclgym {
namespace {

// Values of keys as YAML, by path ("ppo.clip"). A training file has only the keys in the map.
using Keys = std::map<std::string, std::string>;

const std::string kMachine =
    "{fabric: {name: ring, gpus: 4}, workload: {name: sweep, sizes: [4KiB, 1MiB]}, "
    "actions: stock-nccl";
const std::string kSmall = kMachine + ", episode: 8";

const std::string kOther =
    "{fabric: {name: ring, gpus: 4}, workload: {name: sweep, sizes: [64KiB]}, "
    "actions: stock-nccl, episode: 8}";
// Two regimes with equal times for these calls, and noise that a trigger may mistake for a change.
const std::string kNoisy =
    kMachine +
    ", episode: 400, noise: {name: t, measurement: {sigma: 0.1}, regimes: [{noise: none, "
    "mean_calls: 40}, {noise: {name: slow, slow_gpus: {ranks: [1], rate: 0.05}}, mean_calls: "
    "40}]}}";

// Keys that every probe starts from.
Keys usual() {
  return {{"name", "keys"},
          {"part.options", kSmall + "}"},
          {"evaluation.label", "all"},
          {"evaluation.options", kSmall + ", reward: negative-time, oracle: true}"},
          {"agent.encoder", "[6]"},
          {"agent.lstm", "3"},
          {"agent.head", "4"},
          {"agent.value", "5"},
          {"warm_start.iterations", "1"},
          {"ppo.iterations", "2"},
          {"ppo.environments", "2"},
          {"ppo.steps", "16"},
          {"ppo.sequence", "4"},
          {"ppo.epochs", "2"},
          {"ppo.minibatches", "2"},
          {"ppo.learning_rate", "0.02"},
          {"evaluate_every", "1"},
          {"checkpoint_every", "1"}};
}

// Formats the keys of a group like "{from: 1, options: {...}}".
std::string mapping_of(const Keys& keys, const std::string& group) {
  std::string text;
  for (const auto& [path, value] : keys) {
    if (!path.starts_with(group + ".")) continue;
    text += (text.empty() ? "" : ", ") + path.substr(group.size() + 1) + ": " + value;
  }
  return "{" + text + "}";
}

std::string training_file(const Keys& keys) {
  Keys top;
  for (const auto& [path, value] : keys) {
    if (path.find('.') == std::string::npos) top[path] = value;
  }
  Keys ppo = keys;
  const std::string rule = mapping_of(keys, "exploration");
  if (rule != "{}") ppo["ppo.exploration"] = "[" + rule + "]";
  // The second environment is always used, so the first can be optional.
  top.try_emplace("train", "[" + mapping_of(keys, "part") + ", {options: " + kOther + "}]");
  top.try_emplace("evaluate", "[" + mapping_of(keys, "evaluation") + "]");
  for (const char* group :
       {"agent", "budget", "curriculum", "warm_start", "ppo", "dqn", "trigger"}) {
    const std::string mapping = mapping_of(ppo, group);
    if (mapping != "{}") top.try_emplace(group, mapping);
  }
  std::string text;
  for (const auto& [key, value] : top) text += key + ": " + value + "\n";
  return text;
}

template <class Numbers>
std::string bytes_of(const Numbers& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0])};
}

// All results of a training run: weights, optimiser state, learning curves, checkpoints, triggers.
// The file's hash, which changes with any text, and CPU times are left out.
std::string outcome(const std::string& text, const std::string& name = "t.yaml") {
  const test::TemporaryFolder folder;
  const TrainConfig config = read_train_config(text, name);
  std::string seen;
  for (const std::uint64_t seed : config.seeds) {
    const std::string checkpoint = checkpoint_path(folder.path(), seed);
    TrainerOptions options;
    options.report = [&](const IterationReport&) {
      // Iteration from which a run that is killed now would continue.
      const bool kept = std::filesystem::exists(checkpoint);
      seen += kept ? "kept " + std::to_string(load_checkpoint(checkpoint).iteration) + "\n" : "";
      return true;
    };
    const Checkpoint end = train_agent(config, seed, folder.path(), options);
    const std::string& provenance = end.weights.provenance;
    seen += provenance.substr(0, provenance.rfind(" (")) + "\n";
    for (const PolicyTensor& tensor : end.weights.tensors) {
      seen += tensor.name + " " + bytes_of(tensor.shape) + bytes_of(tensor.values);
    }
    seen += bytes_of(end.weights.input_shift) + bytes_of(end.weights.input_scale);
    for (const auto& moments : {end.adam.mean, end.adam.square}) {
      for (const auto& tensor : moments) seen += bytes_of(tensor);
    }
    std::string metrics =
        read_text_file(seed_folder(folder.path(), seed) + "/metrics.csv", 1 << 20);
    for (std::size_t begin = 0; begin < metrics.size();) {
      const std::size_t stop = metrics.find('\n', begin) + 1;
      constexpr int kCpu = 11;  // the column of CPU times
      std::size_t cell = begin;
      for (int column = 0; column < kCpu; ++column) cell = metrics.find(',', cell) + 1;
      const std::size_t next = std::min(metrics.find(',', cell), stop);
      seen += metrics.substr(begin, cell - begin) + metrics.substr(next, stop - next);
      begin = stop;
    }
    seen += train_agent_triggers(config, end).text;
  }
  return seen;
}

// A key, its other value, and the keys of both runs that differ from usual(). `refused` marks a key
// whose other value is refused, because it changes which records are read.
struct Probe {
  std::string path;
  std::string other;
  Keys both{};
  bool refused = false;
};

std::vector<Probe> probes(const std::string& trained_before) {
  const Keys no_memory{{"algorithm", "dqn"},    {"agent.lstm", "0"}, {"warm_start.iterations", "0"},
                       {"ppo.iterations", "3"}, {"dqn.batch", "16"}, {"dqn.updates", "4"}};
  const auto rule = [](const std::string& key, const std::string& value) {
    return Keys{{"exploration.entropy", "5"}, {"exploration." + key, value}};
  };
  const Keys expert{{"warm_start.iterations", "2"}, {"warm_start.margin", "1"}};
  // The first iteration explores only.
  const Keys own{{"warm_start.expert", "experience"},
                 {"warm_start.iterations", "4"},
                 {"budget.samples", "6"},
                 {"budget.cap", "60"},
                 {"budget.contenders", "9"},
                 {"budget.rule", "false"},
                 {"budget.prior", "0"}};
  const Keys variants{{"variant", "v"},
                      {"variants", "{v: {ppo: {gamma: 0.1}}, w: {ppo: {gamma: 0.8}}}"}};
  // NICs are counted between nodes.
  const Keys counted{
      {"train",
       "[{options: {fabric: {name: ndv4, nodes: 2}, actions: stock-nccl, episode: 8, "
       "features: [size, machine, recent, counters], "
       "workload: {name: sweep, sizes: [64KiB, 1MiB]}}}]"},
      {"evaluate", "null"},
      {"warm_start.iterations", "0"}};
  const Keys trigger{{"part.options", kNoisy},
                     {"trigger.streams", "2"},
                     {"trigger.calls", "200"},
                     {"trigger.false_alarms", "1"}};
  Keys learned = trigger;
  learned["trigger.form"] = "lstm";
  learned["trigger.units"] = "2";
  learned["trigger.fit_streams"] = "2";
  learned["trigger.epochs"] = "2";
  return {
      {"name", "others"},
      {"value_prior",
       "false",
       {{"part.options",
         "{fabric: ndv4, actions: stock-nccl, episode: 8, "
         "workload: {name: sweep, sizes: [64KiB]}}"},
        {"train",
         "[{options: {fabric: ndv4, actions: stock-nccl, episode: "
         "8, workload: {name: sweep, sizes: [64KiB]}}}]"},
        {"evaluate", "null"}}},
      {"reward", "negative-time"},
      {"budget.samples", "3", own},
      {"budget.cap", "10", own},
      {"budget.contenders", "0", own},
      {"budget.rule", "true", own},
      {"budget.prior", "0.01", own},
      {"algorithm", "dqn", {{"agent.lstm", "0"}, {"warm_start.iterations", "0"}}},
      {"evaluate_every", "2"},
      {"checkpoint_every", "2"},
      {"seeds", "[2]"},
      {"variants", "{v: {ppo: {gamma: 0.2}}, w: {ppo: {gamma: 0.8}}}", variants},
      {"variant", "w", variants},
      {"start_from", trained_before},

      {"part.environment", "Counter-v0", {}, true},
      {"part.options", kSmall + ", reward: negative-time}"},
      {"part.from", "1"},
      {"part.until", "1"},
      {"part.disagreement", "3"},

      {"curriculum.size", "1", counted},
      {"curriculum.machine", "1", counted},
      {"curriculum.recent", "1", counted},
      {"curriculum.counters", "1", counted},

      {"evaluation.label", "another"},
      {"evaluation.environment", "Counter-v0", {}, true},
      {"evaluation.options", kSmall + ", reward: negative-time, oracle: false}"},
      {"evaluation.calls", "5"},

      {"agent.encoder", "[6, 5]"},
      {"agent.lstm", "2"},
      {"agent.head", "5"},
      {"agent.value", "6"},

      {"warm_start.expert", "svm", expert},
      {"warm_start.iterations", "2"},
      {"warm_start.temperature", "1", expert},
      {"warm_start.margin",
       "0.5",
       {{"warm_start.iterations", "2"}, {"warm_start.temperature", "1"}}},
      {"warm_start.learning_rate", "0.02"},

      {"ppo.iterations", "3"},
      {"ppo.environments", "3"},
      {"ppo.steps", "32"},
      {"ppo.sequence", "8"},
      {"ppo.epochs", "3"},
      {"ppo.minibatches", "4"},
      {"ppo.gamma", "0.9"},
      {"ppo.lambda", "0.1"},
      {"ppo.clip", "0.001"},
      {"ppo.entropy", "0.5"},
      {"ppo.exploration", "[{entropy: 2}]"},
      {"ppo.value_weight", "5"},
      {"ppo.learning_rate", "0.01"},
      {"ppo.largest_norm", "0.001"},

      {"exploration.collectives", "alltoall", rule("collectives", "allreduce")},
      {"exploration.fabrics", "dgx1", rule("fabrics", "ring")},
      {"exploration.nodes", "several", rule("nodes", "one")},
      {"exploration.least", "8KiB", rule("least", "1KiB")},
      {"exploration.most", "8KiB", rule("most", "1GiB")},
      {"exploration.shared", "true", rule("shared", "false")},
      {"exploration.entropy", "1", rule("entropy", "5")},

      {"dqn.replay", "20", no_memory},
      {"dqn.batch", "8", no_memory},
      {"dqn.updates", "5", no_memory},
      {"dqn.epsilon", "0.9", no_memory},

      {"trigger.form", "lstm", trigger},
      {"trigger.streams", "3", trigger},
      {"trigger.calls", "150", trigger},
      {"trigger.false_alarms", "1000", trigger},
      {"trigger.rough", "1", trigger},
      {"trigger.units", "3", learned},
      {"trigger.fit_streams", "3", learned},
      {"trigger.epochs", "3", learned},
  };
}

// Groups of keys (mappings in a training file), by the names used here.
std::vector<std::pair<std::string, const std::vector<OptionSpec>*>> groups() {
  return {{"", &train_options()},
          {"part", &training_part_options()},
          {"evaluation", &evaluation_part_options()},
          {"agent", &agent_options()},
          {"budget", &budget_options()},
          {"curriculum", &curriculum_options()},
          {"warm_start", &warm_start_options()},
          {"ppo", &ppo_options()},
          {"exploration", &exploration_options()},
          {"dqn", &dqn_options()},
          {"trigger", &trigger_options()}};
}
// Keys whose values are groups or lists of groups. The keys of the groups are probed instead.
const std::set<std::string> kGroups{"train",      "evaluate", "agent", "budget", "curriculum",
                                    "warm_start", "ppo",      "dqn",   "trigger"};

TEST_CASE("Every key of a training file has a probe", "[agents][train-keys]") {
  std::set<std::string> probed;
  for (const Probe& probe : probes("somewhere")) {
    INFO(probe.path);
    CHECK(probed.insert(probe.path).second);
  }
  std::set<std::string> known;
  for (const auto& [group, specs] : groups()) {
    for (const OptionSpec& spec : *specs) {
      if (group.empty() && kGroups.contains(spec.name)) continue;
      known.insert(group.empty() ? spec.name : group + "." + spec.name);
    }
  }
  CHECK(known == probed);
}

TEST_CASE("Every key of a training file changes the results of the training",
          "[agents][train-keys]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const test::TemporaryFolder folder;
  (void)train_agent(read_train_config(training_file(usual()), "t.yaml"), 1, folder.path(), {});
  const std::string plain = outcome(training_file(usual()));
  // A comment does not change a key's value and must not change the results.
  const bool again = outcome("# again\n" + training_file(usual())) == plain;
  CHECK(again);
  std::map<std::string, std::string> outcomes{
      {training_file(usual()), plain}};  // first runs of probes
  for (const Probe& probe : probes(folder.path())) {
    INFO(probe.path << ": " << probe.other);
    Keys one = usual();
    for (const auto& [path, value] : probe.both) one[path] = value;
    Keys two = one;
    two[probe.path] = probe.other;
    REQUIRE(training_file(one) != training_file(two));
    if (probe.refused) {
      CHECK_THROWS_AS(read_train_config(training_file(two), "t.yaml"), UserError);
      continue;
    }
    std::string& before = outcomes[training_file(one)];
    if (before.empty()) before = outcome(training_file(one));
    const bool changed = outcome(training_file(two)) != before;
    CHECK(changed);
  }
}

TEST_CASE("A variant's keys have the same effect as in the file itself", "[agents][train-keys]") {
  SKIP_UNLESS(training_available(), test::kNeedsTorch);
  const std::map<std::string, std::pair<std::string, std::string>> changes{
      {"agent", {"agent.lstm", "0"}},
      {"curriculum", {"curriculum.machine", "1"}},
      {"warm_start", {"warm_start.iterations", "2"}},
      {"value_prior", {"value_prior", "false"}},
      {"reward", {"reward", "negative-time"}},
      {"budget", {"budget.samples", "3"}},
      {"algorithm", {"algorithm", "dqn"}},
      {"ppo", {"ppo.clip", "0.001"}},
      {"dqn", {"dqn.updates", "5"}},
      {"trigger", {"trigger.streams", "0"}},
      {"seeds", {"seeds", "[2]"}}};
  std::set<std::string> known;
  for (const OptionSpec& spec : variant_options()) known.insert(spec.name);
  std::set<std::string> probed;
  for (const auto& [key, change] : changes) probed.insert(key);
  CHECK(known == probed);
  for (const auto& [key, change] : changes) {
    const auto& [path, value] = change;
    INFO(path << ": " << value);
    Keys keys = usual();
    if (key == "budget") {
      keys["warm_start.expert"] = "experience";
      keys["warm_start.iterations"] = "4";
    }
    if (key == "algorithm" || key == "dqn") {
      keys["agent.lstm"] = "0";
      keys["warm_start.iterations"] = "0";
    }
    if (key == "dqn") keys["algorithm"] = "dqn";
    if (key == "trigger") {
      keys["part.options"] = kNoisy;
      keys["trigger.streams"] = "1";
      keys["trigger.calls"] = "100";
    }
    Keys direct = keys;
    direct[path] = value;
    direct["name"] = "keys-v";
    keys["variant"] = "v";
    const std::size_t dot = path.find('.');
    keys["variants"] =
        "{v: {" +
        (dot == std::string::npos ? path + ": " + value
                                  : key + ": {" + path.substr(dot + 1) + ": " + value + "}") +
        "}}";
    const bool same = outcome(training_file(keys)) == outcome(training_file(direct));
    CHECK(same);
  }
}

}  // namespace
}  // namespace cclgym
