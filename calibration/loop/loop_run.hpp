// Runs a loop on real hardware, and keeps its rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/loop/loop_plan.hpp"

namespace cclgym {

/// A call that was made. Rows are the lines of calls.csv.
struct LoopRow {
  double at_s = 0;  ///< end of the call, since the start of the loop
  std::int64_t iteration = 0;
  std::int64_t call = 0;  ///< place in the iteration
  std::string collective{};
  std::uint64_t size_bytes = 0;
  std::string lane{};
  std::string algorithm{};
  std::uint64_t segment_bytes = 0;
  double time_us = 0;         ///< time of the slowest rank, from the common start
  std::int64_t late = 0;      ///< 1 if a rank started late
  std::int64_t state = 0;     ///< state that the agent assumes
  double received_bytes = 0;  ///< by all nodes' network interfaces during the call
};

/// Something that happened: a line of events.csv.
struct LoopHappening {
  double at_s = 0;         ///< since the start of the loop
  std::string what{};      ///< "change": an event of the file; "alarm"
  std::string label{};     ///< the state of the machine, or the lane that raised the alarm
  std::int64_t call = -1;  ///< alarm: number of the call in its lane
};

/// Agreement of one lane: a line of agreement.csv.
struct LoopAgreement {
  std::string lane{};
  std::uint64_t calls = 0;
  std::uint64_t changes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t waits = 0;
  double longest_wait_s = 0;
  std::uint64_t states = 0;
  std::string off{};  ///< reason why tables do not change any more
};

struct LoopRecord {
  std::vector<LoopRow> rows{};
  std::vector<LoopHappening> happenings{};  ///< by time
  std::vector<LoopAgreement> agreement{};
};

/// Calls while a loop runs.
struct LoopWatch {
  std::function<void()> begun{};           ///< the worker is ready, and the loop's time starts
  std::function<void(double)> progress{};  ///< seconds that have passed
};

/// Starts the worker and makes the calls, while the commands of the events run. The file `partial`
/// gets the rows as they arrive, and stays if the loop does not end; it is made when the time
/// starts. Throws UserError if the worker cannot start or fails, or if a command does, and WorkLost
/// if the worker dies.
[[nodiscard]] LoopRecord run_loop(const LoopConfig& config, const LoopPlan& plan,
                                  const std::vector<std::string>& launch, const std::string& log,
                                  const std::string& partial, const LoopWatch& watch);

/// Names of the three files in a folder.
inline constexpr const char* kLoopCallsFile = "calls.csv";
inline constexpr const char* kLoopEventsFile = "events.csv";
inline constexpr const char* kLoopAgreementFile = "agreement.csv";

void write_loop_record(const LoopRecord& record, const std::string& folder);
/// Throws UserError if a file is missing or damaged.
[[nodiscard]] LoopRecord read_loop_record(const std::string& folder);

}  // namespace cclgym
