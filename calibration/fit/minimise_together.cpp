// Several minimisations side by side: NLopt calls the objective, so each search has a thread, which
// waits while its point is evaluated.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "calibration/fit/minimise.hpp"

namespace cclgym {

namespace {

class Together {
 public:
  explicit Together(const std::vector<Search>& searches)
      : searches_(searches), seats_(searches.size()), minima_(searches.size()) {}

  std::vector<Minimum> run(const EvaluateTogether& evaluate) {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < searches_.size(); ++i) {
        threads.emplace_back([this, i] { search(i); });
      }
      try {
        for (std::vector<SearchPoint> points = next(); !points.empty(); points = next()) {
          answer(points, evaluate(points));
        }
      } catch (...) {
        stop(std::current_exception());
      }
    }  // all threads have ended
    if (failure_) std::rethrow_exception(failure_);
    return std::move(minima_);
  }

 private:
  enum class State { Busy, Asks, Ended };
  // State of a search. It asks at `at` and goes on when it is busy again.
  struct Seat {
    State state = State::Busy;
    std::vector<double> at{};
    double value = 0;
  };

  void search(std::size_t i) {
    try {
      minima_[i] = minimise([&](const std::vector<double>& at) { return ask(seats_[i], at); },
                            searches_[i].start, searches_[i].options);
    } catch (...) {
      stop(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    seats_[i].state = State::Ended;
    changed_.notify_all();
  }

  double ask(Seat& seat, const std::vector<double>& at) {
    std::unique_lock lock(mutex_);
    seat.at = at;
    seat.state = State::Asks;
    changed_.notify_all();
    changed_.wait(lock, [&] { return seat.state == State::Busy || failure_; });
    if (failure_) throw std::runtime_error("another search has failed");
    return seat.value;
  }

  // The points of all searches that have not ended, as soon as each of them has given one.
  std::vector<SearchPoint> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      for (const Seat& seat : seats_) {
        if (seat.state == State::Busy && !failure_) return false;
      }
      return true;
    });
    std::vector<SearchPoint> points;
    for (std::size_t i = 0; i < seats_.size() && !failure_; ++i) {
      if (seats_[i].state == State::Asks) points.push_back({i, seats_[i].at});
    }
    return points;
  }

  void answer(const std::vector<SearchPoint>& points, const std::vector<double>& values) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < points.size(); ++i) {
      Seat& seat = seats_[points[i].search];
      seat.value = values.at(i);
      seat.state = State::Busy;
    }
    changed_.notify_all();
  }

  // Ends all searches; the first reason counts.
  void stop(const std::exception_ptr& failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    changed_.notify_all();
  }

  const std::vector<Search>& searches_;
  std::mutex mutex_;  // guards the variables below
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::vector<Minimum> minima_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<Minimum> minimise_together(const std::vector<Search>& searches,
                                       const EvaluateTogether& evaluate) {
  if (searches.size() != 1) return Together(searches).run(evaluate);
  const auto objective = [&](const std::vector<double>& at) { return evaluate({{0, at}}).at(0); };
  return {minimise(objective, searches[0].start, searches[0].options)};
}

}  // namespace cclgym
