// Ctrl-C while cells are simulated: one line that says how far the run came, and exit code 130.
#pragma once

#include <cstddef>

namespace cclgym {

/// While it lives, SIGINT ends the process with "interrupted: N of M cells done; the same command
/// resumes". Results need no care: a run may be killed at any moment. One at a time may exist.
class InterruptNotice {
 public:
  /// `terminal`: a progress bar stands in the line, which the message must leave first.
  InterruptNotice(std::size_t total, bool terminal);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

  /// `done` cells are in the results.
  void update(std::size_t done);

 private:
  std::size_t total_;
  bool terminal_;
};

}  // namespace cclgym
