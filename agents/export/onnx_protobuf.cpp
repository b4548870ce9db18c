// Writes the equations of the network (docs/agents.md) as an ONNX graph, with ONNX's own classes.
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <onnx/onnx_pb.h>
#include <span>
#include <stdexcept>

#include "agents/export/onnx_model.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

using onnx::TensorProto;

// A graph to which nodes and constants are added. Each node has one output, with a name of its own.
class OnnxGraph {
 public:
  explicit OnnxGraph(onnx::GraphProto& graph) : graph_(graph) {}

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  std::string apply(const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& output) {
    node(op, inputs, output);
    return output;
  }
  // Adds a node with one integer attribute.
  std::string apply(const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& output, const char* attribute, std::int64_t value) {
    set_integer(node(op, inputs, output), attribute, value);
    return output;
  }
  // in W^T + bias
  std::string linear(const std::string& in, const std::string& weight, const std::string& bias,
                     const std::string& output) {
    return apply("Gemm", {in, weight, bias}, output, "transB", 1);
  }
  std::string unsqueeze(const std::string& in, std::int64_t axis, const std::string& output) {
    set_integers(node("Unsqueeze", {in}, output), "axes", {axis});
    return output;
  }

  static void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set_integers(onnx::NodeProto& node, const char* name,
                           const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }

  std::string floats(const std::string& name, const std::vector<std::size_t>& shape,
                     const std::vector<float>& values) {
    TensorProto& tensor = constant(name, shape, TensorProto::FLOAT);
    for (const float value : values) tensor.add_float_data(value);
    return name;
  }
  std::string integer(const std::string& name, std::size_t value) {
    constant(name, {}, TensorProto::INT64).add_int64_data(static_cast<std::int64_t>(value));
    return name;
  }

  // `first` and `second` are the dimensions: a name, or a number.
  static void describe(onnx::ValueInfoProto& value, const std::string& name,
                       TensorProto::DataType type, const std::string& first, std::size_t second) {
    value.set_name(name);
    onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_param(first);
    tensor.mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(second));
  }

 private:
  TensorProto& constant(const std::string& name, const std::vector<std::size_t>& shape,
                        TensorProto::DataType type) {
    TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::size_t size : shape) tensor.add_dims(static_cast<std::int64_t>(size));
    return tensor;
  }

  onnx::GraphProto& graph_;
};

// The inputs of the heads, z. Writes h_next and c_next.
std::string add_encoder(OnnxGraph& graph, const PolicyWeights& weights) {
  const PolicyShape& shape = weights.shape;
  graph.floats("input.shift", {shape.observations}, weights.input_shift);
  graph.floats("input.scale", {shape.observations}, weights.input_scale);
  graph.floats("input.low", {}, {-weights.input_limit});
  graph.floats("input.high", {}, {weights.input_limit});
  graph.apply("Sub", {"observation", "input.shift"}, "input.shifted");
  graph.apply("Mul", {"input.shifted", "input.scale"}, "input.scaled");
  std::string x = graph.apply("Clip", {"input.scaled", "input.low", "input.high"}, "input");
  for (std::size_t layer = 0; layer < shape.encoder.size(); ++layer) {
    const std::string name = fmt::format("encoder.{}", layer);
    x = graph.linear(x, name + ".weight", name + ".bias", name + ".sum");
    x = graph.apply("Tanh", {x}, name);
  }
  if (shape.lstm == 0) return x;
  graph.linear(x, "lstm.weight_ih", "lstm.bias", "lstm.from_input");
  graph.linear("h", "lstm.weight_hh", "lstm.from_input", "lstm.gates");
  const auto units = static_cast<std::int64_t>(shape.lstm);
  onnx::NodeProto& split = graph.node("Split", {"lstm.gates"}, "lstm.i");
  for (const char* gate : {"lstm.f", "lstm.g", "lstm.o"}) split.add_output(gate);
  OnnxGraph::set_integer(split, "axis", 1);
  OnnxGraph::set_integers(split, "split", {units, units, units, units});
  for (const char* gate : {"lstm.i", "lstm.f", "lstm.o"}) {
    graph.apply("Sigmoid", {gate}, std::string(gate) + ".open");
  }
  graph.apply("Tanh", {"lstm.g"}, "lstm.g.new");
  graph.apply("Mul", {"lstm.f.open", "c"}, "lstm.kept");
  graph.apply("Mul", {"lstm.i.open", "lstm.g.new"}, "lstm.added");
  graph.apply("Add", {"lstm.kept", "lstm.added"}, "c_next");
  graph.apply("Tanh", {"c_next"}, "lstm.cell");
  graph.apply("Mul", {"lstm.o.open", "lstm.cell"}, "h_next");
  return graph.apply("Concat", {x, "h_next"}, "z", "axis", 1);
}

// Adds what all masks need; returns a matrix [B, A] of ones: the rows of `legal` that are possible
// before any choice.
std::string add_mask_constants(OnnxGraph& graph) {
  graph.floats("zero", {}, {0});
  graph.floats("off_on", {2}, {0, 1});
  graph.floats("forbidden", {}, {-std::numeric_limits<float>::infinity()});
  graph.integer("first", 0);
  for (const char* input : {"observation", "legal"}) {
    const std::string name(input);
    graph.apply("Shape", {name}, name + ".shape");
    graph.apply("Gather", {name + ".shape", "first"}, name + ".rows", "axis", 0);
    graph.unsqueeze(name + ".rows", 0, name + ".count");
  }
  graph.apply("Concat", {"observation.count", "legal.count"}, "left.shape", "axis", 0);
  onnx::NodeProto& ones = graph.node("ConstantOfShape", {"left.shape"}, "left.0");
  onnx::AttributeProto& value = *ones.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(TensorProto::FLOAT);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_float_data(1);
  return "left.0";
}

void add_heads(OnnxGraph& graph, const PolicyShape& shape, const std::string& z) {
  std::string left = add_mask_constants(graph);
  std::vector<std::string> columns;
  for (std::size_t d = 0; d < shape.levels.size(); ++d) {
    const std::string head = fmt::format("head.{}", d);
    std::string q = graph.linear(z, head + ".weight", head + ".bias", head + ".from_z");
    for (std::size_t j = 0; j < d; ++j) {
      const std::string choice = fmt::format("{}.choice.{}", head, j);
      graph.apply("Gather", {choice, fmt::format("level_{}", j)}, choice + ".row", "axis", 0);
      q = graph.apply("Add", {q, choice + ".row"}, choice + ".sum");
    }
    graph.apply("Tanh", {q}, head + ".hidden");
    const std::string logits = graph.linear(head + ".hidden", head + ".out.weight",
                                            head + ".out.bias", fmt::format("logits_{}", d));
    graph.integer(head + ".index", d);
    graph.integer(head + ".depth", shape.levels[d]);
    graph.apply("Gather", {"legal", head + ".index"}, head + ".legal", "axis", 1);
    graph.apply("OneHot", {head + ".legal", head + ".depth", "off_on"}, head + ".has");
    graph.apply("MatMul", {left, head + ".has"}, head + ".rows");
    graph.apply("Greater", {head + ".rows", "zero"}, head + ".mask");
    graph.apply("Where", {head + ".mask", logits, "forbidden"}, head + ".masked");
    const std::string level = fmt::format("level_{}", d);
    onnx::NodeProto& best = graph.node("ArgMax", {head + ".masked"}, level);
    OnnxGraph::set_integer(best, "axis", 1);
    OnnxGraph::set_integer(best, "keepdims", 0);
    columns.push_back(graph.unsqueeze(level, 1, level + ".column"));
    if (d + 1 == shape.levels.size()) continue;
    graph.unsqueeze(head + ".legal", 0, head + ".legal_row");
    graph.apply("Equal", {head + ".legal_row", columns.back()}, head + ".agrees");
    graph.apply("Cast", {head + ".agrees"}, head + ".factor", "to", TensorProto::FLOAT);
    left = graph.apply("Mul", {left, head + ".factor"}, fmt::format("left.{}", d + 1));
  }
  graph.apply("Concat", columns, "levels", "axis", 1);
}

void add_interface(onnx::GraphProto& graph, const PolicyShape& shape) {
  const auto describe = &OnnxGraph::describe;
  const std::size_t dimensions = shape.levels.size();
  describe(*graph.add_input(), "observation", TensorProto::FLOAT, "B", shape.observations);
  describe(*graph.add_output(), "levels", TensorProto::INT64, "B", dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    describe(*graph.add_output(), fmt::format("logits_{}", d), TensorProto::FLOAT, "B",
             shape.levels[d]);
  }
  if (shape.lstm > 0) {
    for (const char* state : {"h", "c"}) {
      describe(*graph.add_input(), state, TensorProto::FLOAT, "B", shape.lstm);
      describe(*graph.add_output(), std::string(state) + "_next", TensorProto::FLOAT, "B",
               shape.lstm);
    }
  }
  describe(*graph.add_input(), "legal", TensorProto::INT64, "A", dimensions);
}

// Names may have bytes that are no UTF-8, which JSON does not have.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void add_metadata(onnx::ModelProto& model, const PolicyWeights& weights,
                  const std::vector<PolicyRules>& rules) {
  const auto text = [&](const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  };
  text("cclgym_version", std::string(program_version()));
  text("environment", weights.environment);
  text("action_profile", weights.action_profile);
  text("provenance", weights.provenance);
  text("features", json_text(weights.features));
  nlohmann::json knobs = nlohmann::json::array();
  nlohmann::json levels = nlohmann::json::array();
  for (const PolicyKnob& knob : weights.knobs) {
    knobs.push_back(knob.name);
    levels.push_back(knob.levels);
  }
  text("knobs", json_text(knobs));
  text("levels", json_text(levels));
  text("lstm", std::to_string(weights.shape.lstm));
  const std::size_t dimensions = weights.shape.levels.size();
  for (const PolicyRules& rule : rules) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t at = 0; at < rule.actions.size(); at += dimensions) {
      const auto row = std::span(rule.actions).subspan(at, dimensions);
      rows.push_back(std::vector<std::int32_t>(row.begin(), row.end()));
    }
    text("rules/" + rule.machine + "/" + rule.collective, json_text(rows));
  }
}

}  // namespace

void need_onnx() {}

std::string onnx_model(const PolicyWeights& weights, const std::vector<PolicyRules>& rules) {
  (void)to_policy_file(weights, rules);  // checks that names and rules match the shape
  onnx::ModelProto model;
  model.set_ir_version(kOnnxIrVersion);
  model.set_producer_name("cclgym");
  model.set_producer_version(std::string(program_version()));
  onnx::OperatorSetIdProto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOnnxOpset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("policy");
  add_interface(graph, weights.shape);
  OnnxGraph builder(graph);
  for (const PolicyTensor& tensor : weights.tensors) {
    if (!tensor.name.starts_with("value")) builder.floats(tensor.name, tensor.shape, tensor.values);
  }
  add_heads(builder, weights.shape, add_encoder(builder, weights));
  add_metadata(model, weights, rules);
  std::string bytes;
  if (!model.SerializeToString(&bytes)) throw std::logic_error("ONNX: the model is too large");
  return bytes;
}

}  // namespace cclgym
