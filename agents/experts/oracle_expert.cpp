#include "agents/experts/oracle_expert.hpp"

#include <algorithm>
#include <cmath>

#include "env/tuning/estimates/action_prior.hpp"

namespace cclgym {

OracleExpert::OracleExpert(std::shared_ptr<const TuningSetup> setup, double temperature,
                           double margin, bool advised)
    : setup_(std::move(setup)), temperature_(temperature), margin_(margin), advised_(advised) {}

OracleExpert::Cell OracleExpert::cell_of(const Call& call, std::span<const double> times_s) const {
  const double best_s = *std::ranges::min_element(times_s);
  Cell cell;
  if (advised_) {
    const auto number = setup_->prior->advised_number(call);
    if (number && std::log(times_s[*number] / best_s) <= std::log1p(margin_)) {
      return {{static_cast<std::uint32_t>(*number)}, {1}};
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const double loss = std::log(times_s[i] / best_s);
    if (loss > std::log1p(margin_)) continue;
    sum += std::exp(-loss / temperature_);
    cell.actions.push_back(static_cast<std::uint32_t>(i));
    cell.cumulative.push_back(sum);
  }
  return cell;
}

OracleExpert::Cell OracleExpert::make_cell(const Call& call, std::size_t condition) const {
  // Timers are not thread-safe, so each call has its own. They share the cache, which is
  // thread-safe.
  CallTimer timer(setup_->site, setup_->cache);
  TuningOracle oracle(setup_->actions, timer);
  std::vector<double> times_s(setup_->actions->legal_count(call.collective));
  oracle.all_times(call, times_s, condition);
  return cell_of(call, times_s);
}

OracleExpert::Key OracleExpert::key_of(const Call& call, std::size_t condition) {
  return {static_cast<std::uint8_t>(call.collective), call.root, call.bytes, condition};
}

std::shared_ptr<const OracleExpert::Cell> OracleExpert::cell(const Call& call,
                                                             std::size_t condition) {
  const Key key = key_of(call, condition);
  {
    const std::lock_guard lock(mutex_);
    const auto found = cells_.find(key);
    if (found != cells_.end()) return found->second;
  }
  auto made = std::make_shared<const Cell>(make_cell(call, condition));
  const std::lock_guard lock(mutex_);
  return cells_.try_emplace(key, std::move(made)).first->second;
}

void OracleExpert::choose(const CollectiveTuningEnv& environment, Random& random,
                          std::span<std::int32_t> levels) {
  const Call& call = environment.next_call().call;
  const auto known = cell(call, environment.condition());
  const double drawn = random.uniform() * known->cumulative.back();
  const auto place = std::ranges::upper_bound(known->cumulative, drawn);
  const auto last = static_cast<std::ptrdiff_t>(known->actions.size()) - 1;
  const std::ptrdiff_t index = std::min(place - known->cumulative.begin(), last);
  const auto actions = setup_->actions->legal_actions(call.collective);
  const std::size_t action = known->actions[static_cast<std::size_t>(index)];
  std::ranges::copy(actions.subspan(action * levels.size(), levels.size()), levels.begin());
}

std::size_t OracleExpert::fill(std::size_t threads,
                               const std::function<void(std::size_t done)>& progress) {
  const std::vector<Call> calls = setup_->listed_calls();
  setup_->fill_oracle(
      threads, [&](std::size_t call, std::size_t condition, std::span<const double> times_s) {
        auto made = std::make_shared<const Cell>(cell_of(calls[call], times_s));
        const std::lock_guard lock(mutex_);
        cells_.insert_or_assign(key_of(calls[call], condition), std::move(made));
        if (progress) progress(cells_.size());
      });
  return cells_.size();
}

}  // namespace cclgym
