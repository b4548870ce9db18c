// Includes Catch2 in the system's version: 2 (Debian 12) or 3 (Debian 13, Ubuntu 24.04).
#pragma once

#include <cstdio>
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace cclgym::test {

/// Number of calls of say_not_run().
inline int& tests_not_run() {
  static int count = 0;
  return count;
}

/// Prints that a test, or a part of it, does not run here, with the reason, in a line that
/// scripts/test collects from all test programs: "not run: TEST [REASON]".
inline void say_not_run(const std::string& reason) {
  const std::string test = Catch::getResultCapture().getCurrentTestName();
  std::printf("not run: %s [%s]\n", test.c_str(), reason.c_str());
  std::fflush(stdout);
  ++tests_not_run();
}

}  // namespace cclgym::test

// Ends a test that cannot run here. Catch2 counts the test as skipped from version 3.3 on; before
// that, only the printed line shows it.
#ifdef SKIP
#define SKIP_UNLESS(condition, reason)   \
  do {                                   \
    if (!(condition)) {                  \
      cclgym::test::say_not_run(reason); \
      SKIP(reason);                      \
    }                                    \
  } while (false)
#else
#define SKIP_UNLESS(condition, reason)   \
  do {                                   \
    if (!(condition)) {                  \
      cclgym::test::say_not_run(reason); \
      return;                            \
    }                                    \
  } while (false)
#endif
