#include "cli/synthesis/search_line.hpp"

#include <chrono>
#include <fmt/format.h>

#include "cli/support/print.hpp"
#include "core/counted.hpp"
#include "core/progress.hpp"
#include "synthesis/certificates/certificate.hpp"

namespace cclgym {

namespace {

constexpr double kRedrawPeriod_s = 0.5;
constexpr double kLinePeriod_s = 5;

}  // namespace

std::string text_of(const synthesis::SearchedTriple& search) {
  return fmt::format("{} with {}, {}, {}: R/C {}, bound {}", to_string(search.collective),
                     counted(search.chunks, "chunk"), counted(search.steps, "step"),
                     counted(search.rounds, "round"),
                     text_of(Rational(search.rounds, search.chunks)), text_of(search.bound));
}

SearchLine::SearchLine(bool quiet, double time_limit_s)
    : quiet_(quiet),
      terminal_(standard_error_redraws()),
      time_limit_s_(time_limit_s),
      start_s_(steady_now_s()),
      interrupt_("interrupted: the answers so far are kept; the same command continues",
                 terminal_ && !quiet) {
  if (!quiet_) clock_ = std::thread([this] { show_while_waiting(); });
}

SearchLine::~SearchLine() {
  if (!clock_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  clock_.join();
  if (drawn_) print_error("\r\033[K");
}

void SearchLine::search(const synthesis::SearchedTriple& triple) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  now_ = "searching " + text_of(triple);
}

void SearchLine::say(const std::string& sentence) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  print_error("{}{}\n", drawn_ ? "\r\033[K" : "", sentence);
  drawn_ = false;
  now_ = sentence;
}

void SearchLine::show() {
  if (now_.empty()) return;
  const double elapsed_s = steady_now_s() - start_s_;
  print_error("{}{}; {:.0f} of {:g} s{}", terminal_ ? "\r" : "", now_, elapsed_s, time_limit_s_,
              terminal_ ? "\033[K" : "\n");
  drawn_ = terminal_;
}

void SearchLine::show_while_waiting() {
  const std::chrono::duration<double> period(terminal_ ? kRedrawPeriod_s : kLinePeriod_s);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [this] { return ending_; })) show();
}

}  // namespace cclgym
