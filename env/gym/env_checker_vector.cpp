#include <algorithm>
#include <fmt/format.h>

#include "env/gym/driven_environment.hpp"
#include "env/gym/env_checker.hpp"
#include "env/gym/threaded_vector_env.hpp"

namespace cclgym {

namespace {

/// Compares a vector environment with single environments that are reset explicitly.
class Comparison {
 public:
  Comparison(const EnvironmentMaker& maker, VectorEnv& vector, Problems& problems)
      : vector_(vector), problems_(problems), actions_(vector.size() * width()) {
    for (std::size_t i = 0; i < vector.size(); ++i) singles_.emplace_back(maker(), problems);
  }

  void run(const EnvChecker::Options& options) {
    random_ = Random::stream(options.seed, {3});
    expect_reset_needed("before the first reset");
    vector_.reset(options.seed);
    for (std::size_t i = 0; i < vector_.size(); ++i) singles_[i].reset(options.seed + i);
    compare_all("reset");
    for (std::size_t step = 0; step < options.steps; ++step) {
      if (vector_.metadata().autoreset == Autoreset::Disabled) reset_ended();
      advance();
    }
    if (vector_.metadata().autoreset == Autoreset::Disabled &&
        std::any_of(singles_.begin(), singles_.end(), ended)) {
      for (std::size_t i = 0; i < vector_.size(); ++i) {
        if (!ended(singles_[i])) singles_[i].choose(random_, action(i));
      }
      expect_reset_needed("at the end of an episode");
    }
  }

 private:
  static bool ended(const DrivenEnvironment& single) { return single.last().outcome.done(); }
  [[nodiscard]] std::size_t width() const { return vector_.single_spec().action_space.size(); }
  std::span<std::int32_t> action(std::size_t i) {
    return std::span(actions_).subspan(i * width(), width());
  }

  void expect_reset_needed(const char* when) {
    try {
      vector_.step(actions_);
      problems_.add(fmt::format("vector: a step {} is not refused", when));
    } catch (const ResetNeeded&) {
    }
  }

  void advance() {
    const Autoreset autoreset = vector_.metadata().autoreset;
    std::vector<bool> begins(vector_.size());
    for (std::size_t i = 0; i < vector_.size(); ++i) {
      begins[i] = autoreset == Autoreset::NextStep && ended(singles_[i]);
      if (begins[i]) {
        // The action is ignored, so it may be invalid.
        for (std::size_t j = 0; j < width(); ++j) {
          action(i)[j] = vector_.single_spec().action_space.dimensions()[j].start - 1;
        }
      } else {
        singles_[i].choose(random_, action(i));
        compare_conditional(i);
      }
    }
    vector_.step(actions_);
    for (std::size_t i = 0; i < vector_.size(); ++i) {
      if (begins[i]) {
        singles_[i].reset(std::nullopt);
        compare(i, singles_[i].last(), "the step after the end");
        continue;
      }
      singles_[i].step(action(i));
      const bool finished = vector_.results().finished[i] != 0;
      if (finished != (autoreset == Autoreset::SameStep && ended(singles_[i]))) {
        problems_.add("vector: `finished` does not say that an episode ended in this step");
      }
      if (autoreset == Autoreset::SameStep && ended(singles_[i])) {
        compare_final(i);
        // The row has the outcome of the old episode and the first observation of the new one.
        StepRecord expected = singles_[i].last();
        const StepRecord& first = singles_[i].reset(std::nullopt);
        expected.observation = first.observation;
        expected.action_mask = first.action_mask;
        expected.info = first.info;
        compare(i, expected, "the last step of an episode");
      } else {
        compare(i, singles_[i].last(), "a step");
      }
    }
  }

  void reset_ended() {
    std::vector<std::uint8_t> mask(vector_.size(), 0);
    for (std::size_t i = 0; i < vector_.size(); ++i) mask[i] = ended(singles_[i]) ? 1 : 0;
    if (std::count(mask.begin(), mask.end(), std::uint8_t{1}) == 0) return;
    vector_.reset_some(mask, std::nullopt);
    for (std::size_t i = 0; i < vector_.size(); ++i) {
      if (mask[i] != 0) singles_[i].reset(std::nullopt);
    }
    compare_all("reset_some");
  }

  void compare_conditional(std::size_t i) {
    const Space& space = vector_.single_spec().action_space;
    for (std::size_t j = 0; j < width(); ++j) {
      const auto n = static_cast<std::size_t>(space.dimensions()[j].n);
      std::vector<std::uint8_t> found(n, 2);
      std::vector<std::uint8_t> expected(n, 3);
      vector_.conditional_mask(i, action(i).first(j), found);
      singles_[i].environment().conditional_mask(singles_[i].last().action_mask, action(i).first(j),
                                                 expected);
      if (found != expected) problems_.add("vector: conditional_mask differs");
    }
  }

  template <class Number>
  static std::vector<Number> row(const std::vector<Number>& rows, std::size_t i,
                                 std::size_t width) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
    return {begin, begin + static_cast<std::ptrdiff_t>(width)};
  }

  void compare(std::size_t i, const StepRecord& expected, const char* where) {
    const VectorBuffers& results = vector_.results();
    const StepRecord found{.observation = row(results.observations, i, expected.observation.size()),
                           .action_mask = row(results.action_masks, i, expected.action_mask.size()),
                           .info = row(results.infos, i, expected.info.size()),
                           .outcome = {.reward = results.rewards[i],
                                       .terminated = results.terminated[i] != 0,
                                       .truncated = results.truncated[i] != 0}};
    report(difference(found, expected), where);
  }

  void compare_final(std::size_t i) {
    const VectorBuffers& results = vector_.results();
    const StepRecord& expected = singles_[i].last();
    const StepRecord found{
        .observation = row(results.final_observations, i, expected.observation.size()),
        .action_mask = row(results.final_action_masks, i, expected.action_mask.size()),
        .info = row(results.final_infos, i, expected.info.size()),
        .outcome = expected.outcome};
    report(difference(found, expected), "the final results of an episode");
  }

  void compare_all(const char* where) {
    for (std::size_t i = 0; i < vector_.size(); ++i) compare(i, singles_[i].last(), where);
  }

  void report(const std::string& text, const char* where) {
    if (!text.empty()) problems_.add(fmt::format("vector: {}: {}", where, text));
  }

  VectorEnv& vector_;
  Problems& problems_;
  std::vector<DrivenEnvironment> singles_;
  std::vector<std::int32_t> actions_;
  Random random_{0};
};

}  // namespace

std::vector<std::string> EnvChecker::check_vector(Autoreset autoreset, std::size_t workers,
                                                  std::size_t environments) const {
  Problems problems;
  try {
    const auto makers = same_makers(environments, maker_);
    std::unique_ptr<VectorEnv> vector;
    if (workers == 0) {
      vector = std::make_unique<SyncVectorEnv>(makers, autoreset);
    } else {
      vector = std::make_unique<ThreadedVectorEnv>(makers, workers, autoreset);
    }
    if (vector->metadata().autoreset != autoreset) {
      problems.add("vector: the metadata name another autoreset mode");
    }
    Comparison(maker_, *vector, problems).run(options_);
  } catch (const std::exception& error) {
    problems.add(std::string("vector: threw: ") + error.what());
  }
  return problems.list();
}

}  // namespace cclgym
