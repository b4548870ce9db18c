#include "sim/lowering/alike_channels.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cclgym {

namespace {

// The links of a route on whose choice the load does not depend.
std::vector<LinkId> fixed_links(const Fabric& fabric, int source, int target, int channel) {
  std::vector<LinkId> links = fabric.route(source, target, channel);
  if (fabric.routing() != Routing::Adaptive) return links;
  std::erase_if(links, [&](LinkId id) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    const auto is_switch = [&](NodeId node) {
      return fabric.nodes()[static_cast<std::size_t>(node)].kind == NodeKind::NetworkSwitch;
    };
    return is_switch(link.source) && is_switch(link.target);
  });
  return links;
}

}  // namespace

bool channels_route_alike(const ProgramOutline& outline, const Fabric& fabric) {
  if (outline.alike_channels == 1) return true;
  for (int rank = 0; rank < outline.ranks(); ++rank) {
    for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
      const OutlineBlock& block = outline.blocks[b];
      if (block.send_peer < 0) continue;
      const std::vector<LinkId> links = fixed_links(fabric, rank, block.send_peer, block.channel);
      const int channels = outline.channels * outline.alike_channels;
      for (int each = block.channel % outline.alike_period; each < channels;
           each += outline.alike_period) {
        if (fixed_links(fabric, rank, block.send_peer, each) != links) return false;
      }
    }
  }
  return true;
}

}  // namespace cclgym
