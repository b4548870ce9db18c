#include "sim/graph/edge_rows.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace cclgym {

void EdgeRows::add(TransferId source, TransferId target, std::int32_t lag) {
  if (in_order_ && at(source) + 1 < begin_.size()) list_sources();
  if (in_order_) {
    // The rows up to that of the source begin at the latest at this edge.
    while (begin_.size() <= at(source)) begin_.push_back(static_cast<std::uint32_t>(size()));
  } else {
    sources_.push_back(source);
  }
  if (lag != 0) add_lags();
  if (lagged_) {
    edges_.push_back({target, lag});
  } else {
    targets_.push_back(target);
  }
}

void EdgeRows::add_lags() {
  if (lagged_) return;
  lagged_ = true;
  edges_.reserve(targets_.size());
  for (const TransferId target : targets_) edges_.push_back({target, 0});
  targets_ = {};
}

// Replaces the rows by the source of each edge.
void EdgeRows::list_sources() {
  in_order_ = false;
  sources_.reserve(size() + 1);
  for (std::size_t node = 0; node < begin_.size(); ++node) {
    const std::size_t end = node + 1 < begin_.size() ? begin_[node + 1] : size();
    sources_.resize(end, static_cast<TransferId>(node));
  }
  begin_ = {};
}

template <class Item>
void EdgeRows::sort(std::vector<Item>& items) {
  // begin_[node + 1] is the place of the next edge of `node`, so that it is the end of the row when
  // all are in place.
  std::vector<Item> sorted(items.size());
  for (std::size_t edge = 0; edge < items.size(); ++edge) {
    sorted[begin_[at(sources_[edge]) + 1]++] = items[edge];
  }
  items = std::move(sorted);
}

void EdgeRows::finish(std::size_t nodes, bool lags) {
  if (size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::logic_error("TransferGraph: 2^32 edges or more");
  }
  if (lags) add_lags();
  if (in_order_) {
    begin_.resize(nodes + 1, static_cast<std::uint32_t>(size()));
    return;
  }
  // A stable counting sort.
  begin_.assign(nodes + 2, 0);
  for (const TransferId source : sources_) ++begin_[at(source) + 2];
  for (std::size_t node = 0; node < nodes; ++node) begin_[node + 2] += begin_[node + 1];
  lagged_ ? sort(edges_) : sort(targets_);
  begin_.pop_back();
  sources_ = {};
  in_order_ = true;
}

void EdgeRows::reopen() {
  begin_.pop_back();
  if (begin_.empty()) begin_.push_back(0);
}

}  // namespace cclgym
