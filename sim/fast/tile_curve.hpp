// Time of a pipeline for any number of tiles, from a few numbers of them that are simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cclgym {

/// Time of a pipeline of equal tiles, as a function of their number and of how full they are.
///
/// Full tiles are simulated for some numbers of them (kTiles), and between these the time is taken
/// as linear; behind the largest one it grows as it did before. A pipeline that has filled is
/// linear but for its period. The time that tiles save by being less than full is taken as linear,
/// too, from one more simulation of each of the smaller numbers; of n tiles, all are at least
/// (n - 1) / n full. So only a few dozen tiles are ever simulated, whatever the size of a call.
///
/// Simulations are made when first needed, and a time depends on nothing but tiles and fill.
class TileCurve {
 public:
  /// Calls of at most so many tiles are better simulated.
  static constexpr std::int32_t kWhole = 12;
  /// Maximum firings of one simulation, unless that is less than kMinLast tiles.
  static constexpr std::int64_t kFirings = 4000;
  static constexpr std::int32_t kMinLast = 32;

  /// Time of `tiles` tiles, s, each `fill` full (0 < fill <= 1).
  using Simulate = std::function<double(std::int32_t tiles, double fill)>;

  TileCurve() = default;
  /// `firings`: firings per tile.
  explicit TileCurve(std::int64_t firings);

  /// `tiles` >= kWhole, `fill` at least about (tiles - 1) / tiles. `simulate` is always to be the
  /// same function.
  [[nodiscard]] double time_s(std::int32_t tiles, double fill, const Simulate& simulate);

 private:
  static constexpr std::array<std::int32_t, 7> kTiles{kWhole, 16, kMinLast, 64, 128, 256, 512};
  static constexpr std::size_t kLastFill = 1;  ///< the last number also simulated less full
  [[nodiscard]] double full_s(std::size_t number, const Simulate& simulate);
  [[nodiscard]] double less_s(std::size_t number, const Simulate& simulate);

  std::size_t last_ = 2;                             ///< index of the largest simulated number
  std::array<double, kTiles.size()> full_s_{};       ///< times of full tiles; 0: not simulated yet
  std::array<double, kLastFill + 1> less_full_s_{};  ///< times of less full tiles, likewise
};

}  // namespace cclgym
