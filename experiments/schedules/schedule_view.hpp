// Data of a synthesised schedule that pictures and pages show.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cclgym {

/// Messages from a rank to a rank in one step.
struct ScheduleArrow {
  int source = 0;
  int target = 0;
  int chunks = 1;
  /// Number that selects the colour, or kMuted.
  int colour = 0;
  static constexpr int kMuted = -1;
};

/// Load of a link in one run of the schedule.
struct ScheduleLoad {
  std::string link;  ///< "gpu0 -> gpu1"
  double share = 0;  ///< share of the link's capacity that is used while the schedule runs
  std::string text;  ///< "6 of 7 chunks"
};

/// One schedule of a page.
struct ScheduleView {
  std::string name;
  std::vector<std::pair<std::string, std::string>> facts{};  ///< names and values, in order
  int ranks = 0;
  int ranks_per_node = 0;                           ///< ranks drawn together
  std::string steps_title{};                        ///< "Steps" or "Trees of rank 0, by depth"
  std::string legend{};                             ///< sentence about colours and widths
  std::vector<std::vector<ScheduleArrow>> steps{};  ///< by step
  std::vector<std::string> step_captions{};         ///< by step: "2 rounds, 12 chunks"
  std::vector<ScheduleLoad> loads{};                ///< busiest first
};

/// A point of the front of steps against rounds per chunk.
struct FrontPoint {
  std::string name;
  double steps = 0;
  double rounds_per_chunk = 0;
  bool synthesised = true;  ///< false: an algorithm of the library, for comparison
};

}  // namespace cclgym
