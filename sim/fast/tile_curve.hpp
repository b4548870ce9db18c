// Time of a pipeline for any number of tiles, from simulations of a few tile counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cclgym {

/// Time of a pipeline of equal tiles, as a function of their number and of how full they are.
///
/// Full tiles are simulated for a few tile counts (kTiles). Between these, the time is interpolated
/// linearly, and beyond the largest it continues with the last slope, because a full pipeline is
/// linear except for its period. The time saved by tiles that are less than full is also taken as
/// linear, from one more simulation of each of the smaller counts; each of n tiles is at least
/// (n - 1) / n full. So only a few dozen tiles are ever simulated, whatever the size of a call.
///
/// Simulations run when first needed, and a time depends only on tiles and fill.
class TileCurve {
 public:
  /// Calls of at most this many tiles are simulated instead.
  static constexpr std::int32_t kWhole = 12;
  /// Maximum number of firings of one simulation, unless that is less than kMinLast tiles.
  static constexpr std::int64_t kFirings = 4000;
  static constexpr std::int32_t kMinLast = 32;

  /// Time of `tiles` tiles, s, each `fill` full (0 < fill <= 1).
  using Simulate = std::function<double(std::int32_t tiles, double fill)>;

  TileCurve() = default;
  /// `firings`: firings per tile.
  explicit TileCurve(std::int64_t firings);

  /// `tiles` >= kWhole, `fill` at least about (tiles - 1) / tiles. `simulate` must be the same
  /// function in every call.
  [[nodiscard]] double time_s(std::int32_t tiles, double fill, const Simulate& simulate);

 private:
  static constexpr std::array<std::int32_t, 7> kTiles{kWhole, 16, kMinLast, 64, 128, 256, 512};
  static constexpr std::size_t kLastFill = 1;  ///< last count also simulated with fill < 1
  [[nodiscard]] double full_s(std::size_t number, const Simulate& simulate);
  [[nodiscard]] double less_s(std::size_t number, const Simulate& simulate);

  std::size_t last_ = 2;                             ///< index of the largest simulated tile count
  std::array<double, kTiles.size()> full_s_{};       ///< times of full tiles; 0: not simulated yet
  std::array<double, kLastFill + 1> less_full_s_{};  ///< times of less full tiles; 0: none yet
};

}  // namespace cclgym
