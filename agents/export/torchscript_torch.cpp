// Makes the module of torchscript.hpp, and loads it, with LibTorch.
#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "agents/export/torchscript.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

using torch::Tensor;
using torch::jit::IValue;

Tensor tensor_of(const std::vector<float>& values, const std::vector<std::size_t>& shape) {
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  Tensor tensor = torch::empty(sizes, torch::kFloat32);
  std::ranges::copy(values, tensor.data_ptr<float>());
  return tensor;
}

c10::List<std::string> list_of(const std::vector<std::string>& texts) {
  c10::List<std::string> list;
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

void add_names(torch::jit::Module& module, const PolicyWeights& weights) {
  const auto text = [&](const char* name, const std::string& value) {
    module.register_attribute(name, c10::StringType::get(), value);
  };
  text("environment", weights.environment);
  text("action_profile", weights.action_profile);
  text("provenance", weights.provenance);
  const auto texts = c10::ListType::create(c10::StringType::get());
  module.register_attribute("feature_names", texts, list_of(weights.features));
  std::vector<std::string> knobs;
  c10::List<c10::List<std::string>> levels;
  for (const PolicyKnob& knob : weights.knobs) {
    knobs.push_back(knob.name);
    levels.push_back(list_of(knob.levels));
  }
  module.register_attribute("knob_names", texts, list_of(knobs));
  module.register_attribute("level_names", c10::ListType::create(texts), levels);
}

void add_rules(torch::jit::Module& module, const std::vector<PolicyRules>& rules,
               std::size_t dimensions) {
  c10::Dict<std::string, Tensor> all;
  for (const PolicyRules& rule : rules) {
    const auto rows = static_cast<std::int64_t>(rule.actions.size() / dimensions);
    Tensor legal = torch::empty({rows, static_cast<std::int64_t>(dimensions)}, torch::kInt64);
    std::ranges::copy(rule.actions, legal.data_ptr<std::int64_t>());
    all.insert(rule.machine + "/" + rule.collective, legal);
  }
  module.register_attribute(
      "rules", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()), all);
}

template <class Number>
void append(const Tensor& tensor, std::vector<Number>& to) {
  const Tensor dense = tensor.contiguous();
  to.insert(to.end(), dense.data_ptr<Number>(), dense.data_ptr<Number>() + dense.numel());
}

void append_logits(const IValue& outputs, std::vector<float>& to) {
  for (const Tensor& logits : outputs.toTuple()->elements()[0].toTensorVector()) {
    append(logits, to);
  }
}

}  // namespace

std::string torchscript_module(const PolicyWeights& weights,
                               const std::vector<PolicyRules>& rules) {
  (void)to_policy_file(weights, rules);  // checks that names and rules match the shape
  torch::jit::Module module("CclgymPolicy");
  const std::vector<std::size_t> inputs{weights.shape.observations};
  module.register_buffer("input_shift", tensor_of(weights.input_shift, inputs));
  module.register_buffer("input_scale", tensor_of(weights.input_scale, inputs));
  for (const PolicyTensor& tensor : weights.tensors) {
    if (tensor.name.starts_with("value")) continue;
    std::string name = tensor.name;
    std::ranges::replace(name, '.', '_');
    module.register_parameter(name, tensor_of(tensor.values, tensor.shape), /*is_buffer=*/false);
  }
  add_names(module, weights);
  add_rules(module, rules, weights.shape.levels.size());
  module.define(torchscript_source(weights.shape, weights.input_limit));
  std::ostringstream bytes;
  module.save(bytes);
  return bytes.str();
}

ScriptedCalls run_torchscript(const std::string& path, const std::string& rules,
                              std::span<const float> observations) {
  const torch::NoGradGuard no_gradients;
  ScriptedCalls calls;
  try {
    torch::jit::Module module = torch::jit::load(path);
    const auto width = static_cast<std::int64_t>(module.attr("feature_names").toList().size());
    const Tensor legal = module.attr("rules").toGenericDict().at(rules).toTensor();
    const IValue start = module.get_method("initial_state")({std::int64_t{1}});
    IValue h = start.toTuple()->elements()[0];
    IValue c = start.toTuple()->elements()[1];
    const auto rows = static_cast<std::int64_t>(observations.size()) / width;
    for (std::int64_t row = 0; row < rows; ++row) {
      const Tensor observation = torch::empty({1, width});
      std::copy_n(observations.data() + row * width, width, observation.data_ptr<float>());
      const IValue decided = module.get_method("decide")({observation, h, c, legal});
      const IValue levels = decided.toTuple()->elements()[0];
      append_logits(module.get_method("logits")({observation, h, c, levels}), calls.logits);
      append_logits(module.forward({observation, h, c}), calls.forward);
      append(levels.toTensor(), calls.levels);
      h = decided.toTuple()->elements()[1];
      c = decided.toTuple()->elements()[2];
      append(h.toTensor(), calls.states);
      append(c.toTensor(), calls.states);
    }
  } catch (const std::exception& error) {
    // The first line is the message; a backtrace follows.
    const std::string what = error.what();
    throw UserError(quoted(path, 200) +
                    ": LibTorch cannot run it: " + what.substr(0, what.find('\n')));
  }
  return calls;
}

}  // namespace cclgym
