#include "core/ranks/rank_place.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/progress.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

constexpr double kLookEvery_s = 0.5;

class RankPeers : public Peers {
 public:
  explicit RankPeers(RankPlace& place) : place_(place) {
    // Nodes that were lost before are told now, so that the tasks go to others.
    for (std::size_t node = 0; node < place.nodes().size(); ++node) {
      if (place.nodes()[node].lost) {
        early_.push_back({.peer = node, .kind = PeerEvent::Kind::Lost, .text = "lost before"});
      }
    }
  }

  [[nodiscard]] std::vector<std::size_t> workers() const override {
    std::vector<std::size_t> workers;
    for (const RankNode& node : place_.nodes()) {
      workers.push_back(std::max<std::size_t>(1, node.greeting ? node.greeting->simulators : 1));
    }
    return workers;
  }

  [[nodiscard]] std::string name(std::size_t peer) const override {
    return place_.nodes()[peer].name;
  }

  void send(std::size_t peer, std::vector<TaskOrder> tasks) override {
    place_.send(peer, work_message(tasks));
  }

  [[nodiscard]] std::vector<PeerEvent> wait() override {
    std::vector<PeerEvent> events = std::exchange(early_, {});
    for (RankPlace::Received& received : place_.receive()) {
      PeerEvent event{.peer = received.node, .kind = PeerEvent::Kind::Alive};
      if (received.kind == MessageKind::Replies) {
        event.kind = PeerEvent::Kind::Replies;
        event.replies = read_replies(received.parts);
        // A node that was thought lost may still send results of an earlier round.
        std::erase_if(event.replies,
                      [this](const TaskReply& reply) { return reply.round != place_.round(); });
      } else if (received.kind == MessageKind::Failed) {
        const Failure failure = read_failed(received.parts);
        event.kind = PeerEvent::Kind::Lost;
        event.text = fmt::format("{}: {}", name(received.node), failure.text);
      } else if (received.kind == MessageKind::End) {
        event.kind = PeerEvent::Kind::Lost;
        event.text = fmt::format("{}: {}", name(received.node), received.parts);
      } else if (place_.nodes()[received.node].lost) {
        continue;  // a courier without a host gets no tasks again
      }
      events.push_back(std::move(event));
    }
    return events;
  }

 private:
  RankPlace& place_;
  std::vector<PeerEvent> early_;
};

}  // namespace

RankPlace::RankPlace(RankLink& link, HostChannel& own_host) : link_(link), own_host_(own_host) {
  const std::vector<RankInfo>& ranks = link.ranks();
  node_of_rank_.resize(ranks.size());
  ended_.resize(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].leader == rank) {
      nodes_.push_back({.leader = rank,
                        .name = fmt::format("rank {} on {}", rank, ranks[rank].machine),
                        .heard_s = steady_now_s()});
    }
    const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const RankNode& one) {
      return one.leader == ranks[rank].leader;
    });
    node_of_rank_[rank] = static_cast<std::size_t>(node - nodes_.begin());
  }
}

void RankPlace::serve(const TaskSet& set, const TaskOptions& options) {
  peer_timeout_s_ = options.peer_timeout_s;
  // The others must not go on with the default.
  for (std::size_t rank = 1; rank < ended_.size(); ++rank) {
    link_.send(rank, alive_message(options.peer_timeout_s));
  }
  wait_for_hosts(set);
}

void RankPlace::send(std::size_t node, const std::string& message) {
  if (nodes_[node].leader == 0) {
    own_host_.send(message);
  } else {
    link_.send(nodes_[node].leader, message);
  }
}

std::vector<RankPlace::Received> RankPlace::receive() {
  std::vector<Received> all;
  const auto add = [&](std::size_t node, std::string_view message) {
    const MessageKind kind = take_kind(message);
    nodes_[node].heard_s = steady_now_s();
    if (kind == MessageKind::Failed || kind == MessageKind::End) nodes_[node].lost = true;
    all.push_back({node, kind, std::string(message)});
  };
  for (const std::string& message : own_host_.receive()) add(0, message);
  if (!own_host_.alive() && !own_end_told_) {
    own_end_told_ = true;
    add(0, message_of(MessageKind::End) + own_host_.reason());
  }
  // Rank 0 is its own courier, and alive; its host may be stopped.
  if (steady_now_s() - looked_s_ > kLookEvery_s) {
    looked_s_ = steady_now_s();
    own_host_runs_ = own_host_.runs();
  }
  if (own_host_runs_) nodes_[0].heard_s = steady_now_s();
  while (auto message = link_.receive()) {
    std::string_view parts = message->second;
    if (take_kind(parts) == MessageKind::Bye) {
      ended_[message->first] = 1;
    } else {
      add(node_of_rank_[message->first], message->second);
    }
  }
  if (all.empty()) {
    backoff_.wait(own_host_.file());
    if (own_host_runs_) all.push_back({0, MessageKind::Alive, {}});
  } else {
    backoff_.reset();
  }
  return all;
}

void RankPlace::settle_hello(const Received& received, const TaskSet& set) {
  RankNode& node = nodes_[received.node];
  if (received.kind == MessageKind::Failed) {
    const Failure failure = read_failed(received.parts);
    if (failure.text.empty()) {
      throw std::runtime_error(node.name + " ended before its tasks, without an error");
    }
    throw_failure({.index = 0,
                   .outcome = failure.code == 1   ? Outcome::NoResources
                              : failure.code == 2 ? Outcome::UserMistake
                              : failure.code == 3 ? Outcome::Stalled
                                                  : Outcome::Failed,
                   .text = node.name + ": " + failure.text});
  }
  if (received.kind != MessageKind::Hello) return;
  node.greeting = read_hello(received.parts);
  if (node.greeting->version != program_version()) {
    throw UserError(
        fmt::format("{} runs cclgym {}, rank 0 runs {}; start the same program on all "
                    "ranks",
                    node.name, node.greeting->version, program_version()));
  }
  if (node.greeting->identity != set.identity) {
    throw UserError(
        fmt::format("{} has {}, rank 0 has {}; start all ranks with the same files and "
                    "options",
                    node.name, node.greeting->identity, set.identity));
  }
}

void RankPlace::wait_for_hosts(const TaskSet& set) {
  const auto waiting = [&](const RankNode& node) {
    return !node.greeting && !node.lost && steady_now_s() - node.heard_s <= peer_timeout_s_;
  };
  // The silence before now was that of rank 0, which did not listen.
  for (RankNode& node : nodes_) node.heard_s = steady_now_s();
  while (std::any_of(nodes_.begin(), nodes_.end(), waiting)) {
    for (const Received& received : receive()) settle_hello(received, set);
  }
  for (RankNode& node : nodes_) node.lost = node.lost || !node.greeting;
}

std::unique_ptr<Peers> RankPlace::peers(const TaskSet& set, const TaskOptions& /*options*/) {
  ++round_;
  const std::string begin = round_begin_message({.number = round_, .common = set.common});
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].lost) send(node, begin);
  }
  return std::make_unique<RankPeers>(*this);
}

bool RankPlace::end_ranks() {
  const double start_s = steady_now_s();
  for (std::size_t rank = 1; rank < ended_.size(); ++rank) {
    link_.send(rank, message_of(MessageKind::End));
  }
  const auto all_ended = [this] {
    return std::all_of(ended_.begin() + 1, ended_.end(), [](char ended) { return ended != 0; });
  };
  while (!all_ended()) {
    if (steady_now_s() - start_s > peer_timeout_s_) return false;
    static_cast<void>(receive());
  }
  return true;
}

}  // namespace cclgym
