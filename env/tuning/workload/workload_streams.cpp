#include "env/tuning/workload/workload_streams.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/noise/noise_random.hpp"

namespace cclgym {

namespace {

std::vector<CollectiveKind> collectives_of_parts(
    const std::vector<std::unique_ptr<Workload>>& parts) {
  std::vector<CollectiveKind> all;
  for (const CollectiveKind kind : all_collectives()) {
    const bool used = std::ranges::any_of(parts, [&](const auto& part) {
      return std::ranges::find(part->collectives(), kind) != part->collectives().end();
    });
    if (used) all.push_back(kind);
  }
  return all;
}

}  // namespace

std::vector<CollectiveKind> collectives_of(const std::vector<WorkloadCall>& calls) {
  std::vector<CollectiveKind> used;
  for (const CollectiveKind kind : all_collectives()) {
    if (std::ranges::any_of(calls, [&](const auto& one) { return one.call.collective == kind; })) {
      used.push_back(kind);
    }
  }
  return used;
}

IterationWorkload::IterationWorkload(std::string name, std::vector<WorkloadCall> calls)
    : Workload(std::move(name), collectives_of(calls)), calls_(std::move(calls)) {}

std::unique_ptr<Workload> iteration_workload(std::string name, std::vector<WorkloadCall> calls) {
  return std::make_unique<IterationWorkload>(std::move(name), std::move(calls));
}

void IterationWorkload::start(Random& /*random*/) { position_ = 0; }

WorkloadCall IterationWorkload::next(Random& /*random*/) {
  const WorkloadCall& call = calls_[position_];
  position_ = (position_ + 1) % calls_.size();
  return call;
}

SweepWorkload::SweepWorkload(std::vector<WorkloadCall> cells, bool shuffled)
    : Workload("sweep", collectives_of(cells)),
      cells_(std::move(cells)),
      order_(cells_.size()),
      shuffled_(shuffled) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

void SweepWorkload::start(Random& /*random*/) {
  // The order in one episode is independent of that in the next.
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  position_ = 0;
}

bool SweepWorkload::weigh(std::vector<double> weights) {
  if (!shuffled_ || weights.size() != cells_.size()) return false;
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  if (weights.back() <= 0) return false;
  cumulative_ = std::move(weights);
  return true;
}

WorkloadCall SweepWorkload::next(Random& random) {
  if (!cumulative_.empty()) {
    const double drawn = random.uniform() * cumulative_.back();
    const auto place = std::ranges::upper_bound(cumulative_, drawn) - cumulative_.begin();
    return cells_[std::min(static_cast<std::size_t>(place), cells_.size() - 1)];
  }
  if (shuffled_) {
    const auto last = static_cast<std::int64_t>(order_.size()) - 1;
    const auto drawn = random.integer(static_cast<std::int64_t>(position_), last);
    std::swap(order_[position_], order_[static_cast<std::size_t>(drawn)]);
  }
  const WorkloadCall& cell = cells_[order_[position_]];
  position_ = (position_ + 1) % order_.size();
  return cell;
}

CurriculumWorkload::CurriculumWorkload(std::vector<CollectiveKind> collectives, std::uint64_t least,
                                       std::uint64_t most, int ranks)
    : Workload("curriculum", std::move(collectives)),
      log_least_(portable_log(static_cast<double>(least))),
      log_most_(portable_log(static_cast<double>(most))),
      ranks_(ranks) {}

void CurriculumWorkload::start(Random& /*random*/) {}

WorkloadCall CurriculumWorkload::next(Random& random) {
  const auto last = static_cast<std::int64_t>(collectives().size()) - 1;
  const CollectiveKind kind = collectives()[static_cast<std::size_t>(random.integer(0, last))];
  const double bytes = portable_exp(random.uniform(log_least_, log_most_));
  WorkloadCall drawn;
  drawn.call.collective = kind;
  drawn.call.bytes = fitting_bytes(kind, static_cast<std::uint64_t>(bytes), ranks_);
  drawn.context.ends_step = true;
  return drawn;
}

MixedWorkload::MixedWorkload(std::vector<std::unique_ptr<Workload>> parts)
    : Workload("mixed", collectives_of_parts(parts)), parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    calls_.insert(calls_.end(), part->calls().begin(), part->calls().end());
  }
}

void MixedWorkload::start(Random& random) {
  for (const auto& part : parts_) part->start(random);
  current_ =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(parts_.size()) - 1));
}

WorkloadCall MixedWorkload::next(Random& random) {
  const WorkloadCall call = parts_[current_]->next(random);
  if (call.context.ends_step) {
    current_ =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(parts_.size()) - 1));
  }
  return call;
}

}  // namespace cclgym
