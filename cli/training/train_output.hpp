// Output of `cclgym train`: text while it goes on, or JSON at the end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "agents/tasks/training_tasks.hpp"

namespace cclgym {

/// Takes the results of all trainings, one training after the other.
class TrainOutput {
 public:
  TrainOutput(bool json, bool quiet) : json_(json), quiet_(quiet) {}

  /// An agent of the training that ends next.
  void take_agent(const Training& training, const TrainedAgent& agent);
  /// The end of a training, whose page is at `page`; `written`: by this command.
  void take_end(const Training& training, const std::string& page, bool written);
  /// Called once, at the end of the command.
  void finish() const;

 private:
  bool json_;
  bool quiet_;
  nlohmann::ordered_json agents_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json trainings_ = nlohmann::ordered_json::array();
};

}  // namespace cclgym
