#include "calibration/repeated_calls.hpp"

#include <algorithm>
#include <cstddef>

#include "collectives/algorithm.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/program.hpp"

namespace cclgym {

std::shared_ptr<const ThreadBlockProgram> broadcast_chain(const Fabric& fabric, int channels,
                                                          int root) {
  const auto rings = logical_rings(fabric);
  const int ranks = fabric.ranks();
  ProgramBuilder p("broadcast-chain",
                   Contract::make(CollectiveKind::Broadcast, ranks, channels, true, root));
  for (int channel = 0; channel < channels; ++channel) {
    const std::vector<int>& ring = rings[static_cast<std::size_t>(channel) % rings.size()];
    const auto at = std::find(ring.begin(), ring.end(), root) - ring.begin();
    ChunkRef c = p.chunk(root, Buffer::Input, channel);
    for (int step = 1; step < ranks; ++step) {
      const int next = ring[static_cast<std::size_t>((at + step) % ranks)];
      c = c.copy(next, Buffer::Input, channel, {.channel = channel});
    }
  }
  auto program =
      std::make_shared<ThreadBlockProgram>(compile(p.finish(), deployed_compile_options("ring")));
  program->runtime = Runtime::Nccl;
  return program;
}

double time_between_calls_s(const SimulationRecord& record) {
  const std::size_t ranks = record.result.rank_time_s.size();
  std::vector<double> launched_s(ranks, 0.0);
  std::vector<double> first_s(ranks, -1.0);  // first message; -1: none
  const std::vector<NodeOrigin>& origins = record.lowered.origins;
  for (std::size_t node = 0; node < origins.size(); ++node) {
    const auto rank = static_cast<std::size_t>(origins[node].rank);
    const double end_s = record.end_s[record.firing(static_cast<TransferId>(node), 0)];
    if (origins[node].role == NodeRole::Launch) launched_s[rank] = end_s;
    if (origins[node].role != NodeRole::Arrival) continue;
    if (first_s[rank] < 0 || end_s < first_s[rank]) first_s[rank] = end_s;
  }
  double longest_s = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double from_s = std::max(launched_s[rank], first_s[rank]);
    longest_s = std::max(longest_s, launched_s[rank] + record.result.rank_time_s[rank] - from_s);
  }
  return longest_s;
}

}  // namespace cclgym
