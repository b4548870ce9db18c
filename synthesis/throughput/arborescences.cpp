#include "synthesis/throughput/arborescences.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "core/index.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

// Trees that grow together; `reached` are their nodes in the order in which they joined, and
// `has` tells by node whether it joined.
struct Growth {
  OutTree tree;
  std::vector<int> reached;
  std::vector<char> has;
};

// Decides by how many trees an edge may be taken. By node number: the members; then `start_`, which
// has all data; then one node per batch of trees that has begun to grow and waits.
class Packing {
 public:
  Packing(const std::vector<SplitEdge>& edges, const std::vector<std::int64_t>& counts,
          const std::vector<int>& members)
      : edges_(edges), start_(static_cast<int>(members.size())), untouched_(members.size()) {
    std::vector<int> number(at(1 + *std::max_element(members.begin(), members.end())), -1);
    for (std::size_t k = 0; k < members.size(); ++k) {
      number[at(members[k])] = static_cast<int>(k);
      untouched_[k] = counts[at(members[k])];
      others_ += untouched_[k];
    }
    out_.resize(members.size());
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const int source = number[at(edges[k].source)];
      const int target = number[at(edges[k].target)];
      ends_.push_back({source, target});
      units_.push_back(edges[k].units);
      out_[at(source)].push_back(static_cast<int>(k));
    }
  }

  std::vector<OutTree> run(const std::vector<int>& members) {
    rebuild();
    std::vector<OutTree> done;
    for (std::size_t k = 0; k < members.size(); ++k) {
      while (untouched_[k] > 0) {
        Growth growth{{members[k], untouched_[k], {}},
                      {static_cast<int>(k)},
                      std::vector<char>(at(start_), 0)};
        growth.has[k] = 1;
        others_ -= untouched_[k];
        untouched_[k] = 0;
        grow(growth);
        done.push_back(std::move(growth.tree));
        while (!waiting_.empty()) {
          Growth rest = resume();
          grow(rest);
          done.push_back(std::move(rest.tree));
        }
      }
    }
    return done;
  }

 private:
  struct Ends {
    int source;
    int target;
  };

  [[nodiscard]] int feed(std::size_t member) const {
    return static_cast<int>(edges_.size() + member);
  }
  // First of the edges of the node of waiting batch `k`: from the start, then to each member.
  [[nodiscard]] int first_of_batch(std::size_t k) const {
    return static_cast<int>(edges_.size()) + start_ + static_cast<int>(k) * (start_ + 1);
  }

  void rebuild() {
    flow_ = MaxFlow(start_ + 1 + static_cast<int>(room_));
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      flow_.add_edge(ends_[k].source, ends_[k].target, units_[k]);
    }
    for (int k = 0; k < start_; ++k) flow_.add_edge(start_, k, untouched_[at(k)]);
    for (std::size_t k = 0; k < room_; ++k) {
      const int node = start_ + 1 + static_cast<int>(k);
      flow_.add_edge(start_, node);
      for (int member = 0; member < start_; ++member) flow_.add_edge(node, member);
    }
    for (std::size_t k = 0; k < waiting_.size(); ++k) connect(k);
  }

  void connect(std::size_t k) {
    flow_.set_capacity(first_of_batch(k), waiting_[k].tree.count);
    for (const int member : waiting_[k].reached) {
      flow_.set_capacity(first_of_batch(k) + 1 + member, MaxFlow::kEndless);
    }
  }

  void hold(Growth growth) {
    others_ += growth.tree.count;
    waiting_.push_back(std::move(growth));
    if (waiting_.size() > room_) {
      room_ = 2 * waiting_.size();
      rebuild();
    } else {
      connect(waiting_.size() - 1);
    }
  }

  // Takes the last batch that waits, and its node of the network.
  Growth resume() {
    Growth growth = std::move(waiting_.back());
    waiting_.pop_back();
    const std::size_t k = waiting_.size();
    others_ -= growth.tree.count;
    flow_.set_capacity(first_of_batch(k), 0);
    for (const int member : growth.reached) flow_.set_capacity(first_of_batch(k) + 1 + member, 0);
    return growth;
  }

  // Number of trees of the batch that can take an edge such that the rest still fits: every set of
  // nodes that has the edge's target, but not its source, must keep room for all other trees that
  // have not reached it.
  std::int64_t trees_that_fit(const Growth& growth, int edge) {
    const Ends ends = ends_[at(edge)];
    const std::int64_t wanted = std::min(growth.tree.count, units_[at(edge)]);
    if (wanted == 0) return 0;
    for (const std::vector<bool>& outside : full_cuts_) {
      if (outside[at(ends.source)] && !outside[at(ends.target)]) return 0;
    }
    const std::int64_t room = flow_.solve(start_, ends.target, others_ + wanted) - others_;
    if (room <= 0) full_cuts_.push_back(flow_.source_side());
    return std::min(wanted, room);
  }

  void grow(Growth& growth) {
    full_cuts_.clear();
    for (std::size_t head = 0; head < growth.reached.size(); ++head) {
      const int node = growth.reached[head];
      // All data is at the edge's source.
      flow_.set_capacity(feed(at(node)), MaxFlow::kEndless);
      for (const int edge : out_[at(node)]) {
        const int target = ends_[at(edge)].target;
        if (growth.has[at(target)]) continue;
        const std::int64_t count = trees_that_fit(growth, edge);
        if (count <= 0) continue;
        if (count < growth.tree.count) {
          Growth rest = growth;
          rest.tree.count -= count;
          growth.tree.count = count;
          if (rest.tree.edges.empty()) {
            // The rest has not begun to grow; it is begun again later.
            untouched_[at(node)] += rest.tree.count;
            others_ += rest.tree.count;
          } else {
            hold(std::move(rest));
            flow_.set_capacity(feed(at(node)), MaxFlow::kEndless);
          }
        }
        units_[at(edge)] -= count;
        flow_.set_capacity(edge, units_[at(edge)]);
        growth.tree.edges.push_back(edge);
        growth.reached.push_back(target);
        growth.has[at(target)] = 1;
      }
      flow_.set_capacity(feed(at(node)), untouched_[at(node)]);
    }
    if (growth.reached.size() < at(start_)) {
      throw std::logic_error(fmt::format("a tree of rank {} does not span", growth.tree.root));
    }
  }

  const std::vector<SplitEdge>& edges_;
  int start_;
  std::vector<std::int64_t> untouched_;  // by member: its trees that have not begun to grow
  std::int64_t others_ = 0;              // trees that wait, untouched ones included
  std::vector<Ends> ends_;               // by edge
  std::vector<std::int64_t> units_;
  std::vector<std::vector<int>> out_;
  std::vector<Growth> waiting_;
  // Cuts without room for the batch that grows, by their side with the data. They stay full while
  // it grows.
  std::vector<std::vector<bool>> full_cuts_;
  std::size_t room_ = 0;  // nodes of the network for batches that wait
  MaxFlow flow_{0};
};

}  // namespace

std::vector<OutTree> pack_out_trees(const std::vector<SplitEdge>& edges,
                                    const std::vector<std::int64_t>& counts,
                                    const std::vector<int>& members) {
  return Packing(edges, counts, members).run(members);
}

}  // namespace cclgym::synthesis
