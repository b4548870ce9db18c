// A dragonfly network: groups of fully connected switches, and links between every two groups (Kim
// et al., ISCA 2008). HPE Slingshot is built this way.
#pragma once

#include <vector>

#include "topology_models/ids.hpp"

namespace cclgym {

/// Size of a dragonfly, and its nodes and links in the fabric. Both are numbered without gaps, so
/// that no table of them is needed.
struct DragonflyShape {
  int groups = 1;
  int switches = 1;         ///< switches per group
  int links_a_pair = 1;     ///< links between every two groups, in each direction
  NodeId first_switch = 0;  ///< switch s of group g is node first_switch + g * switches + s
  /// First link within a group. Such links are in the order of group, source and target (which
  /// skips the source).
  LinkId first_local = 0;
  /// First link between groups. Such links are in the order of source group, target group (which
  /// skips the source group) and number of the link.
  LinkId first_global = 0;
};

/// Paths through a dragonfly. The minimal path between switches of one group is their link; between
/// groups it is one of the links between the two groups with, where needed, a link within the group
/// at either end: at most three links. A detour (Valiant) goes through another switch of the group,
/// or through another group: at most five links.
class Dragonfly {
 public:
  explicit Dragonfly(const DragonflyShape& shape) : shape_(shape) {}

  [[nodiscard]] const DragonflyShape& shape() const { return shape_; }
  [[nodiscard]] NodeId switch_at(int group, int index) const;
  /// Number of a switch's group, and number of the switch in it.
  [[nodiscard]] int group_of(NodeId node) const;
  [[nodiscard]] int index_of(NodeId node) const;

  /// The link between two switches of a group, by their numbers in it.
  [[nodiscard]] LinkId local_link(int group, int source, int target) const;
  /// Link number k from one group to another, 0 <= k < links_a_pair.
  [[nodiscard]] LinkId global_link(int source_group, int target_group, int k) const;
  /// The switch of `group`, by its number in it, that holds link number k to and from `other`. The
  /// links of a group are dealt to its switches in turn, group after group.
  [[nodiscard]] int gateway(int group, int other, int k) const;

  /// Number of minimal paths between two switches: 1, or links_a_pair between two groups.
  [[nodiscard]] int minimal_ways(NodeId source, NodeId target) const;
  /// Appends minimal path number k, 0 <= k < minimal_ways(). Appends nothing from a switch to
  /// itself.
  void append_minimal(NodeId source, NodeId target, int k, std::vector<LinkId>& path) const;

  /// Number of detours: one for each other switch of the group, or for each other group.
  [[nodiscard]] int detours(NodeId source, NodeId target) const;
  /// Appends detour number n, 0 <= n < detours(), which uses links number k where it crosses
  /// between groups, 0 <= k < links_a_pair.
  void append_detour(NodeId source, NodeId target, int n, int k, std::vector<LinkId>& path) const;

 private:
  void append_local(int group, int source, int target, std::vector<LinkId>& path) const;

  DragonflyShape shape_;
};

}  // namespace cclgym
