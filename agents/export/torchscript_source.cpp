// Writes the equations of the network (docs/agents.md) as TorchScript.
#include <fmt/format.h>

#include "agents/export/torchscript.hpp"

namespace cclgym {

namespace {

std::string linear(const std::string& name, const std::string& in) {
  return fmt::format("torch.addmm(self.{0}_bias, {1}, self.{0}_weight.t())", name, in);
}

std::string encode_method(const PolicyShape& shape, float input_limit) {
  std::string text = fmt::format(
      "def encode(self, observation: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor, "
      "Tensor]:\n"
      "  x = torch.clamp((observation - self.input_shift) * self.input_scale, -{0:.9e}, {0:.9e})\n",
      input_limit);
  for (std::size_t layer = 0; layer < shape.encoder.size(); ++layer) {
    text += "  x = torch.tanh(" + linear(fmt::format("encoder_{}", layer), "x") + ")\n";
  }
  if (shape.lstm == 0) return text + "  return x, h, c\n";
  return text +
         "  gates = torch.addmm(self.lstm_bias, x, self.lstm_weight_ih.t())\n"
         "  parts = torch.chunk(torch.addmm(gates, h, self.lstm_weight_hh.t()), 4, 1)\n"
         "  cell = torch.sigmoid(parts[1]) * c + torch.sigmoid(parts[0]) * torch.tanh(parts[2])\n"
         "  out = torch.sigmoid(parts[3]) * torch.tanh(cell)\n"
         "  return torch.cat([x, out], 1), out, cell\n";
}

std::string head_method(std::size_t d) {
  const std::string head = fmt::format("head_{}", d);
  std::string text = fmt::format("def {}(self, z: Tensor, levels: Tensor) -> Tensor:\n  q = {}\n",
                                 head, linear(head, "z"));
  for (std::size_t j = 0; j < d; ++j) {
    text += fmt::format(
        "  q = q + torch.index_select(self.{0}_choice_{1}, 0, torch.select(levels, 1, {1}))\n",
        head, j);
  }
  return text + "  return " + linear(head + "_out", "torch.tanh(q)") + "\n";
}

}  // namespace

std::string torchscript_source(const PolicyShape& shape, float input_limit) {
  const std::size_t dimensions = shape.levels.size();
  // TorchScript does not know the name torch.int64; 4 is its number (c10/core/ScalarType.h).
  const std::string no_levels = fmt::format(
      "  levels = torch.zeros([observation.size(0), {}], dtype=4, device=observation.device)\n",
      dimensions);
  std::string text = encode_method(shape, input_limit);
  for (std::size_t d = 0; d < dimensions; ++d) text += head_method(d);
  text += fmt::format(
      "def initial_state(self, batch: int) -> Tuple[Tensor, Tensor]:\n"
      "  return torch.zeros([batch, {0}]), torch.zeros([batch, {0}])\n",
      shape.lstm);
  text +=
      "def logits(self, observation: Tensor, h: Tensor, c: Tensor, levels: Tensor) -> "
      "Tuple[List[Tensor], Tensor, Tensor]:\n"
      "  z, out, cell = self.encode(observation, h, c)\n"
      "  heads: List[Tensor] = []\n";
  for (std::size_t d = 0; d < dimensions; ++d) {
    text += fmt::format("  heads.append(self.head_{}(z, levels))\n", d);
  }
  text += "  return heads, out, cell\n";
  text +=
      "def forward(self, observation: Tensor, h: Tensor, c: Tensor) -> "
      "Tuple[List[Tensor], Tensor, Tensor]:\n"
      "  z, out, cell = self.encode(observation, h, c)\n"
      "  heads: List[Tensor] = []\n" +
      no_levels;
  for (std::size_t d = 0; d < dimensions; ++d) {
    text += fmt::format(
        "  heads.append(self.head_{0}(z, levels))\n"
        "  levels[:, {0}] = torch.argmax(heads[{0}], 1)\n",
        d);
  }
  text += "  return heads, out, cell\n";
  text +=
      "def decide(self, observation: Tensor, h: Tensor, c: Tensor, legal: Tensor) -> "
      "Tuple[Tensor, Tensor, Tensor]:\n"
      "  assert legal.size(0) > 0, 'no action is legal'\n"
      "  z, out, cell = self.encode(observation, h, c)\n" +
      no_levels +
      "  left = torch.ones([observation.size(0), legal.size(0)], device=observation.device)\n";
  for (std::size_t d = 0; d < dimensions; ++d) {
    text += fmt::format(
        "  level = torch.select(legal, 1, {0})\n"
        "  mask = torch.mm(left, torch.one_hot(level, {1}).type_as(left)) > 0\n"
        "  best = torch.argmax(self.head_{0}(z, levels).masked_fill(~mask, float('-inf')), 1)\n"
        "  levels[:, {0}] = best\n"
        "  left = left * (level.unsqueeze(0) == best.unsqueeze(1)).type_as(left)\n",
        d, shape.levels[d]);
  }
  return text + "  return levels, out, cell\n";
}

}  // namespace cclgym
