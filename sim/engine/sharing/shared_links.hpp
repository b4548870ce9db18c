// Links whose flows all move at the same rate, in virtual time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/index.hpp"
#include "sim/engine/sharing/date_tournament.hpp"
#include "sim/engine/sharing/flow_network.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// If no other link limits the flows of a link, and all have the same bound, each moves at
/// min(bound, capacity / load). A link then counts the bytes that a flow has moved since the link
/// was last idle (its virtual time); a flow is done when this count has grown by its own bytes,
/// whatever the other flows do. So only the next flow to end needs a date: a flow that comes or
/// goes costs one event and O(log flows), instead of a new date for each flow of the link
/// (Demers, Keshav and Shenker, Analysis and Simulation of a Fair Queueing Algorithm, 1989; Parekh
/// and Gallager, A Generalized Processor Sharing Approach to Flow Control, 1993).
///
/// Such flows need no slot while they move, and FlowNetwork does not know them.
class SharedLinks {
 public:
  /// Finds the links of this kind. `network` must have loaded the graph, which must outlive the
  /// runs.
  void load(const TransferGraph& graph, const FlowNetwork& network);
  /// Makes all links idle. `used`: false if this run must not use them.
  void reset(bool used);
  /// True if the graph has such links.
  [[nodiscard]] bool any() const { return !links_.empty(); }
  [[nodiscard]] bool used() const { return used_; }
  /// Number of the only link that limits flows on `route`; -1 if it is not of this kind.
  [[nodiscard]] std::int32_t link_of(std::int32_t route) const {
    return used_ ? link_of_[at(route)] : -1;
  }
  /// Date at which the next flow ends; infinite if none is moving.
  [[nodiscard]] double next_date() const { return dates_.next_date(); }

  /// The flow of `node` begins to move its bytes on a link.
  void add(std::int32_t number, TransferId node, double now_s) {
    Link& link = links_[at(number)];
    if (link.flows.empty()) {
      link.moved_bytes = 0;
    } else {
      link.moved_bytes += link.rate_Bps * (now_s - link.since_s);
    }
    link.since_s = now_s;
    const std::int32_t load = load_of(node);
    link.load += load;
    push(link.flows, {link.moved_bytes + graph_->bytes(node), node, load});
    make_dirty(link, number);
  }

  /// Handles the next event: calls done(node) for each flow that ends on one link at next_date().
  template <class OnDone>
  void end_flows(OnDone&& done) {
    const double now_s = dates_.next_date();
    const std::int32_t number = dates_.next();
    Link& link = links_[at(number)];
    const double end_bytes = link.flows.front().end_bytes;
    link.moved_bytes = end_bytes;
    link.since_s = now_s;
    // A flow that `done` starts may have the same count, so all that end leave the link first.
    ended_.clear();
    do {
      const Flow flow = pop(link.flows);
      link.load -= flow.load;
      ended_.push_back(flow.node);
    } while (!link.flows.empty() && link.flows.front().end_bytes == end_bytes);
    set_date(link, number);
    for (const TransferId node : ended_) done(node);
  }

  /// Gives each link on which flows came or went its new rate and its next event.
  void settle() {
    for (const std::int32_t number : dirty_) {
      links_[at(number)].dirty = false;
      set_date(links_[at(number)], number);
    }
    dirty_.clear();
  }

 private:
  struct Flow {
    double end_bytes;  ///< value of Link::moved_bytes at which it is done
    TransferId node;
    std::int32_t load;
  };
  struct Link {
    double moved_bytes = 0;  ///< bytes that each flow has moved since the link was idle
    double since_s = 0;      ///< date at which moved_bytes was counted
    double rate_Bps = 0;     ///< rate of each flow since then
    double capacity_Bps = 0;
    double bound_Bps = 0;
    std::int32_t load = 0;  ///< total load of its flows
    bool dirty = false;
    std::vector<Flow> flows;  ///< binary heap, that which ends next first
  };

  [[nodiscard]] std::int32_t load_of(TransferId node) const {
    return graph_->loaded() ? load_of_[at(graph_->route_of(node))] : 1;
  }
  void make_dirty(Link& link, std::int32_t number) {
    if (link.dirty) return;
    link.dirty = true;
    dirty_.push_back(number);
  }
  /// Gives a link without flows that came or went since `since_s` its rate and its next event.
  void set_date(Link& link, std::int32_t number) {
    if (link.flows.empty()) {
      dates_.set(number, DateTournament::kNever);
      return;
    }
    link.rate_Bps = std::min(link.bound_Bps, link.capacity_Bps / static_cast<double>(link.load));
    const double left_bytes = std::max(0.0, link.flows.front().end_bytes - link.moved_bytes);
    dates_.set(number, link.since_s + left_bytes / link.rate_Bps);
  }
  static void push(std::vector<Flow>& heap, const Flow& flow);
  static Flow pop(std::vector<Flow>& heap);

  bool used_ = false;
  DateTournament dates_;  ///< by link: date at which the next of its flows ends
  const TransferGraph* graph_ = nullptr;
  std::vector<Link> links_;
  std::vector<std::int32_t> link_of_;  ///< by route: number of its link; -1: of another kind
  std::vector<std::int32_t> load_of_;  ///< by route: its load on that link; empty: 1
  std::vector<std::int32_t> dirty_;
  std::vector<TransferId> ended_;  ///< used only in end_flows
};

inline void SharedLinks::push(std::vector<Flow>& heap, const Flow& flow) {
  std::size_t place = heap.size();
  heap.push_back(flow);
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (heap[parent].end_bytes <= flow.end_bytes) break;
    heap[place] = heap[parent];
    place = parent;
  }
  heap[place] = flow;
}

inline SharedLinks::Flow SharedLinks::pop(std::vector<Flow>& heap) {
  const Flow first = heap.front();
  const Flow last = heap.back();
  heap.pop_back();
  if (heap.empty()) return first;
  std::size_t place = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * place + 1) {
    if (child + 1 < heap.size() && heap[child + 1].end_bytes < heap[child].end_bytes) ++child;
    if (last.end_bytes <= heap[child].end_bytes) break;
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = last;
  return first;
}

}  // namespace cclgym
