#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "core/index.hpp"
#include "synthesis/throughput/arborescences.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym::synthesis {

namespace {

// Trees that grow together, one edge at a time, and their place in the search for the next edge.
struct Batch {
  OutTree tree;
  std::vector<int> reached;      // in the order in which they joined
  std::vector<char> has;         // by member
  std::size_t head = 0;          // index into `reached`: the edges of earlier nodes were tried
  std::size_t next = 0;          // the next edge of that node
  std::size_t end_of_level = 1;  // nodes of `reached` that belong to the level or to earlier ones
  std::vector<std::vector<bool>> full_cuts{};  // sides with the data of cuts without room
};

// All batches grow at once, level by level. By node number: the members; then `start_`, which has
// all data; then one node per batch.
class LevelPacking {
 public:
  LevelPacking(const std::vector<SplitEdge>& edges, const std::vector<std::int64_t>& counts,
               const std::vector<int>& members)
      : edges_(edges), members_(static_cast<int>(members.size())), out_(members.size()) {
    std::vector<int> number(at(1 + *std::max_element(members.begin(), members.end())), -1);
    for (std::size_t k = 0; k < members.size(); ++k) number[at(members[k])] = static_cast<int>(k);
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const int source = number[at(edges[k].source)];
      ends_.push_back({source, number[at(edges[k].target)]});
      units_.push_back(edges[k].units);
      out_[at(source)].push_back(static_cast<int>(k));
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::int64_t count = counts[at(members[k])];
      if (count == 0) continue;
      Batch& batch = batches_.emplace_back(
          Batch{{members[k], count, {}}, {static_cast<int>(k)}, std::vector<char>(members.size())});
      batch.has[k] = 1;
      demand_ += count;
    }
  }

  std::vector<OutTree> run() {
    rebuild(2 * batches_.size());
    for (bool grows = true; grows;) {
      while (pass()) {
      }
      grows = false;
      for (Batch& batch : batches_) {
        grows = grows || batch.reached.size() > batch.end_of_level;
        batch.head = batch.end_of_level;
        batch.next = 0;
        batch.end_of_level = batch.reached.size();
      }
    }
    std::vector<OutTree> done;
    for (Batch& batch : batches_) {
      if (batch.reached.size() < at(members_)) {
        throw std::logic_error(fmt::format("a tree of rank {} does not span", batch.tree.root));
      }
      done.push_back(std::move(batch.tree));
    }
    return done;
  }

 private:
  struct Ends {
    int source;
    int target;
  };

  [[nodiscard]] int start() const { return members_; }
  // First of the edges of the node of a batch: from the start, then to each member.
  [[nodiscard]] int first_of_batch(std::size_t k) const {
    return static_cast<int>(edges_.size()) + members_ + static_cast<int>(k) * (members_ + 1);
  }

  void rebuild(std::size_t room) {
    room_ = room;
    flow_ = MaxFlow(members_ + 1 + static_cast<int>(room));
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      flow_.add_edge(ends_[k].source, ends_[k].target, units_[k]);
    }
    for (int k = 0; k < members_; ++k) flow_.add_edge(start(), k);
    for (std::size_t k = 0; k < room_; ++k) {
      const int node = members_ + 1 + static_cast<int>(k);
      flow_.add_edge(start(), node);
      for (int member = 0; member < members_; ++member) flow_.add_edge(node, member);
    }
    for (std::size_t k = 0; k < batches_.size(); ++k) connect(k);
  }

  void connect(std::size_t k) {
    const Batch& batch = batches_[k];
    // A tree that spans demands no more.
    const bool done = batch.reached.size() == at(members_);
    flow_.set_capacity(first_of_batch(k), done ? 0 : batch.tree.count);
    for (const int member : batch.reached) {
      flow_.set_capacity(first_of_batch(k) + 1 + member, MaxFlow::kEndless);
    }
  }

  // Every batch takes at most one edge of its level. False if none could.
  bool pass() {
    bool any = false;
    const std::size_t batches = batches_.size();
    for (std::size_t k = 0; k < batches; ++k) any = step(k) || any;
    return any;
  }

  bool step(std::size_t k) {
    while (batches_[k].head < batches_[k].end_of_level) {
      Batch& batch = batches_[k];
      const std::vector<int>& out = out_[at(batch.reached[batch.head])];
      if (batch.next == out.size()) {
        ++batch.head;
        batch.next = 0;
        continue;
      }
      const int edge = out[batch.next++];
      if (batch.has[at(ends_[at(edge)].target)]) continue;
      const std::int64_t count = trees_that_fit(k, edge);
      if (count <= 0) continue;
      take(k, edge, count);
      return true;
    }
    return false;
  }

  // As in pack_out_trees(): every set of nodes that has the edge's target, but not its source, must
  // keep room for all other trees that have not reached it.
  std::int64_t trees_that_fit(std::size_t k, int edge) {
    Batch& batch = batches_[k];
    const Ends ends = ends_[at(edge)];
    const std::int64_t wanted = std::min(batch.tree.count, units_[at(edge)]);
    if (wanted == 0) return 0;
    for (const std::vector<bool>& side : batch.full_cuts) {
      if (side[at(ends.source)] && !side[at(ends.target)]) return 0;
    }
    const std::int64_t others = demand_ - batch.tree.count;
    flow_.set_capacity(first_of_batch(k), 0);
    flow_.set_capacity(static_cast<int>(edges_.size()) + ends.source, MaxFlow::kEndless);
    const std::int64_t room = flow_.solve(start(), ends.target, others + wanted) - others;
    if (room <= 0) batch.full_cuts.push_back(flow_.source_side());
    flow_.set_capacity(static_cast<int>(edges_.size()) + ends.source, 0);
    flow_.set_capacity(first_of_batch(k), batch.tree.count);
    return std::min(wanted, room);
  }

  void take(std::size_t k, int edge, std::int64_t count) {
    if (count < batches_[k].tree.count) {
      Batch rest = batches_[k];
      rest.tree.count -= count;
      batches_[k].tree.count = count;
      batches_.push_back(std::move(rest));
      if (batches_.size() > room_) {
        rebuild(2 * batches_.size());
      } else {
        connect(batches_.size() - 1);
      }
    }
    Batch& batch = batches_[k];
    units_[at(edge)] -= count;
    flow_.set_capacity(edge, units_[at(edge)]);
    const int target = ends_[at(edge)].target;
    batch.tree.edges.push_back(edge);
    batch.reached.push_back(target);
    batch.has[at(target)] = 1;
    if (batch.reached.size() == at(members_)) demand_ -= count;
    connect(k);
  }

  const std::vector<SplitEdge>& edges_;
  int members_;
  std::vector<std::vector<int>> out_;
  std::vector<Ends> ends_;
  std::vector<std::int64_t> units_;
  std::vector<Batch> batches_;
  std::int64_t demand_ = 0;  // trees that do not span yet
  std::size_t room_ = 0;     // nodes of the network for batches
  MaxFlow flow_{0};
};

}  // namespace

std::vector<OutTree> pack_shallow_trees(const std::vector<SplitEdge>& edges,
                                        const std::vector<std::int64_t>& counts,
                                        const std::vector<int>& members) {
  return LevelPacking(edges, counts, members).run();
}

}  // namespace cclgym::synthesis
