// How far a run is, for people: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>

namespace cclgym {

/// Seconds on a clock that never goes back.
using Clock = std::function<double()>;
[[nodiscard]] double steady_now_s();

/// "1234/5000 cells  24 %  812 cells/s  4 s left": `found` of the `done` cells were there before,
/// the others took `elapsed_s`.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t total, std::size_t found,
                                        double elapsed_s);

/// Shows progress on `out`: with `terminal` a bar that is drawn over at most 10 times a second,
/// otherwise a line at most every 5 s. The first and the last state are always shown.
class Progress {
 public:
  Progress(std::ostream& out, bool terminal, std::size_t total, std::size_t found,
           Clock clock = steady_now_s);
  /// `done` cells are done, those found included.
  void update(std::size_t done);
  /// Leaves the bar's line, so that what is printed next has one of its own. Without effect
  /// otherwise.
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
