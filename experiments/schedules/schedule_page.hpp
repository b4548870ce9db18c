// HTML page of synthesised schedules.
#pragma once

#include <string>
#include <vector>

#include "experiments/schedules/schedule_view.hpp"

namespace cclgym {

struct SchedulePage {
  std::string title;                ///< "AllGather on dgx1"
  std::vector<std::string> lead{};  ///< outcome and notes, one sentence each
  std::string table{};              ///< the table of the terminal
  double min_steps = 0;             ///< bound on steps; 0: unknown
  double min_rounds = 0;            ///< bound on rounds per chunk; 0: unknown
  std::vector<FrontPoint> front{};
  std::vector<ScheduleView> schedules{};
  std::vector<std::pair<std::string, std::string>> links{};  ///< text and relative URL
};

/// The page as text. Equal inputs give equal bytes.
[[nodiscard]] std::string schedule_page(const SchedulePage& page);

}  // namespace cclgym
