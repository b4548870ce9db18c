// Text and CSV of evaluations.
#include <algorithm>
#include <fmt/format.h>

#include "agents/evaluation/evaluation.hpp"

namespace cclgym {

namespace {

// Four decimals as long as they leave the number six characters wide.
std::string short_ratio(double ratio) {
  return ratio < 10 ? fmt::format("{:.4f}", ratio) : fmt::format("{:.2f}", ratio);
}

}  // namespace

std::string evaluation_table(std::span<const PolicySummary> summaries) {
  const bool steps =
      std::ranges::any_of(summaries, [](const PolicySummary& one) { return one.step_us > 0; });
  const bool computes =
      std::ranges::any_of(summaries, [](const PolicySummary& one) { return one.iteration_us > 0; });
  // With longer names, a line would have more than 100 characters; such a name has its own line.
  const std::size_t longest = computes ? 20 : steps ? 30 : 40;
  std::size_t widest = 6;
  for (const PolicySummary& one : summaries) {
    widest = std::max(widest, std::min(one.policy.size(), longest));
  }
  std::string text = fmt::format("{:<{}}  {:>9}  {:>16}  {:>8}  {:>8}  {:>9}{}{}\n", "policy",
                                 widest, "x oracle", "seeds", "p90 cell", "worst", "speedup",
                                 steps ? "  comm. ms" : "", computes ? "  total ms" : "");
  text += fmt::format("{:<{}}  {:>9}  {:>16}  {:>8}  {:>8}  {:>9}{}{}\n", "", widest, "geo. mean",
                      "min .. max", "x oracle", "x oracle", "x default", steps ? "  per step" : "",
                      computes ? "  per step" : "");
  for (const PolicySummary& one : summaries) {
    if (one.policy.size() > widest) text += one.policy + "\n";
    text += fmt::format("{:<{}}  {:>9.4f}  {:>16}  {:>8.3f}  {:>8.3f}  {:>9.3f}{}{}\n",
                        one.policy.size() > widest ? "" : one.policy, widest, one.oracle_ratio,
                        fmt::format("{} .. {}", short_ratio(one.least_oracle_ratio),
                                    short_ratio(one.most_oracle_ratio)),
                        one.p90_cell, one.worst_cell, one.default_speedup,
                        steps ? fmt::format("  {:>8.3f}", one.step_us / 1e3) : "",
                        computes ? fmt::format("  {:>8.3f}", one.iteration_us / 1e3) : "");
  }
  return text;
}

namespace {

// S and R / C, with six digits; empty fields where they are not known.
std::string costs_field(const PlanCosts& costs) {
  if (costs.rounds_per_chunk <= 0) return ",";
  return fmt::format("{},{:.6g}", costs.steps, costs.rounds_per_chunk);
}

}  // namespace

std::string evaluation_csv(const EvaluatedPart& part, bool header) {
  std::string text;
  if (header) {
    text =
        "part,policy,seed,collective,size_bytes,calls,time_us,oracle_ratio,default_ratio,choice,"
        "cost_model,steps,rounds_per_chunk\n";
  }
  // Names of parts and tuners come from the user; characters that would break a field become
  // spaces.
  const auto field = [](std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c == ',' || c == '\n' || c == '"' || c == '\r'; }, ' ');
    return name;
  };
  for (const PolicyRun& run : part.runs) {
    for (const EvaluatedCell& cell : run.cells) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", field(part.label),
                          field(run.policy), run.seed, cell.collective, cell.bytes, cell.calls,
                          cell.time_us, cell.oracle_ratio, cell.default_ratio, field(cell.choice),
                          field(part.cost_model), costs_field(cell.costs));
    }
  }
  return text;
}

}  // namespace cclgym
