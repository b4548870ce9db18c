#include "workloads/readers/goal_order.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr std::uint32_t kNoOp = ~std::uint32_t{0};

// Messages from one rank to another with one tag.
struct GoalChannel {
  std::int32_t sender = 0;
  std::int32_t receiver = 0;
  std::int32_t tag = 0;
  friend bool operator==(const GoalChannel&, const GoalChannel&) = default;
};

struct GoalChannelHash {
  std::size_t operator()(const GoalChannel& channel) const {
    std::size_t hash = 0;
    for (const std::int32_t part : {channel.sender, channel.receiver, channel.tag}) {
      hash = (hash ^ at(part)) * std::size_t{0x9e3779b97f4a7c15};
      hash ^= hash >> 29;
    }
    return hash;
  }
};

class GoalOrder {
 public:
  GoalOrder(const GoalSchedule& schedule, const GoalEdges& waits_for, std::string_view text,
            const std::string& file)
      : schedule_(schedule),
        waits_for_(waits_for),
        released_(goal_edges(schedule, false)),
        text_(text),
        file_(file),
        waits_(schedule.ops.size()),
        ready_(schedule.ops.size()),
        done_(schedule.ops.size()),
        channel_of_(schedule.ops.size(), kNoOp),
        next_(schedule.ops.size(), kNoOp),
        cpu_free_(at(schedule.ranks)) {
    match_counts();
  }

  std::vector<std::uint32_t> run() {
    const auto count = static_cast<std::uint32_t>(schedule_.ops.size());
    order_.reserve(count);
    for (std::uint32_t op = 0; op < count; ++op) {
      waits_[op] = waits_for_.begin[op + 1] - waits_for_.begin[op];
      if (waits_[op] == 0) events_.emplace(0.0, op);
    }
    double now = 0;
    while (true) {
      while (!events_.empty()) {
        const auto [time, op] = events_.top();
        events_.pop();
        now = time;
        start(op, time);
      }
      if (order_.size() == count) return std::move(order_);
      const std::vector<std::uint32_t> sends = std::exchange(waiting_sends_, {});
      for (const std::uint32_t send : sends) {
        if (!done_[send]) finish(send, now);
      }
      if (events_.empty()) refuse_stuck();
    }
  }

 private:
  // Operations that are ready, but whose counterparts are not: sends or recvs, never both.
  struct Posted {
    std::uint32_t first = kNoOp;
    std::uint32_t last = kNoOp;
  };

  [[noreturn]] void refuse(std::uint32_t op, const std::string& message) const {
    throw UserError(place_in(text_, file_, schedule_.ops[op].offset), message);
  }

  static GoalChannel channel(const GoalOp& op) {
    return op.kind == GoalOpKind::Send ? GoalChannel{op.rank, op.peer, op.tag}
                                       : GoalChannel{op.peer, op.rank, op.tag};
  }

  // Finds the channel of each message; there must be as many sends as recvs.
  void match_counts() {
    struct Count {
      std::uint32_t channel = 0;
      std::uint32_t sends = 0;
      std::uint32_t recvs = 0;
    };
    std::unordered_map<GoalChannel, Count, GoalChannelHash> counts;
    for (std::uint32_t i = 0; i < schedule_.ops.size(); ++i) {
      const GoalOp& op = schedule_.ops[i];
      if (op.kind == GoalOpKind::Calc) continue;
      const auto [entry, added] = counts.try_emplace(channel(op));
      if (added) entry->second.channel = static_cast<std::uint32_t>(counts.size() - 1);
      ++(op.kind == GoalOpKind::Send ? entry->second.sends : entry->second.recvs);
      channel_of_[i] = entry->second.channel;
    }
    posted_.resize(counts.size());
    // The last operation of the longer side has no counterpart.
    for (auto i = static_cast<std::uint32_t>(schedule_.ops.size()); i-- > 0;) {
      const GoalOp& op = schedule_.ops[i];
      if (op.kind == GoalOpKind::Calc) continue;
      const Count& count = counts.at(channel(op));
      const bool send = op.kind == GoalOpKind::Send;
      if (send ? count.sends <= count.recvs : count.recvs <= count.sends) continue;
      const GoalChannel between = channel(op);
      refuse(i,
             fmt::format("{} without {}: rank {} sends {} messages with tag {} to rank {}, which "
                         "receives {}",
                         to_string(op.kind), send ? "recv" : "send", between.sender, count.sends,
                         between.tag, between.receiver, count.recvs));
    }
  }

  void start(std::uint32_t op, double time) {
    order_.push_back(op);
    const GoalOp& one = schedule_.ops[op];
    if (one.kind == GoalOpKind::Calc) {
      std::vector<double>& free = cpu_free_[at(one.rank)];
      if (free.size() <= one.cpu) free.resize(std::size_t{one.cpu} + 1);
      const double begin = std::max(time, free[one.cpu]);
      free[one.cpu] = begin + static_cast<double>(one.size);
      release(op, begin, true);
      finish(op, free[one.cpu]);
      return;
    }
    release(op, time, true);
    Posted& posted = posted_[channel_of_[op]];
    if (posted.first != kNoOp && schedule_.ops[posted.first].kind != one.kind) {
      const std::uint32_t other = posted.first;
      posted.first = next_[other];
      if (!done_[other]) finish(other, time);
      finish(op, time);
      return;
    }
    if (posted.first == kNoOp) {
      posted.first = op;
    } else {
      next_[posted.last] = op;
    }
    posted.last = op;
    if (one.kind == GoalOpKind::Send) waiting_sends_.push_back(op);
  }

  void finish(std::uint32_t op, double time) {
    done_[op] = true;
    release(op, time, false);
  }

  void release(std::uint32_t op, double time, bool start) {
    for (std::uint32_t e = released_.begin[op]; e < released_.begin[op + 1]; ++e) {
      if (released_.start[e] != start) continue;
      const std::uint32_t next = released_.other[e];
      ready_[next] = std::max(ready_[next], time);
      if (--waits_[next] == 0) events_.emplace(ready_[next], next);
    }
  }

  // Follows what a waiting operation waits for, to a cycle or to a recv without its message.
  [[noreturn]] void refuse_stuck() const {
    std::vector<bool> started(schedule_.ops.size());
    for (const std::uint32_t op : order_) started[op] = true;
    auto op = static_cast<std::uint32_t>(std::find(started.begin(), started.end(), false) -
                                         started.begin());
    std::vector<bool> seen(schedule_.ops.size());
    while (!seen[op]) {
      seen[op] = true;
      for (std::uint32_t e = waits_for_.begin[op]; e < waits_for_.begin[op + 1]; ++e) {
        const std::uint32_t on = waits_for_.other[e];
        if (waits_for_.start[e] ? started[on] : done_[on]) continue;
        op = on;
        break;
      }
      if (!started[op]) continue;
      const GoalOp& one = schedule_.ops[op];
      refuse(op, fmt::format("deadlock: this {} of rank {} waits for rank {}, whose {} with tag {} "
                             "waits for it through dependencies",
                             to_string(one.kind), one.rank, one.peer,
                             one.kind == GoalOpKind::Recv ? "send" : "recv", one.tag));
    }
    refuse(op, fmt::format("this {} of rank {} waits for itself through its dependencies",
                           to_string(schedule_.ops[op].kind), schedule_.ops[op].rank));
  }

  const GoalSchedule& schedule_;
  const GoalEdges& waits_for_;
  GoalEdges released_;  ///< edges by the operation that is waited for
  std::string_view text_;
  const std::string& file_;
  std::vector<std::uint32_t> waits_;  ///< dependencies that are not met
  std::vector<double> ready_;         ///< ns
  std::vector<bool> done_;
  std::vector<std::uint32_t> channel_of_;
  std::vector<std::uint32_t> next_;  ///< next posted operation of the channel
  std::vector<Posted> posted_;       ///< by channel
  std::vector<std::uint32_t> waiting_sends_;
  std::vector<std::vector<double>> cpu_free_;  ///< by rank and CPU, ns
  using Event = std::pair<double, std::uint32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

GoalEdges goal_edges(const GoalSchedule& schedule, bool by_waiting) {
  GoalEdges edges;
  edges.begin.assign(schedule.ops.size() + 1, 0);
  edges.other.resize(schedule.dependencies.size());
  edges.start.resize(schedule.dependencies.size());
  for (const GoalDependency& one : schedule.dependencies) {
    ++edges.begin[std::size_t{by_waiting ? one.op : one.on} + 1];
  }
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) edges.begin[i + 1] += edges.begin[i];
  std::vector<std::uint32_t> fill(edges.begin.begin(), edges.begin.end() - 1);
  for (const GoalDependency& one : schedule.dependencies) {
    const std::uint32_t place = fill[by_waiting ? one.op : one.on]++;
    edges.other[place] = by_waiting ? one.on : one.op;
    edges.start[place] = one.start;
  }
  return edges;
}

std::vector<std::uint32_t> goal_order(const GoalSchedule& schedule, const GoalEdges& waits_for,
                                      std::string_view text, const std::string& file) {
  return GoalOrder(schedule, waits_for, text, file).run();
}

}  // namespace cclgym
