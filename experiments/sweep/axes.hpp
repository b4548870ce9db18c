// The axes of an experiment: its cells are the cross product of these lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "core/yaml/yaml.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/config_options.hpp"

namespace cclgym {

/// A value and its place in the file.
template <class Value>
struct Located {
  Value value{};
  SourceLocation where{};
};
template <class Value>
using Axis = std::vector<Located<Value>>;

/// An item of `only`: some combinations of an algorithm. An empty list admits every value.
struct Combinations {
  std::string algorithm;
  std::vector<Protocol> protocols{};
  std::vector<int> channels{};
  std::vector<int> instances{};
  std::vector<int> threads{};
};

/// Every axis has at least one value, and no value twice.
struct ExperimentAxes {
  Axis<CollectiveKind> collectives;
  Axis<std::string> algorithms;  ///< algorithms and tuners, by their names
  Axis<Protocol> protocols;
  Axis<int> channels;
  Axis<int> instances;
  Axis<int> threads;
  Axis<TileBytes> tiles;
  Axis<Slots> slots;
  Axis<std::uint64_t> sizes;
  Axis<std::uint64_t> seeds;
  std::vector<Combinations> only{};  ///< restrict the algorithms that they name
};

/// Reads the axes of an experiment whose keys have been checked. Throws UserError at the place of
/// a value that is unknown, out of range or repeated, and if an axis has over `most_cells` values.
[[nodiscard]] ExperimentAxes read_axes(const YamlValue& document, AlgorithmLibrary& library,
                                       std::size_t most_cells);

/// Channels or instances, by `key`, with which an algorithm is simulated: those of the axis, or a
/// fixed program's own number. An empty name stands for all algorithms of the experiment.
[[nodiscard]] Axis<int> copies_axis(const ExperimentAxes& axes, std::string_view key,
                                    const AlgorithmLibrary& library, const std::string& algorithm);
/// Message for a number of channels or instances, by `key`, that is not a fixed program's own.
[[nodiscard]] std::string own_number_message(std::string_view key, const AlgorithmEntry& program,
                                             int own, std::int64_t found);

/// Throws the UserError of an experiment with too many cells.
[[noreturn]] void refuse_cells(const SourceLocation& where, std::size_t most_cells);

}  // namespace cclgym
