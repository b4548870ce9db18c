#include "workloads/timing/job_lowering.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "sim/prices/transfer_cost.hpp"
#include "workloads/timing/call_flows.hpp"
#include "workloads/timing/call_messages.hpp"

namespace cclgym {

namespace {

// Nodes of a graph of messages, at about 150 B each.
constexpr std::int64_t kMostNodes = 40'000'000;
constexpr std::int64_t kMostFirings = 1'000'000'000;

class JobLowering {
 public:
  JobLowering(const JobGraph& job, GroupViews& views, CallFlows& flows, const GpuRates& rates,
              JobDetail detail, RankClasses classes)
      : job_(job),
        views_(views),
        detail_(detail),
        flows_(flows),
        graph_(std::make_shared<TransferGraph>()) {
    lowered_.classes = std::move(classes);
    lowered_.rates = rates;
  }

  LoweredJob run() {
    set_links();
    count_ops();
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) add_ops(actor);
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) connect(actor);
    graph_->finish();
    lowered_.graph = std::move(graph_);
    return std::move(lowered_);
  }

 private:
  [[nodiscard]] std::int32_t rank_of(std::size_t actor) const {
    return lowered_.classes.actor[actor];
  }
  [[nodiscard]] std::int32_t sm_link(std::size_t actor) const {
    return lowered_.first_sm_link + static_cast<std::int32_t>(actor);
  }
  [[nodiscard]] std::int32_t memory_link(std::size_t actor) const {
    return lowered_.first_memory_link + static_cast<std::int32_t>(actor);
  }
  [[nodiscard]] std::size_t op_number(std::size_t actor, std::int32_t op) const {
    return lowered_.first_op[actor] + at(op);
  }

  void set_links() {
    capacities_ = link_capacities(views_.fabric(), views_.cost_model());
    lowered_.fabric_links = capacities_.size();
    const std::size_t actors = lowered_.classes.count();
    lowered_.first_sm_link = static_cast<std::int32_t>(capacities_.size());
    capacities_.insert(capacities_.end(), actors, lowered_.rates.flops);
    lowered_.first_memory_link = static_cast<std::int32_t>(capacities_.size());
    capacities_.insert(capacities_.end(), actors, lowered_.rates.memory_Bps);
    add_fixed_links();
    graph_->set_link_capacities(capacities_);
    for (auto& [key, fixed] : fixed_) {
      if (lowered_.rates.sms > 0) graph_->set_link_units(fixed.link, lowered_.rates.sms);
      fixed.route = add_route(std::array<std::int32_t, 1>{fixed.link}, kOnce);
    }
    for (std::size_t actor = 0; actor < actors; ++actor) {
      if (lowered_.rates.sms > 0) graph_->set_link_units(sm_link(actor), lowered_.rates.sms);
      const std::array<std::int32_t, 1> sm{sm_link(actor)};
      const std::array<std::int32_t, 1> memory{memory_link(actor)};
      sm_route_.push_back(add_route(sm, kOnce));
      memory_route_.push_back(add_route(memory, kOnce));
    }
  }

  // Durations contain the effect of what ran beside them when they were measured, so each stream
  // has the SMs of its own for them, apart from those that collectives take.
  void add_fixed_links() {
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      for (const JobOp& op : job_.program(rank_of(actor)).ops) {
        if (op.kind != JobOpKind::Compute || op.seconds <= 0) continue;
        const auto [known, fresh] = fixed_.try_emplace({actor, op.stream});
        if (!fresh) continue;
        known->second.link = static_cast<std::int32_t>(capacities_.size());
        capacities_.push_back(lowered_.rates.flops);
      }
    }
  }

  // In a graph of calls, all routes have loads.
  static constexpr std::array<std::int32_t, 1> kOnce{1};
  std::int32_t add_route(std::span<const std::int32_t> links, std::span<const std::int32_t> loads) {
    return detail_ == JobDetail::Calls ? graph_->add_loaded_route(links, loads)
                                       : graph_->add_route(links);
  }

  void count_ops() {
    lowered_.first_op.assign(1, 0);
    for (std::size_t actor = 0; actor < lowered_.classes.count(); ++actor) {
      lowered_.first_op.push_back(lowered_.first_op.back() +
                                  job_.program(rank_of(actor)).ops.size());
    }
    lowered_.ops.resize(lowered_.first_op.back());
    starts_.resize(lowered_.first_op.back());
  }

  void add_ops(std::size_t actor) {
    const RankProgram& program = job_.program(rank_of(actor));
    std::map<std::int32_t, std::int32_t> made;                         // calls by group
    std::map<std::array<std::int32_t, 5>, std::int32_t> made_by_pair;  // messages
    for (std::int32_t index = 0; index < program.size(); ++index) {
      const JobOp& op = program.ops[at(index)];
      switch (op.kind) {
        case JobOpKind::Compute:
          add_compute(actor, index, op);
          break;
        case JobOpKind::Collective: {
          const std::int32_t group = job_.groups_of[at(rank_of(actor))][at(op.communicator)];
          const std::int32_t own = lowered_.classes.group_class.empty()
                                       ? group
                                       : lowered_.classes.group_class[at(group)];
          join_collective(actor, index, op, own, made[own]++);
          break;
        }
        case JobOpKind::Send:
        case JobOpKind::Recv:
          join_message(actor, index, op, made_by_pair);
          break;
      }
    }
  }

  void add_compute(std::size_t actor, std::int32_t index, const JobOp& op) {
    LoweredOp& own = lowered_.ops[op_number(actor, index)];
    std::vector<TransferId>& starts = starts_[op_number(actor, index)];
    if (op.seconds > 0) {
      starts.push_back(graph_->add_flow(fixed_.at({actor, op.stream}).route,
                                        op.seconds * lowered_.rates.flops, 0));
    }
    if (op.flop > 0) starts.push_back(graph_->add_flow(sm_route_[actor], op.flop, 0));
    if (op.memory_bytes > 0) {
      starts.push_back(graph_->add_flow(memory_route_[actor], op.memory_bytes, 0));
    }
    if (starts.empty()) starts.push_back(graph_->add_delay(0));
    own.end = starts.front();
    if (starts.size() == 1) return;
    own.end = graph_->add_delay(0);
    for (const TransferId start : starts) graph_->add_edge(start, own.end);
  }

  // The call number `count` of a group; the first actor that reaches it adds it to the graph.
  void join_collective(std::size_t actor, std::int32_t index, const JobOp& op, std::int32_t group,
                       std::int32_t count) {
    const auto [known, fresh] =
        collective_calls_.try_emplace({group, count}, static_cast<std::int32_t>(calls_.size()));
    if (fresh) add_call(op, group);
    join(known->second, actor, index, member_of(job_.groups[at(group)], actor));
  }

  // Index of the actor in a group, or of a rank of the actor's class.
  [[nodiscard]] std::int32_t member_of(const ProcessGroup& group, std::size_t actor) const {
    const std::vector<std::int32_t>& ranks = group.ranks;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == rank_of(actor)) return static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (at(lowered_.classes.class_of[at(ranks[i])]) == actor) return static_cast<std::int32_t>(i);
    }
    throw std::logic_error("lower_job: an actor is in no group of its class");
  }

  void join_message(std::size_t actor, std::int32_t index, const JobOp& op,
                    std::map<std::array<std::int32_t, 5>, std::int32_t>& made) {
    const std::int32_t group = job_.groups_of[at(rank_of(actor))][at(op.communicator)];
    const std::int32_t peer = job_.groups[at(group)].ranks[at(op.peer)];
    const bool sends = op.kind == JobOpKind::Send;
    const std::int32_t from = sends ? rank_of(actor) : peer;
    const std::int32_t to = sends ? peer : rank_of(actor);
    const CommunicatorKey pair =
        lowered_.classes.pair_of({job_.groups[at(group)].communicator, from, to, op.tag});
    const std::int32_t count = made[{pair[0], pair[1], pair[2], pair[3], sends ? 1 : 0}]++;
    const auto [known, fresh] = message_calls_.try_emplace(
        {pair[0], pair[1], pair[2], pair[3], count}, static_cast<std::int32_t>(calls_.size()));
    if (fresh) {
      expand(pair, op, {pair[1], pair[2]}, [&]() -> const ConfiguredCall& {
        return views_.message(op, pair[0], pair[1], pair[2]);
      });
      calls_.back().message = true;
    }
    join(known->second, actor, index, sends ? 0 : 1);
  }

  // A call in the graph, until all its actors have joined it.
  struct OpenCall {
    std::unique_ptr<AppendedCall> messages;  ///< with JobDetail::Messages
    TransferId start = -1;                   ///< with JobDetail::Calls
    TransferId end = -1;
    std::int32_t sms = 0;
    bool message = false;  ///< a send and its receive
  };

  void add_call(const JobOp& op, std::int32_t group) {
    const ProcessGroup& members = job_.groups[at(group)];
    if (members.ranks.size() < 2) {  // nothing to communicate
      calls_.emplace_back();
      lowered_.calls.push_back({});
      calls_.back().start = calls_.back().end = graph_->add_delay(0);
      return;
    }
    expand(group_key(group), op, members.ranks,
           [&]() -> const ConfiguredCall& { return views_.collective(op, members); });
  }

  // Adds a call of a communicator to the graph; `plan` chooses its configuration.
  template <class Plan>
  void expand(const CommunicatorKey& key, const JobOp& op, const std::vector<std::int32_t>& ranks,
              Plan&& plan) {
    OpenCall& open = calls_.emplace_back();
    LoweredCall& call = lowered_.calls.emplace_back();
    if (detail_ == JobDetail::Messages) {
      call.planned = &plan();
      const CallMessages& messages = messages_of(*call.planned);
      firings_ += messages.firings();
      if (std::int64_t{graph_->size()} + messages.nodes() > kMostNodes || firings_ > kMostFirings) {
        throw UserError(fmt::format(
            "job {} has more than {} messages and steps; detail 'calls' simulates large jobs",
            quoted(job_.name), kMostNodes));
      }
      open.messages = std::make_unique<AppendedCall>(messages.append(*graph_));
      return;
    }
    const auto [known, fresh] = call_routes_.try_emplace({key, call_type_of(op)});
    if (fresh) {
      const auto folded = lowered_.classes.folded_calls.find({key, call_type_of(op)});
      if (folded != lowered_.classes.folded_calls.end()) {
        known->second = {folded->second.like,
                         route_of(folded->second.loads, ranks, flows_.of(*folded->second.like))};
      } else {
        const ConfiguredCall& planned = plan();
        known->second = {&planned, route_of(flows_.loads(planned), ranks, flows_.of(planned))};
      }
    }
    call.planned = known->second.planned;
    const CallFlow& flow = flows_.of(*call.planned);
    open.sms = flow.sms;
    open.start = graph_->add_delay(0);
    if (flow.bytes > 0) {
      open.end =
          graph_->add_flow(known->second.route, flow.bytes, flow.latency_s, flow.rate_cap_Bps);
    } else {
      open.end = graph_->add_delay(flow.time_s);
    }
    call.flow = open.end;
    graph_->add_edge(open.start, open.end);
  }

  // Route of a call's flow: links of the fabric, and the memories of its GPUs.
  std::int32_t route_of(const std::vector<CallLoad>& on_links,
                        const std::vector<std::int32_t>& ranks, const CallFlow& flow) {
    std::vector<std::int32_t> links;
    std::vector<std::int32_t> loads;
    for (const CallLoad& load : on_links) {
      if (at(load.link) >= lowered_.fabric_links) continue;  // only another binding has it
      links.push_back(load.link);
      loads.push_back(load.load);
    }
    if (flow.memory_load > 0) {
      for (const std::size_t actor : actors_of(ranks)) {
        links.push_back(memory_link(actor));
        loads.push_back(flow.memory_load);
      }
    }
    return add_route(links, loads);
  }

  // Actors that stand for the ranks.
  [[nodiscard]] std::vector<std::size_t> actors_of(const std::vector<std::int32_t>& ranks) const {
    std::vector<std::size_t> actors;
    for (const std::int32_t rank : ranks) {
      actors.push_back(at(lowered_.classes.class_of[at(rank)]));
    }
    std::sort(actors.begin(), actors.end());
    actors.erase(std::unique(actors.begin(), actors.end()), actors.end());
    return actors;
  }

  CallMessages& messages_of(const ConfiguredCall& planned) {
    std::unique_ptr<CallMessages>& known = messages_[&planned];
    if (!known) {
      std::vector<std::int32_t> memories;
      for (const std::int32_t rank : planned.view->ranks) {
        memories.push_back(memory_link(at(lowered_.classes.class_of[at(rank)])));
      }
      known = std::make_unique<CallMessages>(planned, *graph_, capacities_, lowered_.fabric_links,
                                             std::move(memories));
    }
    return *known;
  }

  // The actor takes part in the call as its member number `member`.
  void join(std::int32_t number, std::size_t actor, std::int32_t index, std::int32_t member) {
    OpenCall& call = calls_[at(number)];
    LoweredOp& own = lowered_.ops[op_number(actor, index)];
    std::vector<TransferId>& starts = starts_[op_number(actor, index)];
    own.call = number;
    if (call.messages) {
      const AppendedCall::Member& of_rank = call.messages->members[at(member)];
      starts = of_rank.starts;
      own.end = of_rank.done;
      hold(of_rank.launched, of_rank.done, actor, of_rank.sms);
      return;
    }
    own.end = call.end;
    const TransferId launched = graph_->add_delay(0);
    starts.push_back(launched);
    if (call.message && member == 1) {
      // The sender does not wait for its receiver: the connection holds the message.
      own.end = graph_->add_delay(0);
      graph_->add_edge(call.end, own.end);
      graph_->add_edge(launched, own.end);
    } else {
      graph_->add_edge(launched, call.start);
    }
    hold(launched, own.end, actor, call.sms);
  }

  void hold(TransferId from, TransferId until, std::size_t actor, std::int32_t sms) {
    if (lowered_.rates.sms == 0 || sms == 0 || from < 0) return;
    const auto hold_link = [&](std::int32_t link) {
      graph_->add_hold(from, link, sms);
      graph_->add_hold(until, link, -sms);
    };
    hold_link(sm_link(actor));
    for (auto fixed = fixed_.lower_bound({actor, 0});
         fixed != fixed_.end() && fixed->first.first == actor; ++fixed) {
      hold_link(fixed->second.link);
    }
  }

  // Edges from the operations that each operation waits for.
  void connect(std::size_t actor) {
    const RankProgram& program = job_.program(rank_of(actor));
    std::vector<std::int32_t> last_on(job_.streams.size(), -1);
    std::vector<TransferId> waits;
    for (std::int32_t index = 0; index < program.size(); ++index) {
      waits.clear();
      const JobOp& op = program.ops[at(index)];
      for (std::uint32_t d = program.dep_begin[at(index)]; d < program.dep_begin[at(index) + 1];
           ++d) {
        waits.push_back(lowered_.ops[op_number(actor, program.deps[d])].end);
      }
      std::int32_t& last = last_on[at(op.stream)];
      if (last >= 0) waits.push_back(lowered_.ops[op_number(actor, last)].end);
      last = index;
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      std::vector<TransferId>& starts = starts_[op_number(actor, index)];
      if (waits.size() > 1 && starts.size() > 2) {
        const TransferId ready = graph_->add_delay(0);
        for (const TransferId wait : waits) graph_->add_edge(wait, ready);
        waits.assign(1, ready);
      }
      for (const TransferId start : starts) {
        for (const TransferId wait : waits) graph_->add_edge(wait, start);
      }
    }
  }

  const JobGraph& job_;
  GroupViews& views_;
  JobDetail detail_;
  CallFlows& flows_;
  std::shared_ptr<TransferGraph> graph_;
  LoweredJob lowered_;
  std::int64_t firings_ = 0;  ///< messages and steps of all tiles
  std::vector<double> capacities_;
  std::vector<std::int32_t> sm_route_;      ///< by actor
  std::vector<std::int32_t> memory_route_;  ///< by actor
  // SMs for the durations of one stream.
  struct FixedLink {
    std::int32_t link = -1;
    std::int32_t route = -1;
  };
  std::map<std::pair<std::size_t, std::int32_t>, FixedLink> fixed_;  ///< by actor and stream
  std::vector<std::vector<TransferId>> starts_;  ///< by op: nodes that wait for its dependencies
  std::vector<OpenCall> calls_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> collective_calls_;
  std::map<std::array<std::int32_t, 5>, std::int32_t> message_calls_;
  std::map<const ConfiguredCall*, std::unique_ptr<CallMessages>> messages_;
  struct CallRoute {
    const ConfiguredCall* planned = nullptr;
    std::int32_t route = -1;
  };
  std::map<std::pair<CommunicatorKey, CallType>, CallRoute> call_routes_;
};

}  // namespace

LoweredJob lower_job(const JobGraph& job, GroupViews& views, CallFlows& flows,
                     const GpuRates& rates, JobDetail detail, RankClasses classes) {
  if (detail == JobDetail::Messages && classes.folded()) {
    throw std::logic_error("lower_job: messages of folded ranks");
  }
  return JobLowering(job, views, flows, rates, detail, std::move(classes)).run();
}

}  // namespace cclgym
