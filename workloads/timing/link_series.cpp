#include "workloads/timing/link_series.hpp"

#include <algorithm>

#include "core/index.hpp"

namespace cclgym {

void LinkSeriesRecorder::on_firing(TransferId node, std::int32_t /*iteration*/, double start_s,
                                   double end_s) {
  if (graph_.route_of(node) < 0 || graph_.bytes(node) <= 0) return;
  moved_.push_back(
      {node, static_cast<float>(start_s + graph_.latency_s(node)), static_cast<float>(end_s)});
}

LinkSeries LinkSeriesRecorder::series(double end_s, int intervals) const {
  LinkSeries made;
  made.intervals = intervals;
  made.interval_s = end_s / intervals;
  const auto capacities = graph_.link_capacities_Bps();
  made.capacity_Bps.assign(capacities.begin(), capacities.end());
  made.use.resize(capacities.size());
  made.bytes.resize(capacities.size());
  if (end_s <= 0) return made;
  for (const Moved& moved : moved_) {
    const double from = std::min<double>(moved.start_s, end_s) / made.interval_s;
    const double until =
        std::max<double>(from, std::min<double>(moved.end_s, end_s) / made.interval_s);
    const int first = std::min(static_cast<int>(from), intervals - 1);
    const int last = std::min(static_cast<int>(until), intervals - 1);
    const std::int32_t route = graph_.route_of(moved.node);
    const auto links = graph_.route_links(route);
    const auto loads = graph_.route_loads(route);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::size_t link = at(links[i]);
      const double bytes = graph_.bytes(moved.node) * (loads.empty() ? 1 : loads[i]);
      made.bytes[link] += bytes;
      std::vector<double>& use = made.use[link];
      use.resize(at(intervals));
      const double full = made.interval_s * capacities[link];
      if (until <= from) {
        use[at(first)] += bytes / full;
        continue;
      }
      for (int at_interval = first; at_interval <= last; ++at_interval) {
        const double overlap =
            std::min<double>(until, at_interval + 1) - std::max<double>(from, at_interval);
        use[at(at_interval)] += bytes * std::max(0.0, overlap) / (until - from) / full;
      }
    }
  }
  return made;
}

}  // namespace cclgym
