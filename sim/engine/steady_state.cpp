#include "sim/engine/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr double kTolerance = 1e-9;
constexpr std::int32_t kPeriods = 4;  // minimum number of periods in the middle half of a run

// The tiles of a run that its beginning and end hardly affect.
struct Middle {
  explicit Middle(std::int32_t tiles) : first(tiles / 4), last(3 * tiles / 4) {}
  std::int32_t first;
  std::int32_t last;  // one past the end
};

// Records a run: every date of a sample of the nodes, and the advance of all nodes in a given
// period.
class Watcher final : public FiringObserver {
 public:
  Watcher(const TransferGraph& graph, std::span<const TransferId> sample, std::int32_t tiles,
          std::int32_t period)
      : tiles_(tiles), period_(period), middle_(tiles), row_(at(graph.size()), -1) {
    for (const TransferId node : sample) {
      if (graph.repeat(node) == tiles && row_[at(node)] < 0) row_[at(node)] = rows_++;
    }
    dates_s_.resize(at(rows_) * at(tiles));
    begin_s_.assign(at(graph.size()), 0);
    end_s_.assign(at(graph.size()), 0);
    if (period_ > 0) {
      previous_s_.resize(at(graph.size()) * at(period_));
      advance_s_.assign(at(graph.size()), 0);
    }
  }

  [[nodiscard]] bool needs_order() const override { return false; }

  void on_firing(TransferId node, std::int32_t tile, double, double end_s) override {
    if (row_[at(node)] >= 0) dates_s_[at(row_[at(node)]) * at(tiles_) + at(tile)] = end_s;
    if (tile < middle_.first || tile >= middle_.last) return;
    if (tile == middle_.first) begin_s_[at(node)] = end_s;
    end_s_[at(node)] = end_s;
    if (period_ == 0) return;
    double& previous_s = previous_s_[at(node) * at(period_) + at(tile % period_)];
    if (tile >= middle_.first + period_) {
      const double advance_s = end_s - previous_s;
      if (tile == middle_.first + period_) advance_s_[at(node)] = advance_s;
      const double deviation_s = std::abs(advance_s - advance_s_[at(node)]);
      deviation_s_ = std::max(deviation_s_, deviation_s);
      repeats_ = repeats_ && deviation_s <= kTolerance * advance_s;
    }
    previous_s = end_s;
  }

  void on_choice(TransferId, std::int32_t, std::int32_t way) override {
    detoured_ = detoured_ || way > 0;
  }

  // The smallest number of tiles after which the sample's dates repeat; 0 if they do not.
  [[nodiscard]] std::int32_t find_period() const {
    for (std::int32_t p = 1; p * kPeriods <= middle_.last - middle_.first; ++p) {
      bool repeats = true;
      for (std::int32_t row = 0; row < rows_ && repeats; ++row) {
        const double* dates_s = &dates_s_[at(row) * at(tiles_)];
        const double advance_s = dates_s[middle_.first + p] - dates_s[middle_.first];
        for (std::int32_t t = middle_.first + p; t < middle_.last && repeats; ++t) {
          repeats = std::abs(dates_s[t] - dates_s[t - p] - advance_s) <= kTolerance * advance_s;
        }
      }
      if (repeats) return p;
    }
    return 0;
  }

  [[nodiscard]] bool repeats() const { return repeats_; }
  // True if a flow took an alternative route.
  [[nodiscard]] bool detoured() const { return detoured_; }
  [[nodiscard]] double deviation_s() const { return deviation_s_; }
  // Seconds by which each node advances per period.
  [[nodiscard]] const std::vector<double>& advance_s() const { return advance_s_; }
  // Seconds per tile in the middle of the run.
  [[nodiscard]] double pace_s(TransferId node) const {
    return (end_s(node) - begin_s(node)) / std::max(1, middle_.last - middle_.first - 1);
  }
  // First and last date at which a node was in its middle tiles.
  [[nodiscard]] double begin_s(TransferId node) const { return begin_s_[at(node)]; }
  [[nodiscard]] double end_s(TransferId node) const { return end_s_[at(node)]; }

 private:
  std::int32_t tiles_;
  std::int32_t period_;  // 0: unknown
  Middle middle_;
  std::vector<std::int32_t> row_;  // by node: row in dates_s_, -1 for none
  std::int32_t rows_ = 0;
  std::vector<double> dates_s_;     // by row, then tile
  std::vector<double> previous_s_;  // dates of the last period, by node
  std::vector<double> advance_s_;
  std::vector<double> begin_s_;
  std::vector<double> end_s_;
  double deviation_s_ = 0;
  bool repeats_ = true;
  bool detoured_ = false;
};

// A run of the first tiles.
struct TileRun {
  std::shared_ptr<const TransferGraph> graph;
  std::int32_t tiles;
  std::int32_t period;  // period that was watched
  double makespan_s;
  std::vector<double> end_s;  // by watched node
  Watcher watcher;
};

// True if two graphs with these numbers of tiles differ only in that number.
bool same_tile(const TransferGraph& a, std::int32_t tiles_a, const TransferGraph& b,
               std::int32_t tiles_b) {
  if (a.size() != b.size() || a.edges() != b.edges() || !a.same_network(b)) return false;
  const auto same_edge = [](const TransferGraph::Edge& x, const TransferGraph::Edge& y) {
    return x.target == y.target && x.lag == y.lag;
  };
  for (TransferId id = 0; id < a.size(); ++id) {
    const bool tiled = a.repeat(id) == tiles_a;
    if (tiled != (b.repeat(id) == tiles_b) || (!tiled && a.repeat(id) != b.repeat(id)) ||
        a.bytes(id) != b.bytes(id) || a.latency_s(id) != b.latency_s(id) ||
        a.rate_cap_Bps(id) != b.rate_cap_Bps(id) || a.route_of(id) != b.route_of(id) ||
        a.overlapping(id) != b.overlapping(id) || a.dependencies(id) != b.dependencies(id) ||
        !std::ranges::equal(a.successors(id), b.successors(id), same_edge)) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct TileRuns::Kept {
  std::shared_ptr<const TransferGraph> graph;
  std::int32_t tiles = 0;
  std::vector<TransferId> watched;
  std::vector<std::shared_ptr<const TileRun>> runs;
};

TileRuns::TileRuns() : kept_(std::make_unique<Kept>()) {}
TileRuns::~TileRuns() = default;
TileRuns::TileRuns(TileRuns&&) noexcept = default;
TileRuns& TileRuns::operator=(TileRuns&&) noexcept = default;

class SteadyState {
 public:
  SteadyState(Engine& engine, const std::shared_ptr<const TransferGraph>& graph, std::int32_t tiles,
              std::span<const TransferId> watched, const TileBudget& budget,
              CapacityProcess* capacities, FiringObserver* observer, TileRuns* kept)
      : engine_(engine),
        graph_(graph),
        tiles_(tiles),
        watched_(watched),
        budget_(budget),
        capacities_(capacities),
        observer_(observer),
        kept_(kept == nullptr ? own_kept_ : *kept->kept_) {
    // Nodes spread over the graph are sampled too: they may show periods that the watched nodes
    // hide.
    sample_.assign(watched.begin(), watched.end());
    const std::int32_t stride = std::max(1, graph->size() / 64);
    for (TransferId node = 0; node < graph->size(); node += stride) sample_.push_back(node);
  }

  TiledDates run() {
    if (tiles_ <= budget_.whole || capacities_ != nullptr || graph_->has_background()) {
      return whole(observer_);
    }
    begin_keeping();
    RunPtr previous = simulate(std::min(budget_.first, tiles_), 0);
    std::vector<Ends> history;
    bool agreed = false;
    while (true) {
      const std::int32_t period = previous->watcher.find_period();
      std::int32_t next = 2 * previous->tiles;
      if (period > 0) next += (tiles_ - next) % period;
      if (next >= tiles_) return whole();
      if (firings(next) > budget_.firings && next > 4 * budget_.first) {
        return carried_on(history, *previous);
      }
      RunPtr run = simulate(next, period);
      std::optional<TiledDates> dates;
      if (period > 0 && run->watcher.repeats()) {
        dates = carried_on_exactly(*run, *previous, period);
      }
      if (dates && (dates->periodic || agreed)) return *dates;
      agreed = dates.has_value();
      history.push_back({previous->tiles, previous->end_s});
      previous = std::move(run);
    }
  }

 private:
  using RunPtr = std::shared_ptr<const TileRun>;

  struct Ends {
    std::int32_t tiles;
    std::vector<double> end_s;
  };

  [[nodiscard]] std::int64_t firings(std::int32_t tiles) const {
    return static_cast<std::int64_t>(graph_->size()) * tiles;
  }

  [[nodiscard]] std::vector<double> ends(const EngineResult& result) const {
    std::vector<double> end_s;
    for (const TransferId node : watched_) end_s.push_back(result.end_s[at(node)]);
    return end_s;
  }

  TiledDates whole(FiringObserver* observer = nullptr) {
    engine_.load(graph_);
    const EngineResult result = engine_.run(observer, capacities_);
    return {graph_, tiles_, result.makespan_s, ends(result), result};
  }

  // Forgets runs of another graph.
  void begin_keeping() {
    if (kept_.graph == nullptr || !std::ranges::equal(kept_.watched, watched_) ||
        !same_tile(*kept_.graph, kept_.tiles, *graph_, tiles_)) {
      kept_.runs.clear();
      kept_.watched.assign(watched_.begin(), watched_.end());
    }
    kept_.graph = graph_;
    kept_.tiles = tiles_;
  }

  RunPtr simulate(std::int32_t tiles, std::int32_t period) {
    for (const RunPtr& run : kept_.runs) {
      if (run->tiles == tiles && run->period == period) return run;
    }
    auto graph = std::make_shared<const TransferGraph>(graph_->truncated(tiles));
    Watcher watcher(*graph, sample_, tiles, period);
    engine_.load(graph);
    const EngineResult result = engine_.run(&watcher);
    kept_.runs.push_back(std::make_shared<const TileRun>(TileRun{
        std::move(graph), tiles, period, result.makespan_s, ends(result), std::move(watcher)}));
    return kept_.runs.back();
  }

  // Extrapolates a run whose middle repeats, if a shorter run ends earlier by exactly as many
  // periods.
  std::optional<TiledDates> carried_on_exactly(const TileRun& run, const TileRun& shorter,
                                               std::int32_t period) {
    const std::int32_t surplus = (run.tiles - shorter.tiles) % period;
    RunPtr fitting;
    if (surplus != 0) fitting = simulate(shorter.tiles + surplus, 0);
    const TileRun& base = fitting ? *fitting : shorter;
    const std::int32_t between = (run.tiles - base.tiles) / period;
    const std::int32_t left = (tiles_ - run.tiles) / period;
    TiledDates dates{run.graph, run.tiles, run.makespan_s, run.end_s, {}};
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      const double advance_s = run.watcher.advance_s()[at(watched_[i])];
      const double measured_s = (run.end_s[i] - base.end_s[i]) / between;
      const double deviation_s = std::abs(measured_s - advance_s);
      if (deviation_s > kTolerance * advance_s) return std::nullopt;
      // measured_s spans more tiles than advance_s, so its rounding error is smaller.
      dates.end_s[i] += left * measured_s;
      dates.error_s = std::max(dates.error_s, left * deviation_s);
    }
    dates.error_s = std::max(dates.error_s, left * run.watcher.deviation_s());
    if (outrun(run.watcher.advance_s())) return std::nullopt;
    dates.periodic = alike_on_links(run.watcher);
    if (!dates.periodic) {
      // Rounding is not the dominant error here.
      for (const TransferId node : watched_) {
        dates.error_s = std::max(dates.error_s, run.watcher.advance_s()[at(node)]);
      }
    }
    return dates;
  }

  static bool slower(double a_s, double b_s) { return a_s > b_s * (1 + 4 * kTolerance); }

  // True if a node advances faster than a node that it waits for. It cannot do so forever: its head
  // start (or the free slots) will be used up.
  [[nodiscard]] bool outrun(const std::vector<double>& advance_s) const {
    for (TransferId id = 0; id < graph_->size(); ++id) {
      if (graph_->repeat(id) != tiles_) continue;
      for (const TransferGraph::Edge& edge : graph_->successors(id)) {
        if (graph_->repeat(edge.target) != tiles_) continue;  // belongs to the next launch
        if (slower(advance_s[at(id)], advance_s[at(edge.target)])) return true;
      }
    }
    return false;
  }

  // True if the flows on each link were active together, all at the same speed.
  [[nodiscard]] bool alike_on_links(const Watcher& watcher) const {
    if (watcher.detoured()) return false;  // flows may meet others later
    struct LinkSeen {
      double advance_s = -1;
      double begin_s = 0;
      double end_s = std::numeric_limits<double>::infinity();
    };
    std::vector<LinkSeen> seen(graph_->link_capacities_Bps().size());
    for (TransferId id = 0; id < graph_->size(); ++id) {
      if (graph_->repeat(id) != tiles_ || graph_->route_of(id) < 0) continue;
      const double own_s = watcher.advance_s()[at(id)];
      for (const std::int32_t link : graph_->route_links(graph_->route_of(id))) {
        LinkSeen& on_link = seen[at(link)];
        if (on_link.advance_s < 0) on_link.advance_s = own_s;
        if (slower(on_link.advance_s, own_s) || slower(own_s, on_link.advance_s)) return false;
        on_link.begin_s = std::max(on_link.begin_s, watcher.begin_s(id));
        on_link.end_s = std::min(on_link.end_s, watcher.end_s(id));
      }
    }
    return std::all_of(seen.begin(), seen.end(), [](const LinkSeen& on_link) {
      return on_link.advance_s < 0 || on_link.begin_s + 2 * on_link.advance_s <= on_link.end_s;
    });
  }

  // Extrapolates the slope of the last two runs, if the budget is used up and nothing repeats.
  [[nodiscard]] TiledDates carried_on(const std::vector<Ends>& history, const TileRun& last) const {
    TiledDates dates{last.graph, last.tiles, last.makespan_s, last.end_s, {}};
    dates.periodic = false;
    const double left = tiles_ - last.tiles;
    const Ends& before = history.back();
    // If a node runs ahead of another that it waits for, one of them must eventually adopt the pace
    // of the other.
    double unsettled_s = 0;
    for (TransferId id = 0; id < graph_->size(); ++id) {
      if (graph_->repeat(id) != tiles_) continue;
      for (const TransferGraph::Edge& edge : graph_->successors(id)) {
        if (graph_->repeat(edge.target) != tiles_) continue;
        unsettled_s =
            std::max(unsettled_s, last.watcher.pace_s(id) - last.watcher.pace_s(edge.target));
      }
    }
    const auto slope_s = [](const Ends& from, std::int32_t tiles, double end_s, std::size_t i) {
      return (end_s - from.end_s[i]) / (tiles - from.tiles);
    };
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      if (graph_->repeat(watched_[i]) != tiles_) continue;
      const double late_s = slope_s(before, last.tiles, last.end_s[i], i);
      const double early_s = history.size() > 1 ? slope_s(history[history.size() - 2], before.tiles,
                                                          before.end_s[i], i)
                                                : before.end_s[i] / before.tiles;
      dates.end_s[i] += left * late_s;
      dates.error_s =
          std::max(dates.error_s, left * std::max(unsettled_s, std::abs(late_s - early_s)));
    }
    return dates;
  }

  Engine& engine_;
  const std::shared_ptr<const TransferGraph>& graph_;
  std::int32_t tiles_;
  std::span<const TransferId> watched_;
  TileBudget budget_;
  CapacityProcess* capacities_;
  FiringObserver* observer_;
  TileRuns::Kept own_kept_;
  TileRuns::Kept& kept_;
  std::vector<TransferId> sample_;
};

TiledDates run_tiles(Engine& engine, const std::shared_ptr<const TransferGraph>& graph,
                     std::int32_t tiles, std::span<const TransferId> watched,
                     const TileBudget& budget, CapacityProcess* capacities,
                     FiringObserver* observer, TileRuns* kept) {
  return SteadyState(engine, graph, tiles, watched, budget, capacities, observer, kept).run();
}

}  // namespace cclgym
