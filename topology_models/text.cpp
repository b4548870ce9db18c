#include "topology_models/text.hpp"

#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace cclgym {

namespace {

using Unit = std::pair<double, std::string_view>;  // size in SI, name; from large to small

template <std::size_t N>
std::string in_fitting_unit(double value, const std::array<Unit, N>& units, double least) {
  for (const auto& [size, name] : units) {
    if (value >= least * size || size == units.back().first) {
      return fmt::format("{:.12g} {}", value / size, name);
    }
  }
  return {};
}

}  // namespace

std::string short_rate(double bytes_per_second) {
  constexpr std::array<Unit, 5> kUnits{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "KB/s"}, {1, "B/s"}}};
  return in_fitting_unit(bytes_per_second, kUnits, 1);
}

std::string short_time(double seconds) {
  constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  // The latency of a link is usually written as 0.35 us, not as 350 ns.
  return seconds == 0 ? "0 s" : in_fitting_unit(seconds, kUnits, 0.1);
}

}  // namespace cclgym
