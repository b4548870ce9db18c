#include "agents/export/policy_export.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "collectives/contract.hpp"
#include "deploy/runtime/mask_tree.hpp"

namespace cclgym {

namespace {

std::vector<std::uint32_t> narrow(const std::vector<std::size_t>& values) {
  std::vector<std::uint32_t> narrowed;
  for (const std::size_t value : values) narrowed.push_back(static_cast<std::uint32_t>(value));
  return narrowed;
}

// The texts on one line each; characters that would break a line become spaces.
std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (std::string text : texts) {
    std::ranges::replace(text, '\n', ' ');
    all += text + '\n';
  }
  return all;
}

void check_names(const PolicyWeights& weights) {
  const PolicyShape& shape = weights.shape;
  bool fit =
      weights.features.size() == shape.observations && weights.knobs.size() == shape.levels.size();
  for (std::size_t d = 0; fit && d < weights.knobs.size(); ++d) {
    fit = weights.knobs[d].levels.size() == shape.levels[d];
  }
  if (!fit) throw std::logic_error("to_policy_file: names do not fit the network's shape");
}

}  // namespace

std::vector<PolicyRules> policy_rules(const TuningActions& actions, const std::string& machine) {
  std::vector<PolicyRules> rules;
  for (const CollectiveKind collective : all_collectives()) {
    const auto legal = actions.legal_actions(collective);
    if (legal.empty()) continue;
    rules.push_back({machine, std::string(to_string(collective)), {legal.begin(), legal.end()}});
  }
  return rules;
}

PolicyFile to_policy_file(const PolicyWeights& weights, const std::vector<PolicyRules>& rules) {
  const std::string fault = policy_weights_fault(weights);
  if (!fault.empty()) throw std::logic_error("to_policy_file: " + fault);
  check_names(weights);
  const PolicyShape& shape = weights.shape;
  PolicyFile file;
  std::vector<std::string> knobs;
  for (const PolicyKnob& knob : weights.knobs) knobs.push_back(knob.name);
  file.texts = {{"environment", weights.environment},
                {"action_profile", weights.action_profile},
                {"provenance", weights.provenance},
                {"features", lines(weights.features)},
                {"knobs", lines(knobs)}};
  for (std::size_t d = 0; d < weights.knobs.size(); ++d) {
    file.texts.push_back({fmt::format("levels.{}", d), lines(weights.knobs[d].levels)});
  }
  file.tables = {{"observations", narrow({shape.observations})},
                 {"encoder", narrow(shape.encoder)},
                 {"lstm", narrow({shape.lstm})},
                 {"head", narrow({shape.head})},
                 {"levels", narrow(shape.levels)}};
  for (const PolicyRules& rule : rules) {
    file.tables.push_back({fmt::format("masks/{}/{}", rule.machine, rule.collective),
                           mask_tree_values(make_mask_tree(rule.actions, shape.levels.size()))});
  }
  file.tensors = {{"input.shift", narrow({shape.observations}), weights.input_shift},
                  {"input.scale", narrow({shape.observations}), weights.input_scale},
                  {"input.limit", {1}, {weights.input_limit}}};
  for (const PolicyTensor& tensor : weights.tensors) {
    if (tensor.name.starts_with("value")) continue;  // the critic does not affect decisions
    file.tensors.push_back({tensor.name, narrow(tensor.shape), tensor.values});
  }
  return file;
}

}  // namespace cclgym
