#include "topology_models/metrics/max_flow.hpp"

#include <algorithm>

#include "core/index.hpp"

namespace cclgym {

int MaxFlow::add_edge(int u, int v, std::int64_t forwards, std::int64_t backwards) {
  edges_.push_back({u, v, forwards, backwards});
  arcs_.clear();
  return static_cast<int>(edges_.size()) - 1;
}

void MaxFlow::set_capacity(int edge, std::int64_t forwards, std::int64_t backwards) {
  edges_[at(edge)].forwards = forwards;
  edges_[at(edge)].backwards = backwards;
  if (arcs_.empty()) return;
  const auto there = at(position_[at(edge)]);
  const auto back = at(arcs_[there].twin);
  capacity_[there] = residual_[there] = forwards;
  capacity_[back] = residual_[back] = backwards;
}

void MaxFlow::build() {
  first_.assign(at(nodes_ + 1), 0);
  for (const Edge& edge : edges_) {
    ++first_[at(edge.u + 1)];
    ++first_[at(edge.v + 1)];
  }
  for (int node = 0; node < nodes_; ++node) first_[at(node + 1)] += first_[at(node)];
  arcs_.resize(2 * edges_.size());
  capacity_.resize(arcs_.size());
  position_.resize(edges_.size());
  std::vector<int> free(first_.begin(), first_.end() - 1);
  for (std::size_t k = 0; k < edges_.size(); ++k) {
    const Edge& edge = edges_[k];
    const int there = free[at(edge.u)]++;
    const int back = free[at(edge.v)]++;
    arcs_[at(there)] = {edge.v, back};
    arcs_[at(back)] = {edge.u, there};
    capacity_[at(there)] = edge.forwards;
    capacity_[at(back)] = edge.backwards;
    position_[k] = there;
  }
  residual_ = capacity_;
  level_.resize(at(nodes_));
  next_.resize(at(nodes_));
}

// Breadth-first from the sink, so that the search for paths enters no dead end but those that it
// saturates itself. Nodes farther from the sink than the source stay unknown.
bool MaxFlow::find_levels(int source, int sink) {
  std::fill(level_.begin(), level_.end(), -1);
  queue_.assign(1, sink);
  level_[at(sink)] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const int node = queue_[head];
    const int level = level_[at(node)] + 1;
    const int end = first_[at(node + 1)];
    work_ += end - first_[at(node)];
    for (int arc = first_[at(node)]; arc < end; ++arc) {
      const int from = arcs_[at(arc)].target;
      if (level_[at(from)] >= 0 || residual_[at(arcs_[at(arc)].twin)] == 0) continue;
      level_[at(from)] = level;
      if (from == source) return true;
      queue_.push_back(from);
    }
  }
  return false;
}

// A blocking flow along arcs that lead one level down, path by path.
std::int64_t MaxFlow::push(int source, int sink, std::int64_t limit) {
  for (const int node : queue_) next_[at(node)] = first_[at(node)];
  next_[at(source)] = first_[at(source)];
  std::int64_t total = 0;
  path_.clear();
  int node = source;
  while (true) {
    if (node == sink) {
      std::int64_t amount = limit - total;
      for (const int arc : path_) amount = std::min(amount, residual_[at(arc)]);
      std::size_t kept = path_.size();
      for (std::size_t k = path_.size(); k-- > 0;) {
        const auto arc = at(path_[k]);
        residual_[arc] -= amount;
        residual_[at(arcs_[arc].twin)] += amount;
        if (residual_[arc] == 0) kept = k;
      }
      work_ += static_cast<std::int64_t>(path_.size());
      total += amount;
      if (total == limit) return total;
      // Continues at the start of the first saturated arc.
      node = arcs_[at(arcs_[at(path_[kept])].twin)].target;
      path_.resize(kept);
      continue;
    }
    int& arc = next_[at(node)];
    const int end = first_[at(node + 1)];
    const int below = level_[at(node)] - 1;
    const int start = arc;
    while (arc < end && (residual_[at(arc)] == 0 || level_[at(arcs_[at(arc)].target)] != below)) {
      ++arc;
    }
    work_ += arc - start;
    if (arc < end) {
      path_.push_back(arc);
      node = arcs_[at(arc)].target;
    } else if (path_.empty()) {
      return total;
    } else {
      node = arcs_[at(arcs_[at(path_.back())].twin)].target;
      path_.pop_back();
      ++next_[at(node)];
    }
  }
}

std::int64_t MaxFlow::solve(int source, int sink, std::int64_t limit) {
  if (arcs_.empty()) {
    build();
  } else {
    residual_ = capacity_;
  }
  return augment(source, sink, limit);
}

std::int64_t MaxFlow::augment(int source, int sink, std::int64_t limit) {
  source_ = source;
  std::int64_t total = 0;
  while (total < limit && find_levels(source, sink)) total += push(source, sink, limit - total);
  return total;
}

std::vector<bool> MaxFlow::source_side() const {
  std::vector<bool> side(at(nodes_));
  std::vector<int> open{source_};
  side[at(source_)] = true;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (int arc = first_[at(node)]; arc < first_[at(node + 1)]; ++arc) {
      const int next = arcs_[at(arc)].target;
      if (residual_[at(arc)] == 0 || side[at(next)]) continue;
      side[at(next)] = true;
      open.push_back(next);
    }
  }
  return side;
}

}  // namespace cclgym
