#include "sim/recorder.hpp"

#include <algorithm>

namespace cclgym {

Recorder::Recorder(SimulationRecord& record, bool unfolded) : record_(record), unfolded_(unfolded) {
  const TransferGraph& graph = *record.graph;
  record.first_firing.assign(1, 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    record.first_firing.push_back(record.first_firing.back() +
                                  static_cast<std::size_t>(graph.repeat(id)));
  }
  record.start_s.resize(record.first_firing.back());
  record.end_s.resize(record.first_firing.back());
  if (graph.adaptive()) record.way.resize(record.first_firing.back());
  if (graph.folded() && !unfolded) kept_.resize(static_cast<std::size_t>(graph.size()));
}

// Dates of a node are kept until they fill cache lines: in a large graph, each firing would
// otherwise touch two pages of its own.
void Recorder::on_firing(TransferId node, std::int32_t tile, double start_s, double end_s) {
  if (kept_.empty()) {
    record_.start_s[firing(node, tile)] = start_s;
    record_.end_s[firing(node, tile)] = end_s;
    return;
  }
  const auto slot = static_cast<std::size_t>(tile) % kKept;
  Kept& kept = kept_[static_cast<std::size_t>(node)];
  kept.start_s[slot] = start_s;
  kept.end_s[slot] = end_s;
  if (slot + 1 < kKept && tile + 1 < record_.graph->repeat(node)) return;
  const std::size_t first = firing(node, tile) - slot;
  std::copy_n(kept.start_s.begin(), slot + 1, record_.start_s.data() + first);
  std::copy_n(kept.end_s.begin(), slot + 1, record_.end_s.data() + first);
}

}  // namespace cclgym
