// The leader's part of a closed lane whose tables another process makes: joined calls go out to the
// process that sent the request, tables come in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "deploy/loop/loop_controller.hpp"

namespace cclgym {

/// Writes a message as one line of standard output. May be called by several threads.
void write_line(const nlohmann::json& message);

/// At most one per process, since it reads standard input: one line for each line that it wrote,
/// so that nothing is left unread when it ends. step() never waits; a thread of the object reads.
class AskedTables {
 public:
  /// `group` is the leader's. Its first table must be table_text(first).
  AskedTables(LoopGroup& group, std::int32_t ranks, std::vector<std::uint16_t> first);
  /// Waits for the answer to the last line.
  ~AskedTables();
  AskedTables(const AskedTables&) = delete;
  AskedTables& operator=(const AskedTables&) = delete;

  /// Sends the calls that were joined meanwhile, unless an answer is outstanding, and proposes the
  /// table of the last answer. Call it every few milliseconds.
  void step();
  /// Calls at which an alarm was raised, by their number.
  [[nodiscard]] const std::vector<std::uint64_t>& alarms() const { return alarms_; }

 private:
  void read();

  LoopLeader leader_;
  nlohmann::json waiting_ = nlohmann::json::array();  ///< calls that were not sent yet
  std::vector<std::uint16_t> table_;
  std::vector<std::uint64_t> alarms_{};
  std::mutex mutex_;  ///< guards the following
  std::condition_variable changed_;
  bool asked_ = false;  ///< an answer is outstanding
  bool ending_ = false;
  std::string answer_{};  ///< the last answer, until step() takes it
  std::thread reader_;
};

}  // namespace cclgym
