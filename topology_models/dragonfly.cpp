#include "topology_models/dragonfly.hpp"

#include <cassert>

namespace cclgym {

NodeId Dragonfly::switch_at(int group, int index) const {
  return shape_.first_switch + group * shape_.switches + index;
}

int Dragonfly::group_of(NodeId node) const {
  return (node - shape_.first_switch) / shape_.switches;
}

int Dragonfly::index_of(NodeId node) const {
  return (node - shape_.first_switch) % shape_.switches;
}

LinkId Dragonfly::local_link(int group, int source, int target) const {
  assert(source != target);
  const int row = group * shape_.switches + source;
  return shape_.first_local + row * (shape_.switches - 1) + (target < source ? target : target - 1);
}

LinkId Dragonfly::global_link(int source_group, int target_group, int k) const {
  assert(source_group != target_group);
  const int column = target_group < source_group ? target_group : target_group - 1;
  return shape_.first_global + (source_group * (shape_.groups - 1) + column) * shape_.links_a_pair +
         k;
}

int Dragonfly::gateway(int group, int other, int k) const {
  const int distance = (other - group + shape_.groups) % shape_.groups;  // 1 .. groups - 1
  return ((distance - 1) * shape_.links_a_pair + k) % shape_.switches;
}

int Dragonfly::minimal_ways(NodeId source, NodeId target) const {
  return group_of(source) == group_of(target) ? 1 : shape_.links_a_pair;
}

void Dragonfly::append_local(int group, int source, int target, std::vector<LinkId>& path) const {
  if (source != target) path.push_back(local_link(group, source, target));
}

void Dragonfly::append_minimal(NodeId source, NodeId target, int k,
                               std::vector<LinkId>& path) const {
  const int from = group_of(source);
  const int to = group_of(target);
  if (from == to) {
    append_local(from, index_of(source), index_of(target), path);
    return;
  }
  append_local(from, index_of(source), gateway(from, to, k), path);
  path.push_back(global_link(from, to, k));
  append_local(to, gateway(to, from, k), index_of(target), path);
}

int Dragonfly::detours(NodeId source, NodeId target) const {
  if (source == target) return 0;
  return group_of(source) == group_of(target) ? shape_.switches - 2 : shape_.groups - 2;
}

void Dragonfly::append_detour(NodeId source, NodeId target, int n, int k,
                              std::vector<LinkId>& path) const {
  const int from = group_of(source);
  const int to = group_of(target);
  // Number n, in ascending order, of all numbers except a and b.
  const auto other = [n](int a, int b) {
    int result = n;
    if (result >= (a < b ? a : b)) ++result;
    if (result >= (a < b ? b : a)) ++result;
    return result;
  };
  if (from == to) {
    const int through = other(index_of(source), index_of(target));
    append_local(from, index_of(source), through, path);
    append_local(from, through, index_of(target), path);
    return;
  }
  const int through = other(from, to);
  append_minimal(source, switch_at(through, gateway(through, from, k)), k, path);
  append_minimal(switch_at(through, gateway(through, from, k)), target, k, path);
}

}  // namespace cclgym
