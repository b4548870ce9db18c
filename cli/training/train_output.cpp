#include "cli/training/train_output.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "agents/training/checkpoint.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/print.hpp"

namespace cclgym {

namespace {

void print_agent(const Training& training, const TrainedAgent& agent) {
  const TrainConfig& config = training.config;
  const IterationReport& report = agent.last;
  const std::uint64_t seed = agent.seed;
  for (const std::string& line : agent.trigger_lines) print_out("seed {}  {}\n", seed, line);
  const std::string path = checkpoint_path(training.folder, seed);
  if (report.iteration == 0) {
    print_out("seed {}  already done: {} iterations, {}\n", seed, agent.iteration, path);
    return;
  }
  for (std::size_t i = 0; i < report.evaluation.size(); ++i) {
    const PolicyMeasure& one = report.evaluation[i];
    print_out("seed {}  {}: ", seed, config.evaluation[i].label);
    if (!std::isnan(one.oracle_ratio)) {
      print_out("{:.4f} x the oracle's time, worst cell {:.4f} x, ", one.oracle_ratio,
                one.worst_cell);
    }
    if (!std::isnan(one.default_ratio)) {
      print_out("{:.4f} x the default's time, ", one.default_ratio);
    }
    print_out("mean reward {:.4f} over {} calls\n", one.mean_reward, one.calls);
  }
  print_out("seed {}  {} iterations, {:.0f} CPU seconds, {}\n", seed, report.iteration,
            report.cpu_s, path);
}

// A ratio that an environment does not provide is NaN, which becomes null. `reward` and `cpu_s`
// are null if no iteration was left.
nlohmann::ordered_json agent_json(const Training& training, const TrainedAgent& agent) {
  const IterationReport& report = agent.last;
  const bool now = report.iteration > 0;
  nlohmann::ordered_json json{{"seed", agent.seed},
                              {"iterations", now ? report.iteration : agent.iteration},
                              {"trained_now", now},
                              {"checkpoint", checkpoint_path(training.folder, agent.seed)},
                              {"mean_reward", now ? report.mean_reward : std::nan("")},
                              {"cpu_s", now ? report.cpu_s : std::nan("")},
                              {"evaluation", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < report.evaluation.size(); ++i) {
    const PolicyMeasure& one = report.evaluation[i];
    json["evaluation"].push_back({{"label", training.config.evaluation[i].label},
                                  {"calls", one.calls},
                                  {"mean_reward", one.mean_reward},
                                  {"oracle_ratio", one.oracle_ratio},
                                  {"worst_cell", one.worst_cell},
                                  {"default_ratio", one.default_ratio}});
  }
  if (!agent.trigger_lines.empty()) json["triggers"] = agent.trigger_lines;
  return json;
}

}  // namespace

void TrainOutput::take_agent(const Training& training, const TrainedAgent& agent) {
  if (json_) {
    agents_.push_back(agent_json(training, agent));
  } else if (!quiet_) {
    print_agent(training, agent);
  }
}

void TrainOutput::take_end(const Training& training, const std::string& page, bool written) {
  if (!json_) {
    if (!quiet_ && written) print_out("report  {}\n", page);
    return;
  }
  trainings_.push_back({{"name", training.config.name},
                        {"folder", training.folder},
                        {"report", page},
                        {"iterations", training.config.iterations()},
                        {"agents", std::move(agents_)}});
  agents_ = nlohmann::ordered_json::array();
}

void TrainOutput::finish() const {
  if (json_) print_json({{"trainings", trainings_}});
}

}  // namespace cclgym
