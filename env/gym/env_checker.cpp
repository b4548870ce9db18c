#include "env/gym/env_checker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "env/gym/driven_environment.hpp"

namespace cclgym {

namespace {

/// Maximum number of joint actions that are tried exhaustively.
constexpr std::int64_t kMaxTriedActions = 4096;
/// Number of states in which all joint actions are tried.
constexpr std::size_t kTriedStates = 20;

void check_spec(const EnvironmentSpec& spec, Problems& problems) {
  const std::size_t dash = spec.name.rfind("-v");
  if (dash == std::string::npos || dash == 0 || dash + 2 == spec.name.size() ||
      spec.name.find_first_not_of("0123456789", dash + 2) != std::string::npos) {
    problems.add(fmt::format("spec: the name '{}' is not of the form Name-v0", spec.name));
  }
  if (!spec.action_space.is_discrete()) {
    problems.add("spec: actions must be integers, found " + spec.action_space.text());
  }
  if (std::set<std::string>(spec.info_names.begin(), spec.info_names.end()).size() !=
      spec.info_names.size()) {
    problems.add("spec: two infos have the same name");
  }
  if (std::find(spec.info_names.begin(), spec.info_names.end(), "action_mask") !=
      spec.info_names.end()) {
    problems.add("spec: an info is named action_mask, which is the mask's key in Python");
  }
}

/// Record of the first run, which later runs must reproduce.
struct Trajectory {
  std::vector<StepRecord> records;                 ///< results of resets and steps, in order
  std::vector<std::vector<std::int32_t>> actions;  ///< empty for a reset
};

/// The choices that are part of some legal action, as an action mask; found by trying all actions.
class LegalChoices {
 public:
  LegalChoices(DrivenEnvironment& driven, Problems& problems)
      : driven_(driven),
        space_(driven.spec().action_space),
        found_(space_.mask_size(), 0),
        problems_(problems) {
    extend();
  }
  [[nodiscard]] const std::vector<std::uint8_t>& found() const { return found_; }

 private:
  void extend() {
    const std::size_t i = prefix_.size();
    if (i == space_.size()) {
      for (std::size_t j = 0; j < i; ++j) {
        found_[space_.mask_offset(j) +
               static_cast<std::size_t>(prefix_[j] - space_.dimensions()[j].start)] = 1;
      }
      return;
    }
    const Discrete& dimension = space_.dimensions()[i];
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(dimension.n));
    driven_.environment().conditional_mask(driven_.last().action_mask, prefix_, mask);
    if (std::count(mask.begin(), mask.end(), std::uint8_t{1}) == 0) {
      problems_.add(fmt::format("conditional_mask: dimension {} has no choice left: all zeros", i));
    }
    for (std::int32_t j = 0; j < dimension.n; ++j) {
      if (mask[static_cast<std::size_t>(j)] == 0) continue;
      prefix_.push_back(dimension.start + j);
      extend();
      prefix_.pop_back();
    }
  }

  DrivenEnvironment& driven_;
  const Space& space_;
  std::vector<std::uint8_t> found_;
  std::vector<std::int32_t> prefix_;
  Problems& problems_;
};

void check_marginal(DrivenEnvironment& driven, Problems& problems) {
  std::int64_t actions = 1;
  for (const Discrete& dimension : driven.spec().action_space.dimensions()) {
    actions *= dimension.n;
    if (actions > kMaxTriedActions) return;
  }
  if (LegalChoices(driven, problems).found() != driven.last().action_mask) {
    problems.add(
        "the action mask is not the marginal one: it differs from the choices in legal actions");
  }
}

/// Runs many episodes and checks everything that is visible in a single run.
Trajectory run(DrivenEnvironment& driven, const EnvChecker::Options& options, Problems& problems) {
  Random random = Random::stream(options.seed, {1});
  Trajectory seen;
  std::vector<std::int32_t> action(driven.spec().action_space.size());
  if (!driven.refuses<ResetNeeded>(
          [&] {
            Random any(options.seed);
            driven.spec().action_space.sample(any, action);
            return std::span<const std::int32_t>(action);
          }(),
          "a step before the first reset")) {
    return seen;
  }
  seen.records.push_back(driven.reset(options.seed));
  seen.actions.emplace_back();
  for (std::size_t i = 0; i < options.steps; ++i) {
    if (seen.records.back().outcome.done()) {
      driven.refuses<ResetNeeded>(action, "a step after the end of an episode");
      seen.records.push_back(driven.reset(std::nullopt));
      seen.actions.emplace_back();
    }
    if (i < kTriedStates) check_marginal(driven, problems);
    driven.choose(random, action);
    seen.records.push_back(driven.step(action));
    seen.actions.push_back(action);
  }
  return seen;
}

/// Before each step, tries actions that the environment must refuse.
void try_wrong_actions(DrivenEnvironment& driven, Random& random) {
  const Space& space = driven.spec().action_space;
  std::vector<std::int32_t> action(space.size());
  const auto draw = [&] { space.sample(random, action); };
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Discrete& dimension = space.dimensions()[i];
    draw();
    if (dimension.start > std::numeric_limits<std::int32_t>::min()) {
      action[i] = dimension.start - 1;
      driven.refuses<InvalidAction>(action, fmt::format("an action too low in dimension {}", i));
    }
    const std::int64_t above = std::int64_t{dimension.start} + dimension.n;
    if (above <= std::numeric_limits<std::int32_t>::max()) {
      action[i] = static_cast<std::int32_t>(above);
      driven.refuses<InvalidAction>(action, fmt::format("an action too high in dimension {}", i));
    }
  }
  draw();
  driven.refuses<InvalidAction>(std::span(action).first(action.size() - 1),
                                "an action with one number too few");
  if (driven.spec().refuses_illegal_actions && !driven.legal(action)) {
    driven.refuses<InvalidAction>(action, "an illegal action");
  }
  action.push_back(action.back());
  driven.refuses<InvalidAction>(action, "an action with one number too many");
}

/// Repeats a trajectory and reports the first difference.
void repeat(DrivenEnvironment& driven, const Trajectory& seen, std::uint64_t seed, bool wrong_too,
            const std::string& where, Problems& problems) {
  Random random = Random::stream(seed, {2});
  for (std::size_t i = 0; i < seen.records.size(); ++i) {
    const bool reset = seen.actions[i].empty();
    if (wrong_too && !reset) try_wrong_actions(driven, random);
    const StepRecord& record = reset ? driven.reset(i == 0 ? std::optional(seed) : std::nullopt)
                                     : driven.step(seen.actions[i]);
    const std::string text = difference(record, seen.records[i]);
    if (!text.empty()) {
      problems.add(fmt::format("same seed and actions, {}: {}", where, text));
      return;
    }
  }
}

void check_stream(const EnvironmentMaker& maker, std::uint64_t seed, Problems& problems) {
  constexpr std::uint64_t kResets = 16;
  std::set<std::vector<float>> by_seed;
  std::set<std::vector<float>> by_stream;
  DrivenEnvironment streamed(maker(), problems);
  for (std::uint64_t i = 0; i < kResets; ++i) {
    DrivenEnvironment seeded(maker(), problems);
    by_seed.insert(seeded.reset(seed + i).observation);
    by_stream.insert(streamed.reset(i == 0 ? std::optional(seed) : std::nullopt).observation);
  }
  // If observations depend on the seed, repeated resets agree only by chance.
  if (by_seed.size() >= kResets / 2 && by_stream.size() == 1) {
    problems.add("a reset without a seed restarts the stream instead of continuing it");
  }
  if (by_seed.size() == 1 && by_stream.size() >= kResets / 2) {
    problems.add("a reset with a seed ignores it");
  }
}

void check_options(const EnvironmentMaker& maker, std::uint64_t seed, Problems& problems) {
  DrivenEnvironment none(maker(), problems);
  DrivenEnvironment empty(maker(), problems);
  const StepRecord record = none.reset(seed);
  const std::string text = difference(empty.reset(seed, parse_yaml("{}", "")), record);
  if (!text.empty())
    problems.add("reset with options {} differs from a reset without options: " + text);
  try {
    empty.reset(seed, parse_yaml("{no_such_option_of_reset: 1}", ""));
    problems.add("reset accepts an unknown option");
  } catch (const UserError&) {
  }
}

}  // namespace

EnvChecker::EnvChecker(EnvironmentMaker maker, Options options)
    : maker_(std::move(maker)), options_(options) {}

std::vector<std::string> EnvChecker::check() const {
  Problems problems;
  try {
    DrivenEnvironment first(maker_(), problems);
    check_spec(first.spec(), problems);
    if (!first.spec().action_space.is_discrete()) return problems.list();
    const Trajectory seen = run(first, options_, problems);
    DrivenEnvironment second(maker_(), problems);
    repeat(second, seen, options_.seed, false, "in a new environment", problems);
    if (!first.spec().keeps_statistics) {
      repeat(first, seen, options_.seed, false, "in a used environment", problems);
    }
    DrivenEnvironment third(maker_(), problems);
    repeat(third, seen, options_.seed, true, "with refused actions in between", problems);
    check_stream(maker_, options_.seed, problems);
    check_options(maker_, options_.seed, problems);
  } catch (const std::exception& error) {
    problems.add(std::string("threw: ") + error.what());
  }
  return problems.list();
}

}  // namespace cclgym
