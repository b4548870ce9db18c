// The head of the page of a training: facts about the run and what came out.
#include "experiments/training/training_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.hpp"
#include "core/split.hpp"
#include "env/tuning/actions/knob.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

namespace {

// The last value of a column of a metrics.csv; empty if there is none. A last line without a line
// break was cut off.
std::string last_of(const LearningCurve& curve, std::string_view column) {
  const std::string_view text = curve.csv;
  const std::size_t end = text.rfind('\n');
  const std::size_t head = text.find('\n');
  if (end == std::string_view::npos || end == head) return "";
  const auto names = split(text.substr(0, head), ',');
  const std::size_t begin = text.rfind('\n', end - 1) + 1;
  const auto fields = split(text.substr(begin, end - begin), ',');
  const auto place = std::ranges::find(names, column) - names.begin();
  if (static_cast<std::size_t>(place) >= std::min(names.size(), fields.size())) return "";
  return std::string(fields[static_cast<std::size_t>(place)]);
}

double number_of(const std::string& text) {
  return text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
}

// Distinct texts in their order.
std::string joined(std::vector<std::string> texts) {
  std::vector<std::string> seen;
  for (std::string& text : texts) {
    if (std::ranges::find(seen, text) == seen.end()) seen.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(seen, ", "));
}

}  // namespace

TrainingFacts training_facts(std::span<const std::shared_ptr<const TuningSetup>> setups,
                             std::span<const std::uint64_t> seeds) {
  std::vector<std::string> machines;
  std::vector<std::string> actions;
  for (const auto& setup : setups) {
    if (!setup) continue;
    machines.push_back(setup->fabric_label);
    actions.push_back(action_profile_names()[static_cast<std::size_t>(setup->actions->profile())]);
  }
  TrainingFacts facts;
  if (!machines.empty()) {
    facts.emplace_back("Machines", joined(machines));
    facts.emplace_back("Actions", joined(actions));
  }
  facts.emplace_back("Seeds", fmt::format("{}", fmt::join(seeds, ", ")));
  return facts;
}

TrainingFacts curve_facts(std::span<const LearningCurve> curves) {
  double cpu_s = 0;
  double calls = 0;
  double iterations = 0;
  for (const LearningCurve& curve : curves) {
    cpu_s += number_of(last_of(curve, "cpu_s"));
    calls = std::max(calls, number_of(last_of(curve, "calls")));
    iterations = std::max(iterations, number_of(last_of(curve, "iteration")));
  }
  TrainingFacts facts;
  if (iterations > 0) {
    facts.emplace_back(
        "Steps", fmt::format("{:.0f} calls in {:.0f} iterations per seed", calls, iterations));
  }
  if (cpu_s > 0) {
    facts.emplace_back("Time", fmt::format("{:.0f} CPU seconds, {}", cpu_s,
                                           curves.size() > 1 ? "all seeds together" : "one seed"));
  }
  return facts;
}

std::vector<std::string> training_outcome(std::span<const LearningCurve> curves,
                                          std::span<const EvaluatedPart> parts) {
  std::vector<std::string> sentences;
  if (!curves.empty()) {
    sentences.push_back(fmt::format("{} {} trained.", counted(curves.size(), "agent"),
                                    curves.size() == 1 ? "was" : "were"));
  }
  for (const EvaluatedPart& part : parts) {
    const std::vector<PolicySummary> summaries = summarize_runs(part.runs);
    std::string text;
    for (const PolicySummary& one : summaries) {
      const bool agent = one.policy.starts_with("lstm-") || one.policy.starts_with("dqn");
      if (!agent && one.policy == "oracle") continue;
      if (!agent && text.size() > 90) continue;
      text += fmt::format("{}{} {:.3f}", text.empty() ? "" : ", ", one.policy, one.oracle_ratio);
    }
    if (text.empty()) continue;
    sentences.push_back(
        fmt::format("{} ({}), time / the oracle\u2019s: {}.", part.label, part.fabric, text));
  }
  return sentences;
}

}  // namespace cclgym
