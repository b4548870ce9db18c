#include "sim/graph/capacity_process.hpp"

#include <cmath>
#include <fmt/core.h>
#include <stdexcept>
#include <utility>

namespace cclgym {
namespace {

// `before_s`: date of the previous change, 0 if there is none.
void check(const CapacityChange& change, double before_s) {
  if (!std::isfinite(change.time_s) || change.time_s < before_s) {
    throw std::logic_error(
        fmt::format("capacity change at {} s, after one at {} s", change.time_s, before_s));
  }
  if (!std::isfinite(change.capacity_Bps) || change.capacity_Bps <= 0) {
    throw std::logic_error(
        fmt::format("capacity change of link {} to {} B/s", change.link, change.capacity_Bps));
  }
}

}  // namespace

CapacitySchedule::CapacitySchedule(std::vector<CapacityChange> changes)
    : changes_(std::move(changes)) {
  double before_s = 0;
  for (const CapacityChange& change : changes_) {
    check(change, before_s);
    before_s = change.time_s;
  }
}

std::optional<CapacityChange> CapacitySchedule::next() {
  if (position_ == changes_.size()) return std::nullopt;
  return changes_[position_++];
}

void CapacityReader::start(CapacityProcess* process, std::size_t links) {
  process_ = process;
  links_ = links;
  pending_.reset();
  if (process_ == nullptr) return;
  process_->restart();
  advance();
}

void CapacityReader::advance() {
  const double before_s = pending_ ? pending_->time_s : 0;
  pending_ = process_->next();
  if (!pending_) return;
  check(*pending_, before_s);
  if (pending_->link < 0 || static_cast<std::size_t>(pending_->link) >= links_) {
    throw std::logic_error(
        fmt::format("capacity change of link {}, but there are {} links", pending_->link, links_));
  }
}

}  // namespace cclgym
