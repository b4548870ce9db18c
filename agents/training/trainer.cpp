#include "agents/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fmt/core.h>
#include <numeric>
#include <optional>
#include <utility>

#include "agents/training/learned_policy.hpp"
#include "agents/training/metrics.hpp"
#include "agents/training/training_experience.hpp"
#include "core/error.hpp"
#include "core/limits/memory_limit.hpp"

namespace cclgym {

namespace {

// Purposes of a seed's random streams. A stream depends only on the seed, its purpose and the
// iteration, so checkpoints need not store streams.
constexpr std::uint64_t kInitialWeights = 0;
constexpr std::uint64_t kRollout = 1;
constexpr std::uint64_t kOrder = 2;
constexpr std::uint64_t kNormalisation = 3;
constexpr std::uint64_t kEvaluation = 4;

double cpu_now_s() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

RolloutShape rollout_shape(const PolicyShape& shape, std::size_t environments, std::size_t steps) {
  return {.environments = environments,
          .steps = steps,
          .observations = shape.observations,
          .lstm = shape.lstm,
          .levels = shape.levels};
}

// Weights of the agent to train further. They keep their normalisation, so that inputs stay the
// same.
PolicyWeights trained_before(const TrainConfig& config, std::uint64_t seed) {
  std::string path = checkpoint_path(config.start_from, seed);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) path = checkpoint_path(config.start_from, 1);
  PolicyWeights weights = load_checkpoint(path).weights;
  if (weights.shape != config.parts.front().environment->network_shape(config.layers)) {
    throw UserError(quoted(path, 200) +
                    ": its agent has other layers, observations or actions than this training");
  }
  return weights;
}

// Computes mean and deviation of every number of the observation, over calls with random actions
// in all environments. This happens before training; they are constant afterwards.
void set_normalisation(const TrainConfig& config, std::uint64_t seed, std::size_t threads,
                       PolicyWeights& weights) {
  std::vector<CollectSlot> slots;
  for (const TrainingPart& part : config.parts) {
    slots.push_back({.environment = part.environment->make()});
  }
  constexpr std::size_t kSteps = 512;
  Rollout rollout(rollout_shape(weights.shape, slots.size(), kSteps));
  collect(std::make_shared<const PolicyNetwork>(weights), slots,
          {.seed = Random::stream(seed, {kNormalisation})(), .threads = threads}, rollout);
  const std::size_t width = rollout.shape.observations;
  for (std::size_t i = 0; i < width; ++i) {
    double sum = 0;
    double squares = 0;
    for (std::size_t row = 0; row < rollout.rows(); ++row) {
      const double x = rollout.observations[row * width + i];
      sum += x;
      squares += x * x;
    }
    const double count = static_cast<double>(rollout.rows());
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    weights.input_shift[i] = static_cast<float>(mean);
    // A number that never changes here may change elsewhere, so it is not scaled up.
    constexpr double kLeastDeviation = 1e-3;
    weights.input_scale[i] = static_cast<float>(deviation > kLeastDeviation ? 1 / deviation : 1.0);
  }
}

class Trainer {
 public:
  Trainer(const TrainConfig& config, Checkpoint state, double cpu_s, TrainingKit& kit,
          std::size_t threads)
      : config_(config),
        threads_(threads),
        kit_(kit),
        state_(std::move(state)),
        cpu_before_s_(cpu_s - cpu_now_s()) {
    if (config_.remembers()) experience_.emplace(config_, state_.weights.shape.levels);
    if (!state_.replay.empty() && (dqn() || experience_) && !restore()) {
      throw UserError("the checkpoint has the replay memory of another training");
    }
    state_.replay.clear();
  }

  Checkpoint run(const AfterIteration& after) {
    while (!ended()) {
      IterationReport report = iterate();
      const auto every = static_cast<std::uint64_t>(config_.evaluate_every);
      if (ended() || (every > 0 && state_.iteration % every == 0)) evaluate(report);
      report.cpu_s = cpu_before_s_ + cpu_now_s();
      if (!after(report, [this] { return state(); })) break;
    }
    return state();
  }

 private:
  [[nodiscard]] bool ended() const {
    return state_.iteration >= static_cast<std::uint64_t>(config_.iterations());
  }

  // State that is kept between iterations. The last one needs no replay memory.
  [[nodiscard]] Checkpoint state() const {
    Checkpoint state = state_;
    if (ended()) return state;
    if (memory_) state.replay = memory_->bytes();
    if (experience_) state.replay = experience_->bytes(state.replay);
    return state;
  }

  [[nodiscard]] bool restore_memory(std::string_view bytes) {
    memory_.emplace(static_cast<std::size_t>(config_.dqn.replay), rollout_shape(1, 1));
    return memory_->restore(bytes);
  }
  [[nodiscard]] bool restore() {
    if (!experience_) return restore_memory(state_.replay);
    std::string memory;
    if (!experience_->restore(state_.replay, memory)) return false;
    return memory.empty() || restore_memory(memory);
  }

  [[nodiscard]] RolloutShape rollout_shape(std::size_t environments, std::size_t steps) const {
    return cclgym::rollout_shape(state_.weights.shape, environments, steps);
  }

  [[nodiscard]] bool cloning() const {
    return state_.iteration < static_cast<std::uint64_t>(config_.warm_start.iterations);
  }
  [[nodiscard]] bool dqn() const { return config_.algorithm == Algorithm::Dqn; }
  // Progress from 0 to 1 within the warm start or within PPO.
  [[nodiscard]] double progress() const {
    const double done = static_cast<double>(state_.iteration);
    const double warm = config_.warm_start.iterations;
    return cloning() ? done / warm : (done - warm) / config_.ppo.iterations;
  }

  IterationReport iterate() {
    IterationReport report;
    report.warm_start = cloning();
    if (state_.iteration == static_cast<std::uint64_t>(config_.warm_start.iterations)) {
      state_.adam = initial_adam_state(state_.weights);  // moments differ between losses
    }
    const auto steps = static_cast<std::size_t>(config_.ppo.steps);
    const auto environments = static_cast<std::size_t>(config_.ppo.environments);
    require_memory(rollout_shape(environments, steps).bytes(),
                   fmt::format("a rollout of {} environments and {} steps", environments, steps),
                   "fewer environments or steps (ppo) need less");
    std::vector<const TrainingPart*> taken;
    const bool imitates = cloning() && config_.warm_start.expert == ExpertKind::Experience;
    std::vector<CollectSlot> slots =
        kit_.take_slots(state_.iteration, cloning() && !imitates, taken);
    if (experience_) experience_->lend(taken, slots);
    Rollout rollout(rollout_shape(slots.size(), steps));
    // The share of the expert's calls falls to 0 by the middle of the warm start.
    const double share = report.warm_start ? std::max(0.0, 1 - 2 * progress()) : -1;
    collect(std::make_shared<const PolicyNetwork>(state_.weights), slots,
            {.seed = Random::stream(state_.seed, {kRollout, state_.iteration})(),
             .expert_share = imitates ? -1 : share,
             .epsilon = dqn() ? std::max(config_.dqn.epsilon, 1 - 2 * progress()) : -1,
             .explored_share = imitates ? 1 - progress() : -1,
             .prior = config_.value_prior,
             .exploration = config_.ppo.exploration,
             .entropy = config_.ppo.entropy,
             .threads = threads_},
            rollout);
    if (experience_) experience_->keep(taken, slots);
    kit_.keep_slots(std::move(slots), taken);
    estimate_advantages(rollout, config_.ppo.gamma, config_.ppo.lambda);
    const double sum = std::accumulate(rollout.reward.begin(), rollout.reward.end(), 0.0);
    report.mean_reward = sum / static_cast<double>(rollout.rows());
    if (dqn()) {
      learn_q_values(rollout, report);
    } else {
      learn(rollout, report);
    }
    ++state_.iteration;
    report.iteration = static_cast<int>(state_.iteration);
    report.calls = state_.iteration * rollout.rows();
    return report;
  }

  void learn(const Rollout& rollout, IterationReport& report) {
    const PpoOptions& ppo = config_.ppo;
    const double left = 1 - progress();
    const double entropy = rollout.entropy.empty() ? ppo.entropy : 1;  // 1: the rollout has weights
    LossOptions loss{.clone = report.warm_start,
                     .clip = ppo.clip,
                     .entropy = report.warm_start ? 0 : entropy * left,
                     .value_weight = ppo.value_weight};
    const double rate = report.warm_start ? config_.warm_start.learning_rate : ppo.learning_rate;
    report.learning_rate = rate * (0.1 + 0.9 * left);
    const auto length = static_cast<std::size_t>(ppo.sequence);
    std::vector<std::size_t> order(rollout.rows() / length);
    const auto minibatches = static_cast<std::size_t>(ppo.minibatches);
    const double updates = static_cast<double>(ppo.epochs) * static_cast<double>(minibatches);
    for (int epoch = 0; epoch < ppo.epochs; ++epoch) {
      Random random = Random::stream(state_.seed,
                                     {kOrder, state_.iteration, static_cast<std::uint64_t>(epoch)});
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t i = order.size(); i-- > 1;) {
        const auto other = random.integer(0, static_cast<std::int64_t>(i));
        std::swap(order[i], order[static_cast<std::size_t>(other)]);
      }
      for (std::size_t m = 0; m < minibatches; ++m) {
        const std::size_t begin = order.size() * m / minibatches;
        const std::size_t end = order.size() * (m + 1) / minibatches;
        SequenceBatch batch =
            gather_sequences(rollout, length, std::span(order).subspan(begin, end - begin));
        normalise(batch.advantage);
        PolicyGradient gradient = policy_gradient(state_.weights, batch, loss, threads_);
        report.gradient_norm += adam_step(state_.weights, state_.adam, gradient,
                                          report.learning_rate, ppo.largest_norm) /
                                updates;
        const LossStatistics& one = gradient.statistics;
        report.loss.policy += one.policy / updates;
        report.loss.value += one.value / updates;
        report.loss.entropy += one.entropy / updates;
        report.loss.divergence += one.divergence / updates;
        report.loss.clipped += one.clipped / updates;
      }
    }
  }

  void learn_q_values(const Rollout& rollout, IterationReport& report) {
    if (!memory_) memory_.emplace(static_cast<std::size_t>(config_.dqn.replay), rollout.shape);
    memory_->add(rollout);
    if (memory_->size() == 0) return;
    const auto frozen = std::make_shared<const PolicyNetwork>(state_.weights);
    report.learning_rate = config_.ppo.learning_rate * (0.1 + 0.9 * (1 - progress()));
    std::vector<std::size_t> chosen(static_cast<std::size_t>(config_.dqn.batch));
    Random random = Random::stream(state_.seed, {kOrder, state_.iteration});
    for (int update = 0; update < config_.dqn.updates; ++update) {
      const auto last = static_cast<std::int64_t>(memory_->size()) - 1;
      for (std::size_t& one : chosen) one = static_cast<std::size_t>(random.integer(0, last));
      const SequenceBatch batch = memory_->batch(
          chosen, std::make_shared<const PolicyNetwork>(state_.weights), frozen, config_.ppo.gamma);
      PolicyGradient gradient =
          policy_gradient(state_.weights, batch, {.q_values = true}, threads_);
      report.gradient_norm += adam_step(state_.weights, state_.adam, gradient, report.learning_rate,
                                        config_.ppo.largest_norm) /
                              config_.dqn.updates;
      report.loss.policy += gradient.statistics.policy / config_.dqn.updates;
    }
  }

  void evaluate(IterationReport& report) const {
    report.evaluation.resize(config_.evaluation.size());
    for (std::size_t i = 0; i < config_.evaluation.size(); ++i) {
      const EvaluationPart& part = config_.evaluation[i];
      const auto& setup = part.environment->setup();
      if (setup && setup->oracle) setup->fill_oracle(threads_);
      LearnedPolicy policy(state_.weights);
      const std::uint64_t seed = Random::stream(state_.seed, {kEvaluation, i})();
      report.evaluation[i] =
          measure_policy(policy, *part.environment, static_cast<std::uint64_t>(part.calls), seed);
    }
  }

  const TrainConfig& config_;
  std::size_t threads_;
  TrainingKit& kit_;
  Checkpoint state_;  ///< without the replay memory
  double cpu_before_s_ = 0;
  std::optional<ReplayMemory> memory_;
  std::optional<TrainingExperience> experience_;
};

}  // namespace

Checkpoint begin_training(const TrainConfig& config, std::uint64_t seed, std::size_t threads) {
  Checkpoint state;
  state.config_hash = config.hash();
  state.seed = seed;
  const std::string training =
      fmt::format("training {} ({}), seed {}", config.name, config.hash(), seed);
  if (!config.start_from.empty()) {
    state.weights = trained_before(config, seed);
    state.weights.provenance += "; then " + training;
    state.adam = initial_adam_state(state.weights);
    return state;
  }
  const TrainingEnvironment& first = *config.parts.front().environment;
  Random random = Random::stream(seed, {kInitialWeights});
  state.weights = initial_policy_weights(first.network_shape(config.layers), random);
  first.describe(state.weights);
  state.weights.provenance = training;
  state.adam = initial_adam_state(state.weights);
  set_normalisation(config, seed, threads, state.weights);
  return state;
}

Checkpoint continue_training(const TrainConfig& config, Checkpoint state, double cpu_s,
                             TrainingKit& kit, std::size_t threads, const AfterIteration& after) {
  return Trainer(config, std::move(state), cpu_s, kit, threads).run(after);
}

void check_checkpoint(const Checkpoint& checkpoint, const TrainConfig& config, std::uint64_t seed,
                      const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(quoted(path, 200) + " is " + why +
                    "; choose another folder with --out, or start over with --fresh");
  };
  if (checkpoint.config_hash != config.hash()) {
    refuse("a checkpoint of another training file, or a program or file that it names has changed");
  }
  if (checkpoint.seed != seed) refuse(fmt::format("a checkpoint of seed {}", checkpoint.seed));
  if (checkpoint.weights.shape != config.parts.front().environment->network_shape(config.layers)) {
    refuse("a checkpoint of a network of other sizes");
  }
}

Checkpoint train_agent(const TrainConfig& config, std::uint64_t seed, const std::string& folder,
                       const TrainerOptions& options) {
  const std::string own = seed_folder(folder, seed);
  std::error_code error;
  std::filesystem::create_directories(own, error);
  if (error) throw UserError(quoted(own, 200) + ": cannot be made: " + error.message());
  const std::string path = checkpoint_path(folder, seed);
  Checkpoint state;
  if (std::filesystem::exists(path)) {
    state = load_checkpoint(path);
    check_checkpoint(state, config, seed, path);
  } else {
    state = begin_training(config, seed, options.threads);
  }
  MetricsFile metrics(config, own + "/metrics.csv", static_cast<int>(state.iteration));
  TrainingKit kit(config, options.threads, options.notice);
  return continue_training(
      config, std::move(state), metrics.cpu_s(), kit, options.threads,
      [&](const IterationReport& report, const std::function<Checkpoint()>& now) {
        metrics.add(report);
        const bool last = report.iteration == config.iterations();
        if (last || report.iteration % config.checkpoint_every == 0) save_checkpoint(now(), path);
        return !options.report || options.report(report);
      });
}

}  // namespace cclgym
