// Records the use of links and the critical path of a run without the dates of its firings.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/recorder.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// Fills record.summary if the run is one by dependencies (FixedRates), with a byte per firing
/// instead of two dates; otherwise keeps all dates, as Recorder does.
///
/// The date at which a firing may start is that of the last dependency. The recorder keeps the last
/// kDepth ends of each node, finds the dependency that was done last, and checks that the date of
/// the firing follows from it, bit for bit: the dates on the critical path are computed from their
/// dependencies afterwards. *Followers*, overlapping delays that wait for one other node only, such
/// as the arrivals of messages, need no attention: each of their firings ends a latency after that
/// of the other node. The time during which a link is busy is added up in the order of the starts
/// of its messages, as in link_use(), if they are observed in this order. The recorder learns of
/// most graphs that it cannot follow within a few rounds, and then keeps all dates, including those
/// of the firings before.
class SummaryRecorder final : public FiringObserver {
 public:
  /// `logged`: number of the first firings whose dates are kept until it is known that a summary is
  /// enough.
  explicit SummaryRecorder(SimulationRecord& record, std::size_t logged = std::size_t{1} << 18U)
      : record_(record), logged_(logged) {}
  [[nodiscard]] bool needs_order() const override { return false; }
  void on_fixed_rates(std::span<const double> transfer_s) override;
  /// Followers, once the log is closed.
  [[nodiscard]] std::span<const std::uint8_t> unneeded() const override {
    return logging_ || slot_.empty() ? std::span<const std::uint8_t>{} : follows_;
  }
  void on_firing(TransferId node, std::int32_t tile, double start_s, double end_s) override;
  void on_choice(TransferId node, std::int32_t tile, std::int32_t way) override {
    if (slot_.empty()) dates().on_choice(node, tile, way);
  }
  /// Completes the record after the run. False if it has neither a summary nor dates, because a
  /// firing did not follow from the dates that were kept: the call has to be run again.
  [[nodiscard]] bool finish();

 private:
  static constexpr std::size_t kDepth = 2;
  // Numbers of the dependency that was done last, in a row of at most kOwn.
  static constexpr std::uint32_t kOwn = 254;   ///< the node's previous firing
  static constexpr std::uint32_t kNone = 255;  ///< the firing waits for nothing
  struct Wait {
    TransferId source;
    std::int32_t lag;
    std::uint32_t number;  ///< in the node's row of all_waits_
    double more_s = 0;     ///< in waits_, whose sources are no followers: latency of the follower
  };
  /// State of a node in one cache line: with two, a firing would wait for memory.
  struct alignas(64) Node {
    std::array<double, kDepth> end_s{};  ///< by firing modulo kDepth
    double latency_s = 0;
    double transfer_s = 0;
    double more_s = 0;          ///< latency of a follower between `source` and the node
    std::uint32_t choices = 0;  ///< numbers of the last dependency, by firing modulo kPacked
    std::int32_t last = -1;     ///< its last firing so far
    std::int32_t repeat = 0;
    std::int32_t source =
        -1;  ///< place of the source of the only edge that holds back each firing; -1: not one edge
    std::int32_t lane = -1;   ///< lane of its links; -1: it crosses none
    std::uint8_t lag = 0;     ///< lag of this edge
    std::uint8_t number = 0;  ///< number of this edge in the node's row of all_waits_
    bool overlapping = false;
    bool more_lanes = false;  ///< its links are in several lanes
  };
  static constexpr std::size_t kPacked = 4;
  /// Links that the same nodes cross.
  struct Lane {
    double start_s = -1;  ///< start of the last message
    double end_s = 0;     ///< its end
    double to_s = 0;      ///< last date at which a message moved
    double busy_s = 0;
    TransferId node = -1;  ///< last node whose message began at start_s
    /// Adds a message. False if it is added too late: after one that began later, or at the same
    /// date on a later node, unless both are equal and add nothing to each other.
    [[nodiscard]] bool add(TransferId id, double from_s, double until_s) {
      const bool same = from_s == start_s;
      const bool in_order = from_s > start_s || (same && (id >= node || until_s == end_s));
      node = same ? std::max(node, id) : id;
      start_s = from_s;
      end_s = until_s;
      const double new_s = std::max(to_s, from_s);
      if (end_s > new_s) busy_s += end_s - new_s;
      to_s = std::max(to_s, end_s);
      return in_order;
    }
  };

  [[nodiscard]] Recorder& dates();
  [[nodiscard]] bool find_waits();
  [[nodiscard]] bool is_follower(TransferId id) const;
  void list_waits();
  void find_lanes();
  void keep_dates(TransferId node, std::int32_t tile, double start_s, double end_s);
  void log(const DatedFiring& firing);
  void give_up();
  void note(Node& node, TransferId id, std::int32_t tile, double start_s, double end_s);
  [[nodiscard]] std::uint32_t find_last(const Node& node, TransferId id, std::int32_t tile,
                                        double& ready_s);
  [[nodiscard]] std::uint32_t find_last_of_first(TransferId id, double& ready_s);
  void consider(const Node& source, std::int32_t firing, double more_s, std::uint32_t as,
                std::uint32_t& number, double& ready_s);
  void note_last(const Node& node, TransferId id, double more_s);
  /// Node whose ends are kept for those of a node: itself, or that which it follows.
  [[nodiscard]] TransferId kept(TransferId id) const {
    return follows_[at(id)] != 0 ? all_waits_[row_[at(id)]].source : id;
  }
  [[nodiscard]] double more_s(TransferId id) const {
    return follows_[at(id)] != 0 ? record_.graph->latency_s(id) : 0;
  }
  void sort_nodes();
  [[nodiscard]] const Node& node(TransferId id) const {
    const std::int32_t slot = slot_[at(id)];
    return nodes_[at(slot < 0 ? -1 - slot : slot)];
  }
  void enter_lane(std::int32_t lane, TransferId id, double start_s, double end_s);
  [[nodiscard]] std::vector<DatedFiring> path() const;

  SimulationRecord& record_;
  std::size_t logged_;
  std::optional<Recorder> dates_;
  bool failed_ = false;
  bool logging_ = true;  ///< true if log_ has all firings so far
  std::vector<DatedFiring> log_;
  std::vector<Node> nodes_;            ///< those that fire most first, and followers last
  std::vector<std::uint8_t> follows_;  ///< by node: 1 for a follower
  std::vector<std::int32_t> slot_;  ///< by node: its place in nodes_, or -1 - place for a follower
  std::vector<std::vector<TransferId>> followers_;  ///< by node
  std::vector<std::uint8_t> first_;  ///< by node: number of the last dependency of its first firing
  std::vector<std::uint32_t> begin_;  ///< by node, with one more entry: first of its waits_
  std::vector<Wait> waits_;           ///< edges that hold back each firing of their target
  std::vector<std::uint32_t> row_;    ///< by node, with one more entry: first of its all_waits_
  std::vector<Wait> all_waits_;       ///< by target, then by source
  std::vector<std::size_t> place_;    ///< by node: first of its choices_
  std::vector<std::uint8_t> choices_;
  std::vector<Lane> lanes_;
  std::vector<std::int32_t> lane_of_;                ///< by link; -1: no node crosses it
  std::vector<std::vector<std::int32_t>> lanes_of_;  ///< by node: lanes of its links but one
  TransferId end_node_ = -1;                         ///< first node whose last firing ended last
  std::int32_t end_tile_ = 0;
  double end_s_ = 0;
};

}  // namespace cclgym
