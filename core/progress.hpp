// Progress of a run: a bar on a terminal, otherwise occasional lines.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>

namespace cclgym {

/// Seconds on a monotonic clock.
using Clock = std::function<double()>;
[[nodiscard]] double steady_now_s();

/// A duration, rounded up to seconds or minutes: "12 s", "3 min 20 s", "2 h 05 min".
[[nodiscard]] std::string duration_text(double seconds);

/// "1234/5000 cells  24 %  812 cells/s  4 s left". `found` of the `done` cells existed before the
/// run; the others took `elapsed_s`.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t total, std::size_t found,
                                        double elapsed_s);

/// Shows progress on `out`: with `terminal` a bar that is redrawn at most 10 times per second,
/// otherwise a line at most every 5 s. The first and the last state are always shown.
class Progress {
 public:
  Progress(std::ostream& out, bool terminal, std::size_t total, std::size_t found,
           Clock clock = steady_now_s);
  /// Reports that `done` cells are done, including those found.
  void update(std::size_t done);
  /// Ends the bar's line, so that the next output starts on a new one. No effect without a bar.
  void leave_line();

 private:
  void show(std::size_t done, double now_s);

  std::ostream& out_;
  bool terminal_;
  std::size_t total_;
  std::size_t found_;
  Clock clock_;
  double start_s_;
  double shown_s_;
  bool in_line_ = false;
};

}  // namespace cclgym
