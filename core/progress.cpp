#include "core/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <ostream>

namespace cclgym {

namespace {

constexpr double kBarPeriod_s = 0.1;
constexpr double kLinePeriod_s = 5;
constexpr std::size_t kBarColumns = 30;

std::string rate_text(double per_second) {
  return per_second < 10 ? fmt::format("{:.2f}", per_second) : fmt::format("{:.0f}", per_second);
}

}  // namespace

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string progress_text(std::size_t done, std::size_t total, std::size_t found,
                          double elapsed_s) {
  std::string text =
      fmt::format("{}/{} cells  {} %", done, total, total == 0 ? 100 : done * 100 / total);
  if (done > found && elapsed_s > 0) {
    const double rate = static_cast<double>(done - found) / elapsed_s;
    text += fmt::format("  {} cells/s", rate_text(rate));
    text += done < total
                ? fmt::format("  {} left", duration_text(static_cast<double>(total - done) / rate))
                : fmt::format("  in {}", duration_text(elapsed_s));
  }
  return text;
}

Progress::Progress(std::ostream& out, bool terminal, std::size_t total, std::size_t found,
                   Clock clock)
    : out_(out),
      terminal_(terminal),
      total_(total),
      found_(found),
      clock_(std::move(clock)),
      start_s_(clock_()),
      shown_s_(start_s_) {
  show(found, start_s_);
}

void Progress::update(std::size_t done) {
  const double now_s = clock_();
  const double period_s = terminal_ ? kBarPeriod_s : kLinePeriod_s;
  if (done < total_ && now_s - shown_s_ < period_s) return;
  show(done, now_s);
}

void Progress::leave_line() {
  if (in_line_) out_ << '\n' << std::flush;
  in_line_ = false;
}

void Progress::show(std::size_t done, double now_s) {
  shown_s_ = now_s;
  const std::string text = progress_text(done, total_, found_, now_s - start_s_);
  if (!terminal_) {
    out_ << text << '\n' << std::flush;
    return;
  }
  const std::size_t filled = total_ == 0 ? kBarColumns : done * kBarColumns / total_;
  // Return to the start of the line, print the new text, and erase the rest of a longer old one.
  out_ << "\r[" << std::string(filled, '#') << std::string(kBarColumns - filled, '.') << "] "
       << text << "\x1b[K" << std::flush;
  in_line_ = true;
  if (done == total_) leave_line();
}

}  // namespace cclgym
