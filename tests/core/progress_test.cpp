// Tests of the progress display of a run, on a simulated clock.
#include "core/progress.hpp"

#include <sstream>

#include "support/catch.hpp"

namespace cclgym {
namespace {

std::size_t count(const std::string& text, char wanted) {
  std::size_t found = 0;
  for (const char c : text) found += c == wanted ? 1U : 0U;
  return found;
}

TEST_CASE("progress as a text", "[core][progress]") {
  CHECK(progress_text(0, 100, 0, 0) == "0/100 cells  0 %");
  CHECK(progress_text(30, 100, 30, 0.5) == "30/100 cells  30 %");
  CHECK(progress_text(50, 100, 30, 4) == "50/100 cells  50 %  5.00 cells/s  10 s left");
  CHECK(progress_text(2000, 500'000, 0, 2) ==
        "2000/500000 cells  0 %  1000 cells/s  8 min 18 s left");
  CHECK(progress_text(1, 10'000, 0, 1) == "1/10000 cells  0 %  1.00 cells/s  2 h 46 min left");
  CHECK(progress_text(100, 100, 0, 2.5) == "100/100 cells  100 %  40 cells/s  in 3 s");
  CHECK(progress_text(0, 0, 0, 1) == "0/0 cells  100 %");
}

TEST_CASE("not on a terminal: plain lines, at most one every 5 s", "[core][progress]") {
  std::ostringstream out;
  double now_s = 0;
  Progress progress(out, false, 1000, 0, [&] { return now_s; });
  for (std::size_t done = 1; done <= 1000; ++done) {
    now_s += 0.0201;
    progress.update(done);
  }
  const std::string text = out.str();
  CHECK(count(text, '\n') == 1 + 4 + 1);  // first line, one per 5 s of 20 s, last line
  CHECK(count(text, '\r') == 0);
  CHECK(count(text, '\x1b') == 0);
  CHECK(text.starts_with("0/1000 cells  0 %\n"));
  CHECK(text.ends_with("1000/1000 cells  100 %  50 cells/s  in 21 s\n"));
}

TEST_CASE("on a terminal: one line, drawn at most 10 times a second", "[core][progress]") {
  std::ostringstream out;
  double now_s = 0;
  Progress progress(out, true, 1000, 500, [&] { return now_s; });
  CHECK(out.str() == "\r[###############...............] 500/1000 cells  50 %\x1b[K");
  for (std::size_t done = 501; done <= 1000; ++done) {
    now_s += 0.00201;
    progress.update(done);
  }
  const std::string text = out.str();
  CHECK(count(text, '\r') == 1 + 9 + 1);
  CHECK(count(text, '\n') == 1);
  CHECK(
      text.ends_with("[##############################] 1000/1000 cells  100 %  498 cells/s  "
                     "in 2 s\x1b[K\n"));
  progress.leave_line();
  CHECK(out.str() == text);
}

}  // namespace
}  // namespace cclgym
