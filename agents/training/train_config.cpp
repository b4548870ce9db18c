#include "agents/training/train_config.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <limits>

#include "core/error.hpp"

namespace cclgym {

namespace {

// A mapping with checked keys that a variant may override; missing keys have their defaults.
class Reader {
 public:
  Reader(const YamlValue& mapping, const std::vector<OptionSpec>& specs, std::string_view what,
         const std::string& file, const YamlValue& changes = {})
      : mapping_(mapping.is_null() ? parse_yaml("{}", file) : mapping),
        changes_(changes),
        specs_(specs) {
    check_keys(mapping_, specs, what);
  }

  /// The mapping under a key, with the variant's changes.
  [[nodiscard]] Reader inner(std::string_view key, const std::vector<OptionSpec>& specs,
                             const std::string& file) const {
    const YamlValue* changes = changes_.is_null() ? nullptr : changes_.find(key);
    if (changes != nullptr) check_keys(*changes, specs, key);
    return {option_value(mapping_, spec(key)), specs, key, file,
            changes != nullptr ? *changes : YamlValue{}};
  }

  [[nodiscard]] const OptionSpec& spec(std::string_view key) const {
    return find_option(specs_, key);
  }
  [[nodiscard]] YamlValue value(std::string_view key) const {
    const bool changed = !changes_.is_null() && changes_.find(key) != nullptr;
    return option_value(changed ? changes_ : mapping_, spec(key));
  }
  [[nodiscard]] int count(std::string_view key) const {
    return static_cast<int>(read_integer(value(key), spec(key)));
  }
  [[nodiscard]] double real(std::string_view key) const { return read_real(value(key), spec(key)); }
  [[nodiscard]] std::string text(std::string_view key) const {
    return read_text(value(key), spec(key));
  }
  [[nodiscard]] std::size_t choice(std::string_view key) const {
    return read_choice(value(key), spec(key));
  }
  [[nodiscard]] const YamlValue& mapping() const { return mapping_; }

 private:
  YamlValue mapping_;
  YamlValue changes_;
  const std::vector<OptionSpec>& specs_;
};

// `reward` takes the place of the options' own, unless it is null.
std::shared_ptr<const TrainingEnvironment> read_environment(const Reader& reader,
                                                            const TrainingEnvironmentMaker& make,
                                                            const YamlValue& reward = {}) {
  const SourceLocation where = reader.value("environment").location();
  return make(reader.text("environment"), reader.value("options"), where, reward);
}

// Throws unless two environments have the same observations and actions, as a policy needs.
void check_alike(const TrainingEnvironment& first, const TrainingEnvironment& other,
                 const YamlValue& where) {
  if (first.spec().observation_space == other.spec().observation_space &&
      first.spec().action_space == other.spec().action_space) {
    return;
  }
  throw UserError(where.location(),
                  "this environment has other observations or actions than the first one; expected "
                  "the same environment, actions, number of tuners, window and features "
                  "(features, action_features, estimate_features)");
}

// Throws unless calls can be drawn by weight, if the part asks for that.
void check_weights(const Reader& reader, const TrainingPart& part) {
  if (part.disagreement == 1) return;
  const auto& setup = part.environment->setup();
  if (setup) {
    const auto workload = setup->make_workload();
    if (workload->weigh(std::vector<double>(workload->calls().size(), 1.0))) return;
  }
  throw UserError(reader.value("disagreement").location(),
                  "disagreement needs an environment CollectiveTuning-v0 with workload sweep in "
                  "random order");
}

void read_curriculum(const Reader& reader, TrainConfig& config) {
  const Reader curriculum = reader.inner("curriculum", curriculum_options(), config.file);
  for (std::size_t group = 0; group < kFeatureGroups; ++group) {
    config.features_from[group] = curriculum.count(feature_group_names()[group]);
  }
}

void read_parts(const Reader& reader, const TrainingEnvironmentMaker& make, TrainConfig& config) {
  for (const YamlValue& item : read_items(reader.value("train"), reader.spec("train"))) {
    const Reader part(item, training_part_options(), "environment", config.file);
    config.parts.push_back({.environment = read_environment(part, make, reader.value("reward")),
                            .from = part.count("from"),
                            .until = part.count("until"),
                            .disagreement = part.real("disagreement")});
    check_weights(part, config.parts.back());
    check_alike(*config.parts.front().environment, *config.parts.back().environment, item);
  }
  const YamlValue evaluation = reader.value("evaluate");
  if (evaluation.is_null()) return;
  for (const YamlValue& item : read_items(evaluation, reader.spec("evaluate"))) {
    const Reader part(item, evaluation_part_options(), "environment", config.file);
    const std::string label = part.text("label");
    if (label.find_first_of(",\"\n") != std::string::npos) {
      throw UserError(part.value("label").location(), "a label must not contain commas or quotes");
    }
    config.evaluation.push_back({.label = label,
                                 .environment = read_environment(part, make),
                                 .calls = part.count("calls")});
    check_alike(*config.parts.front().environment, *config.evaluation.back().environment, item);
  }
}

void read_agent(const Reader& reader, TrainConfig& config) {
  const Reader agent = reader.inner("agent", agent_options(), config.file);
  config.layers.encoder.clear();
  for (const std::int64_t units : read_integers(agent.value("encoder"), agent.spec("encoder"))) {
    config.layers.encoder.push_back(static_cast<std::size_t>(units));
  }
  config.layers.lstm = static_cast<std::size_t>(agent.count("lstm"));
  config.layers.head = static_cast<std::size_t>(agent.count("head"));
  config.layers.value = static_cast<std::size_t>(agent.count("value"));
}

void read_warm_start(const Reader& reader, TrainConfig& config) {
  const Reader warm = reader.inner("warm_start", warm_start_options(), config.file);
  config.warm_start = {.expert = static_cast<ExpertKind>(warm.choice("expert")),
                       .iterations = warm.count("iterations"),
                       .temperature = warm.real("temperature"),
                       .margin = warm.real("margin"),
                       .learning_rate = warm.real("learning_rate")};
  // In environments without an oracle there is no expert, so iterations default to 0.
  const bool given = !reader.value("warm_start").is_null();
  if (config.algorithm == Algorithm::Dqn) {
    if (given && config.warm_start.iterations > 0) {
      throw UserError(
          warm.mapping().location(),
          "dqn has no warm start, since cloning learns choices and not Q values; expected "
          "warm_start: {iterations: 0}");
    }
    config.warm_start.iterations = 0;
    return;
  }
  for (const TrainingPart& part : config.parts) {
    const auto& setup = part.environment->setup();
    const bool synth = setup != nullptr && !setup->actions->options().synth.empty();
    if (!given || config.warm_start.expert != ExpertKind::Formula || synth) continue;
    throw UserError(warm.mapping().location(),
                    "expert formula needs synthesised programs as actions in every environment of "
                    "train; expected an item synth:pareto, synth:throughput or synth in programs");
  }
  const bool oracle = std::ranges::all_of(
      config.parts, [](const TrainingPart& part) { return part.environment->setup() != nullptr; });
  if (oracle) return;
  if (given && config.warm_start.iterations > 0) {
    throw UserError(warm.mapping().location(),
                    "warm_start needs an environment with an oracle: CollectiveTuning-v0");
  }
  config.warm_start.iterations = 0;
}

void read_ppo(const Reader& reader, TrainConfig& config) {
  const Reader ppo = reader.inner("ppo", ppo_options(), config.file);
  config.ppo = {.iterations = ppo.count("iterations"),
                .environments = ppo.count("environments"),
                .steps = ppo.count("steps"),
                .sequence = ppo.count("sequence"),
                .epochs = ppo.count("epochs"),
                .minibatches = ppo.count("minibatches"),
                .gamma = ppo.real("gamma"),
                .lambda = ppo.real("lambda"),
                .clip = ppo.real("clip"),
                .entropy = ppo.real("entropy"),
                .exploration = {},
                .value_weight = ppo.real("value_weight"),
                .learning_rate = ppo.real("learning_rate"),
                .largest_norm = ppo.real("largest_norm")};
  if (const YamlValue rules = ppo.value("exploration"); !rules.is_null()) {
    std::vector<std::string> fabrics;
    for (const TrainingPart& part : config.parts) {
      const auto& setup = part.environment->setup();
      if (setup) fabrics.push_back(setup->site->fabrics.front()->name());
    }
    for (const YamlValue& rule : read_items(rules, ppo.spec("exploration"))) {
      config.ppo.exploration.push_back(read_exploration_rule(rule, fabrics));
    }
  }
  if (config.ppo.steps % config.ppo.sequence != 0) {
    throw UserError(ppo.value("sequence").location(),
                    fmt::format("sequence must divide steps ({}), found {}", config.ppo.steps,
                                config.ppo.sequence));
  }
  const std::int64_t sequences =
      std::int64_t{config.ppo.environments} * (config.ppo.steps / config.ppo.sequence);
  if (config.ppo.minibatches > sequences) {
    throw UserError(ppo.value("minibatches").location(),
                    fmt::format("a rollout has {} sequences, which is fewer than {} minibatches",
                                sequences, config.ppo.minibatches));
  }
  if (config.ppo.clip <= 0) {
    throw UserError(ppo.value("clip").location(), "clip must be > 0");
  }
}

void read_dqn(const Reader& reader, TrainConfig& config) {
  const Reader dqn = reader.inner("dqn", dqn_options(), config.file);
  config.dqn = {.replay = dqn.count("replay"),
                .batch = dqn.count("batch"),
                .updates = dqn.count("updates"),
                .epsilon = dqn.real("epsilon")};
  if (config.algorithm == Algorithm::Dqn && config.layers.lstm > 0) {
    throw UserError(
        reader.value("algorithm").location(),
        "dqn has no LSTM, since it replays calls one by one; expected agent: {lstm: 0}");
  }
}

// Names are none, bounds, programs, false and true.
ValuePrior prior_named(std::size_t name) {
  constexpr ValuePrior kPriors[] = {ValuePrior::None, ValuePrior::Bounds, ValuePrior::Programs,
                                    ValuePrior::None, ValuePrior::Programs};
  return kPriors[name];
}

void read_budget(const Reader& reader, TrainConfig& config) {
  const bool imitates =
      config.warm_start.iterations > 0 && config.warm_start.expert == ExpertKind::Experience;
  const YamlValue given = reader.value("budget");
  if (given.is_null() && !imitates) return;
  const Reader budget = reader.inner("budget", budget_options(), config.file);
  const bool tunes = std::ranges::all_of(
      config.parts, [](const TrainingPart& part) { return part.environment->setup() != nullptr; });
  if (!tunes || (!imitates && config.algorithm != Algorithm::Dqn)) {
    throw UserError(given.location(),
                    "a budget of exploration needs environments CollectiveTuning-v0, and algorithm "
                    "dqn or warm_start with expert experience");
  }
  config.budget = {.samples = budget.count("samples"),
                   .cap = budget.count("cap"),
                   .contenders = budget.real("contenders"),
                   .rule = read_flag(budget.value("rule"), budget.spec("rule")),
                   .prior = budget.real("prior")};
}

// Changes of the chosen variant; null if none is chosen.
YamlValue read_variant(const Reader& reader, TrainConfig& config) {
  const YamlValue variants = reader.value("variants");
  std::vector<std::string> names;
  if (!variants.is_null()) {
    for (const YamlEntry& entry : variants.entries()) {
      check_keys(entry.value, variant_options(), "variant");
      names.push_back(entry.key);
    }
  }
  const YamlValue chosen = reader.value("variant");
  if (chosen.is_null()) return {};
  config.variant = reader.text("variant");
  const YamlValue* changes = variants.is_null() ? nullptr : variants.find(config.variant);
  if (changes == nullptr) {
    throw UserError(chosen.location(),
                    names.empty() ? "this training has no variants"
                                  : unknown_name_message("variant", config.variant, names));
  }
  return *changes;
}

// First iteration in which no part is used; the largest int if there is none.
int first_idle_iteration(std::vector<TrainingPart> parts) {
  std::ranges::sort(parts, {}, &TrainingPart::from);
  int idle = 0;
  for (const TrainingPart& part : parts) {
    if (part.from > idle) break;
    if (part.until == 0) return std::numeric_limits<int>::max();
    idle = std::max(idle, part.until);
  }
  return idle;
}

}  // namespace

TrainConfig read_train_config(const std::string& text, const std::string& file,
                              const TrainingEnvironmentMaker& make) {
  TrainConfig config;
  config.file = file;
  config.text = text;
  const YamlValue mapping = parse_yaml(text, file);
  const Reader plain(mapping, train_options(), "training", file);
  const Reader reader(mapping, train_options(), "training", file, read_variant(plain, config));
  config.name = reader.text("name");
  if (!config.variant.empty()) config.name += "-" + config.variant;
  if (!reader.value("start_from").is_null()) {
    config.start_from =
        (std::filesystem::path(file).parent_path() / reader.text("start_from")).string();
  }
  read_parts(reader, make, config);
  read_curriculum(reader, config);
  read_agent(reader, config);
  config.value_prior = prior_named(reader.choice("value_prior"));
  config.algorithm = static_cast<Algorithm>(reader.choice("algorithm"));
  read_warm_start(reader, config);
  read_ppo(reader, config);
  read_dqn(reader, config);
  read_budget(reader, config);
  const Reader trigger = reader.inner("trigger", trigger_options(), file);
  config.trigger = {.form = static_cast<TriggerForm>(trigger.choice("form")),
                    .streams = trigger.count("streams"),
                    .calls = trigger.count("calls"),
                    .false_alarms = trigger.real("false_alarms"),
                    .rough = trigger.real("rough"),
                    .units = trigger.count("units"),
                    .fit_streams = trigger.count("fit_streams"),
                    .epochs = trigger.count("epochs")};
  const bool tuning = config.parts.front().environment->setup() != nullptr;
  if (config.trigger.streams == 0 && config.trigger.form != TriggerForm::Cusum) {
    throw UserError(trigger.mapping().location(),
                    "trigger has a form, but no streams, so that none would be trained; expected "
                    "streams >= 1");
  }
  if (config.trigger.streams > 0 && !tuning) {
    throw UserError(trigger.mapping().location(),
                    "a trigger needs an environment with regimes: CollectiveTuning-v0");
  }
  config.evaluate_every = reader.count("evaluate_every");
  config.checkpoint_every = reader.count("checkpoint_every");
  for (const std::int64_t seed : read_integers(reader.value("seeds"), reader.spec("seeds"))) {
    config.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  const int idle = first_idle_iteration(config.parts);
  if (idle < config.iterations()) {
    throw UserError(reader.value("train").location(),
                    fmt::format("iteration {} has no environment to train in", idle));
  }
  return config;
}

}  // namespace cclgym
