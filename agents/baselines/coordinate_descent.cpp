#include "agents/baselines/coordinate_descent.hpp"

#include <algorithm>

namespace cclgym {

void CoordinateDescentPolicy::begin_setup(const TuningSetup& setup) {
  cells_.clear();
  cell_ = nullptr;
  coordinates_.clear();
  const std::vector<Knob>& knobs = setup.actions->knobs();
  for (std::size_t d = 0; d < knobs.size(); ++d) {
    if (knobs[d] == Knob::Inter) {
      coordinates_.front().push_back(d);  // moves together with the algorithm, which comes first
    } else {
      coordinates_.push_back({d});
    }
  }
}

std::vector<CoordinateDescentPolicy::Action> CoordinateDescentPolicy::neighbours(
    const Cell& cell) const {
  const auto all = actions().legal_actions(cell.collective);
  const std::size_t n = cell.best.size();
  const std::vector<std::size_t>& moving = coordinates_[cell.knob];
  std::vector<Action> found;
  for (std::size_t i = 0; i < all.size(); i += n) {
    const auto action = all.subspan(i, n);
    if (std::ranges::equal(action, cell.best)) continue;
    bool held = true;
    // A tuner decides all knobs, so an action of a tuner is compared only in its algorithm.
    const bool chooses = actions().tuner_of(action).has_value();
    for (std::size_t d = 0; d < n && held; ++d) {
      held = chooses || std::ranges::find(moving, d) != moving.end() || action[d] == cell.best[d];
    }
    if (chooses && std::ranges::find(moving, std::size_t{0}) == moving.end()) held = false;
    if (held) found.emplace_back(action.begin(), action.end());
  }
  std::ranges::reverse(found);
  return found;
}

void CoordinateDescentPolicy::next_candidates(Cell& cell) const {
  while (cell.candidates.empty() && !cell.settled) {
    if (cell.unchanged == coordinates_.size()) {
      cell.settled = true;
      return;
    }
    cell.knob = (cell.knob + 1) % coordinates_.size();
    ++cell.unchanged;
    cell.candidates = neighbours(cell);
  }
}

void CoordinateDescentPolicy::choose(const CollectiveTuningEnv& environment,
                                     std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  auto [found, is_new] = cells_.try_emplace({call.collective, call.bytes});
  Cell& cell = found->second;
  if (is_new) {
    cell.collective = call.collective;
    cell.best = nearest_action(actions(), call.collective, actions().reference(call));
    // next_candidates starts with the knob after this one.
    cell.knob = coordinates_.size() - 1;
  }
  cell_ = &cell;
  if (cell.started) next_candidates(cell);
  const bool trying = cell.started && !cell.settled;
  std::ranges::copy(trying ? cell.candidates.back() : cell.best, action.begin());
}

void CoordinateDescentPolicy::learn(double time_us) {
  Cell& cell = *cell_;
  if (cell.settled) {
    ++settled_;
    return;
  }
  ++searching_;
  cell.times_us.push_back(time_us);
  if (cell.times_us.size() < repeats_) return;
  const auto middle = cell.times_us.begin() + static_cast<std::ptrdiff_t>(cell.times_us.size() / 2);
  std::ranges::nth_element(cell.times_us, middle);
  const double median_us = *middle;
  cell.times_us.clear();
  if (!cell.started) {
    cell.started = true;
    cell.best_us = median_us;
    return;
  }
  const Action tried = std::move(cell.candidates.back());
  cell.candidates.pop_back();
  if (median_us < cell.best_us) {
    cell.best_us = median_us;
    cell.best = tried;
    cell.unchanged = 0;
  }
}

}  // namespace cclgym
