// Progress of searches for schedules.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/support/interrupt.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

/// "allgather with 6 chunks, 3 steps, 7 rounds: R/C 7/6, bound 7/6"
[[nodiscard]] std::string text_of(const synthesis::SearchedTriple& search);

/// Shows on standard error which schedule is searched for, for how long, and what was found: a line
/// that is rewritten on a terminal, otherwise lines at most every 5 s; nothing if `quiet`. While it
/// exists, SIGINT ends the process with a message that says what the same command does.
class SearchLine {
 public:
  SearchLine(bool quiet, double time_limit_s);
  ~SearchLine();
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;

  /// A search begins.
  void search(const synthesis::SearchedTriple& triple);
  /// A sentence about finished work, on a line of its own.
  void say(const std::string& sentence);

 private:
  void show_while_waiting();
  void show();

  bool quiet_;
  bool terminal_;
  double time_limit_s_;
  double start_s_;
  InterruptNotice interrupt_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string now_;     ///< the work that goes on; empty: none
  bool drawn_ = false;  ///< the line has text that must go before the next sentence
  bool ending_ = false;
  std::thread clock_;  ///< draws while a search does not return
};

}  // namespace cclgym
