#include <charconv>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/split.hpp"
#include "topology_models/fabric_option_error.hpp"
#include "topology_models/machines/machines.hpp"

namespace cclgym {

namespace {

constexpr int kMostGpus = 65536;
constexpr std::size_t kMostDimensions = 4;

// "4x4x2" as {4, 4, 2}.
std::vector<int> lengths_of(const std::string& shape) {
  std::vector<int> lengths;
  long gpus = 1;
  for (const std::string_view word : split(shape, 'x')) {
    int length = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), length);
    const bool read = error == std::errc{} && end == word.data() + word.size();
    if (!read || length < 1 || length > kMostGpus) {
      throw FabricOptionError("shape",
                              fmt::format("shape is {}; expected the GPUs in each dimension, e.g. "
                                          "4x4 or 4x4x2",
                                          quoted(shape)));
    }
    lengths.push_back(length);
    gpus *= length;
    if (gpus > kMostGpus || lengths.size() > kMostDimensions) {
      throw FabricOptionError(
          "shape", fmt::format("shape is {}; expected at most {} GPUs in at most {} dimensions",
                               quoted(shape), kMostGpus, kMostDimensions));
    }
  }
  if (gpus < 2) {
    throw FabricOptionError("shape",
                            fmt::format("shape is {}; expected at least 2 GPUs", quoted(shape)));
  }
  return lengths;
}

std::shared_ptr<const Fabric> build_torus(const FabricParameters& parameters) {
  const std::vector<int> lengths = lengths_of(parameters.shape);
  FabricBuilder builder("torus");
  int gpus = 1;
  for (const int length : lengths) gpus *= length;
  for (int gpu = 0; gpu < gpus; ++gpu) builder.add_node({.name = fmt::format("gpu{}", gpu)});
  int stride = gpus;  // between neighbours of the dimension; the last dimension varies fastest
  for (const int length : lengths) {
    stride /= length;
    if (length == 1) continue;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const int place = gpu / stride % length;
      // Two GPUs are one neighbour pair, not two.
      if (length == 2 && place == 1) continue;
      const int next = gpu + ((place + 1) % length - place) * stride;
      builder.add_duplex_link({.source = gpu,
                               .target = next,
                               .latency_s = parameters.latency_s,
                               .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                               .latency_stated = parameters.latency_stated});
    }
  }
  return builder.build();
}

}  // namespace

FabricModel torus_model() {
  return {
      {.name = "torus",
       .description = "GPUs in a torus of two, three or four dimensions, with one duplex link "
                      "between neighbours",
       .options = {fabric_option("shape"), fabric_option("bandwidth", {.default_text = "25 GB/s"}),
                   fabric_option("latency", {.default_text = "0.7us"})}},
      build_torus};
}

}  // namespace cclgym
