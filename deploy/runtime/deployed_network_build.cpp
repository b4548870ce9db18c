// Builds the network's memory from the records of a policy file.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "deploy/runtime/deployed_network.hpp"

namespace cclgym {

class DeployedNetwork::Builder {
 public:
  Builder(DeployedNetwork& network, const PolicyFile& file, const std::string& name)
      : net_(network), file_(file), name_(name) {}

  void build() {
    const std::size_t observations = number("observations", 1, kMostObservations);
    const std::vector<std::size_t> encoder = numbers("encoder", kMostEncoderLayers, 1, kMostUnits);
    const std::size_t lstm = number("lstm", 0, kMostUnits);
    const std::size_t head = number("head", 1, kMostUnits);
    const std::vector<std::size_t> levels = numbers("levels", kMostKnobs, 1, kMostLevels);
    net_.observations_ = observations;
    net_.lstm_ = lstm;
    net_.units_ = padded_to_lane(lstm);
    net_.shift_ = vector("input.shift", observations);
    net_.scale_ = vector("input.scale", observations);
    net_.limit_ = tensor("input.limit", {1}).values[0];
    if (!(net_.limit_ > 0)) fail("tensor 'input.limit' must be positive");

    std::size_t columns = observations;
    for (std::size_t k = 0; k < encoder.size(); ++k) {
      net_.encoder_.push_back(linear("encoder." + std::to_string(k), encoder[k], columns));
      columns = encoder[k];
    }
    if (lstm > 0) gates(columns, lstm);
    for (std::size_t d = 0; d < levels.size(); ++d) add_head(d, levels, columns + lstm, head);
    place_state(encoder, columns);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(name_ + ": " + what); }

  std::vector<std::size_t> numbers(const std::string& record, std::size_t most_values,
                                   std::size_t least, std::size_t most) const {
    const PolicyFileTable* table = file_.table(record);
    if (table == nullptr) fail("table '" + record + "' is missing");
    if (table->values.empty() || table->values.size() > most_values) {
      fail("table '" + record + "' has " + std::to_string(table->values.size()) +
           " values; expected 1 to " + std::to_string(most_values));
    }
    std::vector<std::size_t> values(table->values.begin(), table->values.end());
    for (const std::size_t value : values) {
      if (value >= least && value <= most) continue;
      fail("table '" + record + "' has " + std::to_string(value) + "; expected " +
           std::to_string(least) + " to " + std::to_string(most));
    }
    return values;
  }
  std::size_t number(const std::string& record, std::size_t least, std::size_t most) const {
    return numbers(record, 1, least, most).front();
  }

  const PolicyFileTensor& tensor(const std::string& record,
                                 const std::vector<std::size_t>& shape) const {
    const PolicyFileTensor* found = file_.tensor(record);
    if (found == nullptr) fail("tensor '" + record + "' is missing");
    if (!std::ranges::equal(found->shape, shape)) {
      std::string text;
      for (const std::size_t size : shape) {
        text += (text.empty() ? "" : " x ") + std::to_string(size);
      }
      fail("tensor '" + record + "' must be of shape " + text);
    }
    return *found;
  }

  std::size_t reserve(std::size_t size) {
    const std::size_t place = net_.weights_.size();
    net_.weights_.resize(place + padded_to_lane(size), 0.0F);
    return place;
  }
  float* memory() { return net_.weights_.data(); }
  std::size_t vector(const std::string& record, std::size_t size) {
    const PolicyFileTensor& values = tensor(record, {size});
    const std::size_t place = reserve(size);
    std::ranges::copy(values.values, memory() + place);
    return place;
  }

  Layer layer(std::size_t rows, std::size_t inputs) {
    Layer made{.inputs = inputs, .rows = padded_to_lane(rows)};
    made.bias = reserve(made.rows);
    made.weights = reserve(made.rows * inputs);
    return made;
  }
  // `row_of` maps a row to its place.
  template <class RowOf>
  void put(const Layer& made, const PolicyFileTensor& weights, std::size_t first_input,
           const RowOf& row_of) {
    const std::size_t columns = weights.shape[1];
    for (std::size_t row = 0; row < weights.shape[0]; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        memory()[made.weights + packed_place(made.inputs, row_of(row), first_input + column)] =
            weights.values[row * columns + column];
      }
    }
  }
  // `padded_inputs`, if it is not 0, is the number of inputs with padding.
  Layer linear(const std::string& record, std::size_t rows, std::size_t inputs,
               std::size_t padded_inputs = 0) {
    const PolicyFileTensor& weights = tensor(record + ".weight", {rows, inputs});
    const PolicyFileTensor& bias = tensor(record + ".bias", {rows});
    const Layer made = layer(rows, std::max(inputs, padded_inputs));
    put(made, weights, 0, [](std::size_t row) { return row; });
    std::ranges::copy(bias.values, memory() + made.bias);
    return made;
  }

  // The rows of each of the four gates are padded separately.
  void gates(std::size_t encoded, std::size_t lstm) {
    const PolicyFileTensor& input = tensor("lstm.weight_ih", {4 * lstm, encoded});
    const PolicyFileTensor& recurrent = tensor("lstm.weight_hh", {4 * lstm, lstm});
    const PolicyFileTensor& bias = tensor("lstm.bias", {4 * lstm});
    const std::size_t units = net_.units_;
    const auto row_of = [&](std::size_t row) { return row / lstm * units + row % lstm; };
    net_.gates_ = layer(4 * units, encoded + lstm);
    put(net_.gates_, input, 0, row_of);
    put(net_.gates_, recurrent, encoded, row_of);
    for (std::size_t row = 0; row < 4 * lstm; ++row) {
      memory()[net_.gates_.bias + row_of(row)] = bias.values[row];
    }
  }

  void add_head(std::size_t d, const std::vector<std::size_t>& levels, std::size_t features,
                std::size_t units) {
    const std::string record = "head." + std::to_string(d);
    Head head;
    head.hidden = linear(record, units, features);
    const std::size_t rows = head.hidden.rows;
    for (std::size_t j = 0; j < d; ++j) {
      const PolicyFileTensor& choice =
          tensor(record + ".choice." + std::to_string(j), {levels[j], units});
      const std::size_t place = reserve(levels[j] * rows);
      for (std::size_t level = 0; level < levels[j]; ++level) {
        for (std::size_t unit = 0; unit < units; ++unit) {
          memory()[place + level * rows + unit] = choice.values[level * units + unit];
        }
      }
      head.choices.push_back(place);
    }
    // The padding units are 0.
    head.out = linear(record + ".out", levels[d], units, rows);
    head.levels = levels[d];
    head.first_logit = net_.logits_;
    net_.logits_ += levels[d];
    net_.heads_.push_back(std::move(head));
  }

  void place_state(const std::vector<std::size_t>& encoder, std::size_t encoded) {
    std::size_t size = 0;
    const auto take = [&](std::size_t n) {
      const std::size_t place = size;
      size += padded_to_lane(n);
      return place;
    };
    net_.h_ = take(net_.units_);
    net_.c_ = take(net_.units_);
    net_.next_c_ = take(net_.units_);
    net_.input_ = take(net_.observations_);
    net_.buffer_size_ = padded_to_lane(*std::ranges::max_element(encoder));
    net_.buffer_ = take(2 * net_.buffer_size_);
    // The encoder writes complete lanes; h then overwrites the padding.
    net_.recurrent_ = take(padded_to_lane(encoded) + net_.units_);
    net_.gate_ = take(4 * net_.units_);
    for (Head& one : net_.heads_) one.logits_at = take(one.levels);
    net_.state_size_ = size;
  }

  DeployedNetwork& net_;
  const PolicyFile& file_;
  const std::string& name_;
};

DeployedNetwork::DeployedNetwork(const PolicyFile& file, const std::string& name) {
  Builder(*this, file, name).build();
}

}  // namespace cclgym
