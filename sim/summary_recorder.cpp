#include "sim/summary_recorder.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

bool once(std::int32_t lag) {
  return lag == TransferGraph::kFirstOnly || lag == TransferGraph::kAfterLast;
}

}  // namespace

Recorder& SummaryRecorder::dates() {
  if (!dates_) dates_.emplace(record_, false);
  return *dates_;
}

void SummaryRecorder::on_fixed_rates(std::span<const double> transfer_s) {
  const TransferGraph& graph = *record_.graph;
  nodes_.assign(at(graph.size()), {});
  if (!find_waits()) return;
  find_lanes();
  first_.assign(nodes_.size(), kNone);
  followers_.assign(nodes_.size(), {});
  follows_.assign(nodes_.size(), 0);
  std::size_t places = 0;
  for (TransferId id = 0; id < graph.size(); ++id) {
    Node& node = nodes_[at(id)];
    node.latency_s = graph.latency_s(id);
    node.transfer_s = transfer_s[graph.shapes().number(id)];
    node.repeat = graph.repeat(id);
    node.overlapping = graph.overlapping(id);
  }
  for (TransferId id = 0; id < graph.size(); ++id) {
    const std::int32_t repeat = nodes_[at(id)].repeat;
    place_.push_back(places);
    if (is_follower(id)) {
      follows_[at(id)] = 1;
      first_[at(id)] = 0;
      followers_[at(all_waits_[row_[at(id)]].source)].push_back(id);
    } else {
      places += (at(repeat) + kPacked - 1) / kPacked * kPacked;
    }
  }
  choices_.resize(places);
  list_waits();
  sort_nodes();
}

// Puts nodes that fire in the same rounds side by side, so that they are fetched from memory ahead
// of their use. slot_ is made here: without it, all dates are kept.
void SummaryRecorder::sort_nodes() {
  std::vector<TransferId> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](TransferId id) {
    return std::pair(follows_[at(id)], -nodes_[at(id)].repeat);
  });
  slot_.resize(nodes_.size());
  std::vector<Node> sorted;
  sorted.reserve(nodes_.size());
  for (const TransferId id : order) {
    const auto slot = static_cast<std::int32_t>(sorted.size());
    slot_[at(id)] = follows_[at(id)] != 0 ? -1 - slot : slot;
    sorted.push_back(nodes_[at(id)]);
  }
  nodes_ = std::move(sorted);
  for (Node& node : nodes_) {
    if (node.source >= 0) node.source = slot_[at(node.source)];
  }
  for (Wait& wait : waits_) wait.source = slot_[at(wait.source)];
}

// True for an overlapping delay all of whose firings wait for those of one node that does not
// overlap, so that they end in order.
bool SummaryRecorder::is_follower(TransferId id) const {
  const Node& node = nodes_[at(id)];
  if (!node.overlapping || node.lane >= 0 || row_[at(id) + 1] - row_[at(id)] != 1) return false;
  const Wait& wait = all_waits_[row_[at(id)]];
  const Node& source = nodes_[at(wait.source)];
  return wait.lag == 0 && !source.overlapping && source.repeat == node.repeat;
}

// Sorts edges by target and source. False if a node has too many.
bool SummaryRecorder::find_waits() {
  const TransferGraph& graph = *record_.graph;
  row_.assign(nodes_.size() + 1, 0);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) ++row_[at(edge.target) + 1];
  }
  if (*std::ranges::max_element(row_) > kOwn) return false;
  std::partial_sum(row_.begin(), row_.end(), row_.begin());
  all_waits_.resize(graph.edges());
  std::vector<std::uint32_t> next(row_.begin(), row_.end() - 1);
  for (TransferId id = 0; id < graph.size(); ++id) {
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      const std::uint32_t place = next[at(edge.target)]++;
      all_waits_[place] = {id, edge.lag, place - row_[at(edge.target)]};
    }
  }
  return true;
}

// Lists the edges that hold back each firing, with the nodes that followers follow as sources.
void SummaryRecorder::list_waits() {
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    begin_.push_back(static_cast<std::uint32_t>(waits_.size()));
    for (std::uint32_t i = row_[id]; i < row_[id + 1]; ++i) {
      const Wait& wait = all_waits_[i];
      if (once(wait.lag)) continue;
      waits_.push_back({kept(wait.source), wait.lag, wait.number, more_s(wait.source)});
    }
    if (waits_.size() != begin_.back() + 1 ||
        waits_.back().lag > std::numeric_limits<std::uint8_t>::max()) {
      continue;
    }
    Node& node = nodes_[id];
    node.source = waits_.back().source;
    node.lag = static_cast<std::uint8_t>(waits_.back().lag);
    node.number = static_cast<std::uint8_t>(waits_.back().number);
    node.more_s = waits_.back().more_s;
  }
  begin_.push_back(static_cast<std::uint32_t>(waits_.size()));
}

// Puts links that the same nodes cross into one lane.
void SummaryRecorder::find_lanes() {
  const TransferGraph& graph = *record_.graph;
  std::vector<std::vector<TransferId>> on_link(graph.link_capacities_Bps().size());
  for (TransferId id = 0; id < graph.size(); ++id) {
    if (graph.route_of(id) < 0) continue;
    for (const std::int32_t link : graph.route_links(graph.route_of(id))) {
      on_link[at(link)].push_back(id);
    }
  }
  lane_of_.assign(on_link.size(), -1);
  lanes_of_.assign(nodes_.size(), {});
  std::map<std::vector<TransferId>, std::int32_t> known;
  for (std::size_t link = 0; link < on_link.size(); ++link) {
    if (on_link[link].empty()) continue;
    const auto number = static_cast<std::int32_t>(known.size());
    const auto [lane, added] = known.try_emplace(std::move(on_link[link]), number);
    lane_of_[link] = lane->second;
    if (!added) continue;
    for (const TransferId id : lane->first) {
      Node& node = nodes_[at(id)];
      if (node.lane < 0) {
        node.lane = number;
      } else {
        node.more_lanes = true;
        lanes_of_[at(id)].push_back(number);
      }
    }
  }
  lanes_.resize(known.size());
}

// Not in on_firing(), which then needs no stack.
void SummaryRecorder::keep_dates(TransferId node, std::int32_t tile, double start_s, double end_s) {
  dates().on_firing(node, tile, start_s, end_s);
}

void SummaryRecorder::on_firing(TransferId node, std::int32_t tile, double start_s, double end_s) {
  if (slot_.empty()) return keep_dates(node, tile, start_s, end_s);
  if (logging_) log({node, tile, start_s, end_s});
  const std::int32_t slot = slot_[at(node)];
  if (slot < 0 || failed_) return;
  note(nodes_[at(slot)], node, tile, start_s, end_s);
  if (failed_ && logging_) give_up();
}

void SummaryRecorder::log(const DatedFiring& firing) {
  logging_ = log_.size() < logged_;
  if (logging_) {
    log_.push_back(firing);
  } else {
    log_ = {};
  }
}

// Keeps all dates from now on.
void SummaryRecorder::give_up() {
  for (const DatedFiring& firing : log_) {
    dates().on_firing(firing.node, firing.tile, firing.start_s, firing.end_s);
  }
  log_ = {};
  slot_.clear();
}

inline void SummaryRecorder::note(Node& node, TransferId id, std::int32_t tile, double start_s,
                                  double end_s) {
  double ready_s = 0;
  const std::uint32_t number =
      tile > 0 ? find_last(node, id, tile, ready_s) : find_last_of_first(id, ready_s);
  if (end_s != ready_s + node.latency_s + node.transfer_s || tile != node.last + 1) failed_ = true;
  node.last = tile;
  node.end_s[at(tile) % kDepth] = end_s;
  const std::size_t part = at(tile) % kPacked;
  node.choices |= number << (8 * part);
  if (part + 1 == kPacked || tile + 1 == node.repeat) {
    std::uint8_t* const choices = &choices_[place_[at(id)] + at(tile) - part];
    for (std::size_t i = 0; i < kPacked; ++i) {
      choices[i] = static_cast<std::uint8_t>(node.choices >> (8 * i));
    }
    node.choices = 0;
  }
  if (node.lane >= 0) {
    const double moving_s = start_s + node.latency_s;
    enter_lane(node.lane, id, moving_s, end_s);
    if (node.more_lanes) {
      for (const std::int32_t lane : lanes_of_[at(id)]) enter_lane(lane, id, moving_s, end_s);
    }
  }
  if (tile > 0 && tile + 1 < node.repeat) return;
  if (tile == 0) first_[at(id)] = static_cast<std::uint8_t>(number);
  if (tile + 1 < node.repeat) return;
  note_last(node, id, 0);
  for (const TransferId follower : followers_[at(id)]) note_last(node, follower, more_s(follower));
}

inline void SummaryRecorder::enter_lane(std::int32_t lane, TransferId id, double start_s,
                                        double end_s) {
  if (!lanes_[at(lane)].add(id, start_s, end_s)) failed_ = true;
}

// Number of the dependency of a firing, other than the first, that was done last; ties go to the
// first one, as in critical_path(). `ready_s`: its date.
inline std::uint32_t SummaryRecorder::find_last(const Node& node, TransferId id, std::int32_t tile,
                                                double& ready_s) {
  std::uint32_t number = kNone;
  if (node.source >= 0) {
    consider(nodes_[at(node.source)], tile - node.lag, node.more_s, node.number, number, ready_s);
  } else {
    for (std::uint32_t i = begin_[at(id)]; i < begin_[at(id) + 1]; ++i) {
      const Wait& wait = waits_[i];
      consider(nodes_[at(wait.source)], tile - wait.lag, wait.more_s, wait.number, number, ready_s);
    }
  }
  if (!node.overlapping) consider(node, tile - 1, 0, kOwn, number, ready_s);
  return number;
}

inline void SummaryRecorder::consider(const Node& source, std::int32_t firing, double more_s,
                                      std::uint32_t as, std::uint32_t& number, double& ready_s) {
  if (firing < 0) return;
  // Only the last firings are known.
  if (static_cast<std::uint32_t>(source.last - firing) >= kDepth) failed_ = true;
  const double end_s = source.end_s[at(firing) % kDepth] + more_s;
  // Without a branch, because nothing predicts which of two dependencies is done last.
  const bool later = (number == kNone) | (end_s > ready_s);
  number = later ? as : number;
  ready_s = std::max(ready_s, end_s);
}

// The same for the first firing, which some edges hold back alone.
std::uint32_t SummaryRecorder::find_last_of_first(TransferId id, double& ready_s) {
  std::uint32_t number = kNone;
  for (std::uint32_t i = row_[at(id)]; i < row_[at(id) + 1]; ++i) {
    const Wait& wait = all_waits_[i];
    const Node& source = node(kept(wait.source));
    const std::int32_t firing = wait.lag == TransferGraph::kFirstOnly   ? 0
                                : wait.lag == TransferGraph::kAfterLast ? source.repeat - 1
                                                                        : -wait.lag;
    consider(source, firing, more_s(wait.source), wait.number, number, ready_s);
  }
  return number;
}

// The last firing of a node. The path ends with the first of all firings that end last.
// `more_s`: time from its ends to those of its follower, if `id` is that.
void SummaryRecorder::note_last(const Node& node, TransferId id, double more_s) {
  const std::int32_t last = node.last;
  const double end_s = node.end_s[at(last) % kDepth] + more_s;
  if (end_node_ >= 0 && (end_s < end_s_ || (end_s == end_s_ && id > end_node_))) return;
  end_node_ = id;
  end_s_ = end_s;
  end_tile_ = last;
  while (end_tile_ > 0 && node.end_s[at(end_tile_ - 1) % kDepth] + more_s == end_s) {
    if (at(last - --end_tile_) + 1 == kDepth) {
      failed_ = true;  // earlier ends are not known
      return;
    }
  }
}

std::vector<DatedFiring> SummaryRecorder::path() const {
  std::vector<DatedFiring> path;
  TransferId id = end_node_;
  std::int32_t tile = end_tile_;
  while (id >= 0) {
    path.push_back({id, tile, 0, 0});
    const std::uint32_t number = follows_[at(id)] != 0 ? 0
                                 : tile == 0           ? first_[at(id)]
                                                       : choices_[place_[at(id)] + at(tile)];
    if (number == kNone) break;
    if (number == kOwn) {
      --tile;
      continue;
    }
    const Wait& wait = all_waits_[row_[at(id)] + number];
    id = wait.source;
    tile = wait.lag == TransferGraph::kFirstOnly   ? 0
           : wait.lag == TransferGraph::kAfterLast ? node(id).repeat - 1
                                                   : tile - wait.lag;
  }
  std::ranges::reverse(path);
  // The dates follow from each other, as note() has checked.
  double ready_s = 0;
  for (DatedFiring& firing : path) {
    const Node& own = node(firing.node);
    firing.end_s = ready_s + own.latency_s + own.transfer_s;
    firing.start_s = own.overlapping ? firing.end_s - own.latency_s : ready_s;
    ready_s = firing.end_s;
  }
  return path;
}

bool SummaryRecorder::finish() {
  if (slot_.empty()) {
    (void)dates();
    return true;
  }
  if (failed_) return false;
  RecordSummary& summary = record_.summary.emplace();
  summary.path = path();
  for (std::size_t link = 0; link < lane_of_.size(); ++link) {
    summary.busy_s.push_back(lane_of_[link] < 0 ? 0 : lanes_[at(lane_of_[link])].busy_s);
  }
  return true;
}

}  // namespace cclgym
