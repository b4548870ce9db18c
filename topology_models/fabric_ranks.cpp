// Fabric::with_ranks: the fabric as a communicator of some of its ranks sees it.
#include <algorithm>
#include <stdexcept>

#include "core/index.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

std::shared_ptr<const Fabric> Fabric::with_ranks(std::span<const int> chosen) const {
  auto view = std::make_shared<Fabric>(*this);
  view->gpus_.clear();
  view->full_rank_.clear();
  std::vector<int> number(at(servers()), -1);  // by cluster node
  std::vector<char> used(gpus_.size(), 0);
  int servers = 0;
  for (const int rank : chosen) {
    if (rank < 0 || rank >= ranks() || used[at(rank)] != 0) {
      throw std::logic_error("Fabric::with_ranks: a rank is unknown, or there twice");
    }
    used[at(rank)] = 1;
    view->gpus_.push_back(gpu(rank));
    view->full_rank_.push_back(turn_of(rank));
    int& server = number[at(server_of(rank))];
    if (server < 0) server = servers++;
  }
  if (chosen.empty()) throw std::logic_error("Fabric::with_ranks: no ranks");
  for (Node& node : view->nodes_) {
    if (node.server >= 0) node.server = number[at(node.server)];
  }
  view->servers_ = servers;
  return view;
}

}  // namespace cclgym
