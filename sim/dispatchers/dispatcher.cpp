#include "sim/dispatchers/dispatcher.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>

#include "core/random.hpp"

namespace cclgym {

namespace {

using Rule = std::function<std::size_t(const DispatcherCell&)>;

DispatcherScore score(std::string name, const CollectiveDispatcher& part, double tie,
                      const Rule& rule) {
  const bool any_held_out = std::ranges::any_of(part.cells, &DispatcherCell::held_out);
  DispatcherScore result{.rule = std::move(name)};
  std::size_t cells = 0;
  std::size_t right = 0;
  double logs = 0;
  for (const DispatcherCell& cell : part.cells) {
    if (any_held_out && !cell.held_out) continue;
    const std::size_t chosen = rule(cell);
    const double regret = cell.regret(chosen);
    ++cells;
    if (chosen == cell.best(tie)) ++right;
    logs += portable_log(regret);
    result.worst_regret = std::max(result.worst_regret, regret);
  }
  if (cells == 0) return result;
  result.accuracy = static_cast<double>(right) / static_cast<double>(cells);
  result.regret = portable_exp(logs / static_cast<double>(cells));
  return result;
}

std::size_t majority(const CollectiveDispatcher& part, double tie, std::size_t backends) {
  std::vector<std::size_t> wins(backends, 0);
  for (const DispatcherCell& cell : part.cells) {
    if (!cell.held_out) ++wins[cell.best(tie)];
  }
  return static_cast<std::size_t>(std::ranges::max_element(wins) - wins.begin());
}

std::size_t of_nearest(const CollectiveDispatcher& part, double tie, const DispatcherCell& cell) {
  const SvmPoint here = dispatcher_point(cell.bytes, cell.gpus);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (const DispatcherCell& other : part.cells) {
    if (other.held_out) continue;
    const SvmPoint there = dispatcher_point(other.bytes, other.gpus);
    double squares = 0;
    for (std::size_t i = 0; i < kSvmFeatures; ++i) {
      const double distance = (here[i] - there[i]) * part.svm.scale[i];
      squares += distance * distance;
    }
    if (squares < least) {
      least = squares;
      best = other.best(tie);
    }
  }
  return best;
}

}  // namespace

std::size_t DispatcherCell::best(double tie) const {
  const double limit_us = (1 + tie) * std::ranges::min(time_us);
  const auto first = std::ranges::find_if(time_us, [=](double time) { return time <= limit_us; });
  return static_cast<std::size_t>(first - time_us.begin());
}

double DispatcherCell::regret(std::size_t backend) const {
  return time_us[backend] / std::ranges::min(time_us);
}

double Dispatcher::tie() const { return 2 * sigma * std::sqrt(2.0 / trials); }

std::size_t CollectiveDispatcher::choose(std::uint64_t bytes, int gpus) const {
  return static_cast<std::size_t>(svm.predict(dispatcher_point(bytes, gpus)));
}

const CollectiveDispatcher* Dispatcher::find(CollectiveKind collective) const {
  const auto found = std::ranges::find(collectives, collective, &CollectiveDispatcher::collective);
  return found == collectives.end() ? nullptr : &*found;
}

std::string Dispatcher::collectives_text() const {
  std::string text;
  for (const CollectiveDispatcher& part : collectives) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(part.collective));
  }
  return text;
}

bool pccl_has(CollectiveKind collective) {
  return collective == CollectiveKind::AllGather || collective == CollectiveKind::ReduceScatter ||
         collective == CollectiveKind::AllReduce;
}

SvmPoint dispatcher_point(std::uint64_t bytes, int gpus) {
  return {portable_log2(static_cast<double>(bytes)), portable_log2(gpus)};
}

std::vector<DispatcherScore> dispatcher_scores(const Dispatcher& dispatcher,
                                               const CollectiveDispatcher& part) {
  const double tie = dispatcher.tie();
  std::vector<DispatcherScore> scores;
  const auto add = [&](std::string name, const Rule& rule) {
    scores.push_back(score(std::move(name), part, tie, rule));
  };
  add("svm", [&](const DispatcherCell& cell) { return part.choose(cell.bytes, cell.gpus); });
  const std::size_t frequent = majority(part, tie, dispatcher.backends.size());
  add(fmt::format("majority ({})", dispatcher.backends[frequent]),
      [&](const DispatcherCell&) { return frequent; });
  const auto rec = std::ranges::find(dispatcher.backends, "pccl:rec");
  if (rec != dispatcher.backends.end()) {
    const auto index = static_cast<std::size_t>(rec - dispatcher.backends.begin());
    add("always pccl:rec", [index](const DispatcherCell&) { return index; });
  }
  add("nearest cell", [&](const DispatcherCell& cell) { return of_nearest(part, tie, cell); });
  return scores;
}

std::optional<double> published_svm_accuracy(std::string_view fabric, CollectiveKind collective) {
  struct Row {
    std::string_view fabric;
    CollectiveKind collective;
    double accuracy;
  };
  static constexpr std::array kTable{Row{"frontier", CollectiveKind::AllGather, .85},
                                     Row{"frontier", CollectiveKind::ReduceScatter, .9},
                                     Row{"frontier", CollectiveKind::AllReduce, .8},
                                     Row{"perlmutter", CollectiveKind::AllGather, .909},
                                     Row{"perlmutter", CollectiveKind::ReduceScatter, .954},
                                     Row{"perlmutter", CollectiveKind::AllReduce, .75}};
  for (const Row& row : kTable) {
    if (row.fabric == fabric && row.collective == collective) return row.accuracy;
  }
  return std::nullopt;
}

}  // namespace cclgym
