// Ctrl-C or SIGTERM while cells are simulated or schedules are searched for: prints the progress
// and ends with exit code 130 or 143.
#pragma once

#include <cstddef>
#include <string>

namespace cclgym {

/// While an object exists, SIGINT or SIGTERM ends the process with "interrupted: N of M cells done;
/// the same command resumes". Results are safe: a run may be killed at any moment. Only one object
/// may exist at a time.
class InterruptNotice {
 public:
  /// `terminal`: true if a progress bar occupies the line, so that the message needs a new one.
  InterruptNotice(std::size_t total, bool terminal);
  /// The same with another message.
  InterruptNotice(const std::string& message, bool terminal);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

  /// `done` is the number of cells in the results.
  void update(std::size_t done);
  /// Replaces the message.
  void say(const std::string& message);

 private:
  void take_signal();

  std::size_t total_;
  bool terminal_;
};

}  // namespace cclgym
