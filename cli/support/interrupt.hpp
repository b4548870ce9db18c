// Ctrl-C while cells are simulated: prints the progress of the run and ends with exit code 130.
#pragma once

#include <cstddef>

namespace cclgym {

/// While an object exists, SIGINT ends the process with "interrupted: N of M cells done; the same
/// command resumes". Results are safe: a run may be killed at any moment. Only one object may exist
/// at a time.
class InterruptNotice {
 public:
  /// `terminal`: true if a progress bar occupies the line, so that the message needs a new one.
  InterruptNotice(std::size_t total, bool terminal);
  ~InterruptNotice();
  InterruptNotice(const InterruptNotice&) = delete;
  InterruptNotice& operator=(const InterruptNotice&) = delete;

  /// `done` is the number of cells in the results.
  void update(std::size_t done);

 private:
  std::size_t total_;
  bool terminal_;
};

}  // namespace cclgym
