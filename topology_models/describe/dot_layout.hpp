// How a drawing of a fabric is arranged: layers, folds and grids. Internal to this layer.
#pragma once

#include <cstddef>
#include <vector>

#include "topology_models/describe/link_pairs.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Layers of a drawing with the network in the middle: the number of links between a device and
/// the network, negative for the first half of the cluster nodes. Empty if the drawing has few
/// cluster nodes, or if a device has no way to a network.
[[nodiscard]] std::vector<int> layers_of(const Fabric& fabric, const std::vector<LinkPair>& pairs);

/// Devices that share one box of a drawing: `first` to `last` by number, `count` in all.
struct DeviceFold {
  NodeId first = -1;
  NodeId last = -1;
  int count = 0;
};

/// The box of each device. A cluster node with many devices of one kind that have alike links shows
/// the first three and the last, and one box for all others.
class DeviceFolds {
 public:
  DeviceFolds() = default;  ///< each device has a box of its own
  DeviceFolds(const Fabric& fabric, const std::vector<LinkPair>& pairs);

  /// The device whose box stands for this one: itself, or the first of its fold.
  [[nodiscard]] NodeId shown(NodeId id) const {
    return shown_.empty() ? id : shown_[static_cast<std::size_t>(id)];
  }
  /// The fold whose box this device begins, or nullptr.
  [[nodiscard]] const DeviceFold* fold_at(NodeId id) const;

 private:
  std::vector<NodeId> shown_;
  std::vector<DeviceFold> folds_;
};

/// Length of the rows of a grid in which every link joins neighbours in a row, the ends of a row,
/// or two devices of one column, the grid most like a square: 4 for a torus of 4x4 or 4x4x4. 0 if
/// there is none, or if each row or each column is one device.
[[nodiscard]] std::size_t grid_columns(const Fabric& fabric, const std::vector<LinkPair>& pairs);

}  // namespace cclgym
