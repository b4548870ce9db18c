// How long a pipeline takes for any number of tiles, from a few numbers of them that are simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cclgym {

/// The time of a pipeline of equal tiles, by how many there are and how full.
///
/// Full tiles are simulated for some numbers of them (kTiles), and between these the time is taken
/// as linear; behind the largest one it grows as it did before. A pipeline that has filled is
/// linear but for its period. What tiles that are not full take less is taken as linear, too, from
/// one more simulation of each of the smaller numbers; of n tiles, all are at least (n - 1) / n
/// full. So only a few dozens of tiles are ever simulated, in all, whatever the size of a call.
///
/// Simulations are made when first needed, and a time depends on nothing but tiles and fill.
class TileCurve {
 public:
  /// Up to here all tiles of a call are better simulated.
  static constexpr std::int32_t kWhole = 12;
  /// The largest simulation is of so many firings, unless that were less than kLeast tiles.
  static constexpr std::int64_t kFirings = 4000;
  static constexpr std::int32_t kLeast = 32;

  /// The time of so many tiles, s, each `fill` full (0 < fill <= 1).
  using Simulate = std::function<double(std::int32_t tiles, double fill)>;

  TileCurve() = default;
  /// `firings`: of a tile.
  explicit TileCurve(std::int64_t firings);

  /// `tiles` >= kWhole, `fill` at least about (tiles - 1) / tiles. `simulate` is always to be the
  /// same function.
  [[nodiscard]] double time_s(std::int32_t tiles, double fill, const Simulate& simulate);

 private:
  static constexpr std::array<std::int32_t, 7> kTiles{kWhole, 16, kLeast, 64, 128, 256, 512};
  static constexpr std::size_t kLastFill = 1;  ///< the last number also simulated less full
  [[nodiscard]] double full_s(std::size_t number, const Simulate& simulate);
  [[nodiscard]] double less_s(std::size_t number, const Simulate& simulate);

  std::size_t last_ = 2;                             ///< index of the largest that is simulated
  std::array<double, kTiles.size()> full_s_{};       ///< of full tiles; 0: not simulated yet
  std::array<double, kLastFill + 1> less_full_s_{};  ///< of less full ones, likewise
};

}  // namespace cclgym
