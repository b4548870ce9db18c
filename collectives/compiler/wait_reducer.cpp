#include "collectives/compiler/wait_reducer.hpp"

#include <algorithm>
#include <tuple>

#include "core/index.hpp"

namespace cclgym {

namespace {}  // namespace

bool WaitReducer::knows(const Clock& clock, const Wait& wait) {
  const auto found =
      std::lower_bound(clock.begin(), clock.end(), wait.block,
                       [](const Wait& entry, std::int32_t block) { return entry.block < block; });
  return found != clock.end() && found->block == wait.block && found->step >= wait.step;
}

void WaitReducer::merge(Clock& into, const Clock& from) {
  if (from.empty()) return;
  merged_.clear();
  auto a = into.begin();
  auto b = from.begin();
  while (a != into.end() || b != from.end()) {
    if (b == from.end() || (a != into.end() && a->block < b->block)) {
      merged_.push_back(*a++);
    } else if (a == into.end() || b->block < a->block) {
      merged_.push_back(*b++);
    } else {
      merged_.push_back({a->block, std::max(a->step, b->step)});
      ++a;
      ++b;
    }
  }
  into.swap(merged_);
}

const WaitReducer::Clock& WaitReducer::snapshot(const Wait& wait) const {
  const auto& all = snapshots_[at(wait.block)];
  return std::lower_bound(
             all.begin(), all.end(), wait.step,
             [](const Snapshot& entry, std::int32_t step) { return entry.step < step; })
      ->clock;
}

void WaitReducer::add_step(std::int32_t block, std::int32_t step, bool waited_for,
                           std::vector<Wait>& waits) {
  Clock& clock = clocks_[at(block)];
  if (waits.size() > 1) {  // only the latest of each block
    std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
      return std::tie(a.block, b.step) < std::tie(b.block, a.step);
    });
    waits.erase(std::unique(waits.begin(), waits.end(),
                            [](const Wait& a, const Wait& b) { return a.block == b.block; }),
                waits.end());
  }
  std::erase_if(waits, [&clock](const Wait& wait) { return knows(clock, wait); });
  if (!waits.empty()) {
    implied_.clear();
    for (const Wait& wait : waits) merge(implied_, snapshot(wait));
    std::erase_if(waits, [this](const Wait& wait) { return knows(implied_, wait); });
    merge(clock, implied_);
    merge(clock, waits);
  }
  if (waited_for) snapshots_[at(block)].push_back({step, clock});
}

}  // namespace cclgym
