// An environment under test; used by EnvChecker only.
#pragma once

#include <string>
#include <vector>

#include "env/gym/environment.hpp"

namespace cclgym {

/// Copied result of a reset or a step. Records are compared bitwise, so NaN equals itself.
struct StepRecord {
  std::vector<float> observation;
  std::vector<std::uint8_t> action_mask;
  std::vector<double> info;
  StepOutcome outcome;
};
/// Text of the first difference, such as "observation 3: 0.5, not 0.25"; empty if all bits agree.
[[nodiscard]] std::string difference(const StepRecord& found, const StepRecord& expected);

/// List of problems without repetitions, since a fault shows at every step.
class Problems {
 public:
  void add(std::string problem);
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

/// Runs an environment alternately in two sets of buffers that are filled with garbage before each
/// call, and reports garbage that remains and values outside their spaces.
class DrivenEnvironment {
 public:
  DrivenEnvironment(std::unique_ptr<Environment> environment, Problems& problems);

  [[nodiscard]] Environment& environment() { return *environment_; }
  [[nodiscard]] const EnvironmentSpec& spec() const { return environment_->spec(); }
  const StepRecord& reset(std::optional<std::uint64_t> seed, const YamlValue& options = {});
  const StepRecord& step(std::span<const std::int32_t> action);
  /// Draws a legal action in the current state into `out` and checks the conditional masks along
  /// the way.
  void choose(Random& random, std::span<std::int32_t> out);
  /// True if an action of the space is legal in the current state.
  [[nodiscard]] bool legal(std::span<const std::int32_t> action) const;
  /// True if the step throws Error and leaves the buffers unchanged. Otherwise reports "WHAT ..."
  /// and returns false.
  template <class Error>
  bool refuses(std::span<const std::int32_t> action, const std::string& what);
  [[nodiscard]] const StepRecord& last() const { return last_; }

 private:
  StepBuffers next_buffers();
  const StepRecord& take(const StepBuffers& out, const StepOutcome& outcome, const char* method);

  std::unique_ptr<Environment> environment_;
  Problems& problems_;
  OwnedBuffers buffers_[2];
  std::size_t turn_ = 0;
  StepRecord last_;
  std::vector<std::uint8_t> segment_;
};

template <class Error>
bool DrivenEnvironment::refuses(std::span<const std::int32_t> action, const std::string& what) {
  const StepBuffers out = next_buffers();
  const auto bytes_of = [](const auto& span) {
    const auto bytes = std::as_bytes(span);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto observation = bytes_of(out.observation);
  const auto action_mask = bytes_of(out.action_mask);
  const auto info = bytes_of(out.info);
  try {
    environment_->step(action, out);
    problems_.add(what + " is not refused");
    return false;
  } catch (const Error&) {
  } catch (const std::exception& error) {
    problems_.add(what + " throws the wrong exception: " + error.what());
    return false;
  }
  if (observation != bytes_of(out.observation) || action_mask != bytes_of(out.action_mask) ||
      info != bytes_of(out.info)) {
    problems_.add(what + " is refused only after buffers were written");
    return false;
  }
  return true;
}

}  // namespace cclgym
