#include "synthesis/teccl/epochs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

// Relative error of a quotient of times that counts as rounding.
constexpr double kRounding = 1e-9;

double chunk_time_s(const Instance& instance, const Limit& limit, double chunk_bytes) {
  return chunk_bytes / (static_cast<double>(limit.units) * instance.unit_Bps);
}

int whole_epochs(double epochs) {
  constexpr double kMaxEpochs = 1e6;
  if (!(epochs <= kMaxEpochs)) {
    throw UserError(fmt::format("a time of {} epochs; expected at most {}", epochs, kMaxEpochs));
  }
  return static_cast<int>(std::ceil(epochs * (1 - kRounding)));
}

void check_chunk(double chunk_bytes) {
  if (!(chunk_bytes > 0)) {
    throw UserError(fmt::format("chunks of {} bytes; expected more than 0", chunk_bytes));
  }
}

}  // namespace

double epoch_length_s(const Instance& instance, double chunk_bytes, EpochChoice choice) {
  check_chunk(chunk_bytes);
  if (instance.limits.empty()) {
    throw UserError(fmt::format("instance '{}' has no link", instance.name));
  }
  const auto [slowest, fastest] = std::ranges::minmax_element(instance.limits, {}, &Limit::units);
  return chunk_time_s(instance, choice == EpochChoice::FastestLink ? *fastest : *slowest,
                      chunk_bytes);
}

bool EpochGrid::is_timed() const {
  return std::ranges::all_of(capacity, [](int chunks) { return chunks == 1; });
}

EpochGrid make_epoch_grid(const Instance& instance, double chunk_bytes, double epoch_s,
                          double latency_threshold) {
  check_chunk(chunk_bytes);
  if (!(epoch_s > 0)) throw UserError(fmt::format("epochs of {} s; expected more than 0", epoch_s));
  EpochGrid grid{.timed = {.instance = instance, .tick_s = epoch_s}};
  for (const Limit& limit : instance.limits) {
    const double epochs = chunk_time_s(instance, limit, chunk_bytes) / epoch_s;
    grid.timed.occupancy.push_back(std::max(1, whole_epochs(epochs)));
    const double per_epoch = std::min(1e6, (1 + kRounding) / epochs);
    grid.capacity.push_back(std::max(1, static_cast<int>(std::floor(per_epoch))));
  }
  for (const Hop& hop : instance.hops) {
    int transmission = 1;
    for (const int limit : hop.limits) {
      transmission = std::max(transmission, grid.timed.occupancy[at(limit)]);
    }
    const double latency = hop.latency_s / epoch_s;
    grid.timed.duration.push_back(transmission +
                                  (latency > latency_threshold ? whole_epochs(latency) : 0));
  }
  return grid;
}

}  // namespace cclgym::synthesis
