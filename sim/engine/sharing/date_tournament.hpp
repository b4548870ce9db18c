// The earliest of a fixed number of dates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/index.hpp"

namespace cclgym {

/// A tournament tree: each inner node has the earlier date of its two children, so that a new date
/// costs one comparison per level, without the unpredictable branches of a heap. Which of equal
/// dates comes first depends on the calls before.
class DateTournament {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Sets the number of dates, all of them to kNever.
  void reset(std::size_t dates) {
    leaves_ = std::bit_ceil(dates > 0 ? dates : 1);
    date_s_.assign(2 * leaves_, kNever);
    winner_.assign(2 * leaves_, 0);
    for (std::size_t i = 0; i < dates; ++i) winner_[leaves_ + i] = static_cast<std::int32_t>(i);
  }

  [[nodiscard]] double next_date() const { return date_s_[1]; }
  /// Number of the earliest date, which must not be kNever.
  [[nodiscard]] std::int32_t next() const { return winner_[1]; }

  void set(std::int32_t number, double date_s) {
    std::size_t node = leaves_ + at(number);
    date_s_[node] = date_s;
    while (node > 1) {
      // Arithmetic instead of a choice, so that the compiler makes no branch.
      const std::size_t rival = node ^ 1U;
      const std::int32_t rival_wins = -static_cast<std::int32_t>(date_s_[rival] < date_s);
      date_s = std::min(date_s, date_s_[rival]);
      number ^= (number ^ winner_[rival]) & rival_wins;
      node /= 2;
      date_s_[node] = date_s;
      winner_[node] = number;
    }
  }

 private:
  // Inner nodes from 1 (the root) on, level by level, then the dates themselves.
  std::size_t leaves_ = 1;
  std::vector<double> date_s_{kNever, kNever};
  std::vector<std::int32_t> winner_{0, 0};
};

}  // namespace cclgym
