// Lowering, steps: the nodes whose end completes a step, and the nodes that a step waits for.
#include <algorithm>

#include "sim/lowering/lowering_internal.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

using Kind = CompletionPart::Kind;
using Of = MessageIndex::Of;

// Completion of the last iteration of a loop.
Completion Lowering::last_of_loop(std::uint32_t loop) const {
  const OutlineLoop& own = outline_.loops[loop];
  Completion last = completions_[own.first + static_cast<std::uint32_t>(own.body) - 1];
  for (CompletionPart& part : last.parts) {
    if (part.iteration == CompletionPart::kSame) part.iteration = own.times - 1;
  }
  return last;
}

// Completion that the first iteration of a step waits for in its own block, within a tile.
Completion Lowering::before(const Site& site) const {
  if (!site.first_of_loop) return completions_[site.step - 1];
  if (!site.first_of_block) return last_of_loop(site.loop - 1);
  Completion start;
  const TransferId launch = start_of(site.rank, block_of(site).kernel);
  if (launch >= 0) start.parts[0] = {Kind::Launch, launch, 0};
  return start;
}

// True if the messages that the block receives are sent by MPI.
bool Lowering::comes_by_mpi(const Site& site) const {
  const int peer = block_of(site).recv_peer;
  return peer >= 0 && sends_by_mpi(model_, outline_.traits) &&
         fabric_.server_of(peer) != fabric_.server_of(site.rank);
}

// Decides which nodes complete a step, adding a node where one is needed.
void Lowering::complete(const Site& site) {
  const OutlineStep& step = step_of(site);
  const CompletionPart own{Kind::Own, static_cast<std::int32_t>(site.step)};
  if (sends(step.opcode)) {
    completions_[site.step].parts[0] =
        step.group == kNoGroup ? own : CompletionPart{CompletionPart::Kind::Group, step.group};
    if (streams_in(site.step)) add_done(site);
    return;
  }
  // Data that switches copied or added, or that came by MPI, is in place when it arrives.
  const bool switched = step.group != kNoGroup;
  const bool in_place = switched || (receives(step.opcode) && comes_by_mpi(site));
  // A local step of such a kernel has the data of all channels, of which prices assume an equal
  // part.
  const std::int32_t chunks =
      step.opcode == Opcode::DeviceCopy
          ? step.count
          : step.count * (outline_.alike_channels / alike_in(block_of(site).kernel));
  const std::int32_t record = costs_.record({.work = in_place ? Work::InPlace : Work::Local,
                                             .opcode = step.opcode,
                                             .chunks = in_place ? 0 : chunks});
  if (latency_s(record) == 0 && !switched && receives(step.opcode) &&
      outline_.waits_of(site.step).empty() && has_arrival(site.step) && may_merge(site) &&
      merge_receive(site)) {
    return;
  }
  own_node_[site.step] = add_delay(record, {site.rank, site.thread_block, site.number}, site.times);
  completions_[site.step].parts[0] = own;
  // A message is taken out of the FIFO while it arrives.
  if (takes_while_arriving(site.step)) completions_[site.step].parts[1] = arrival_at(site.step);
}

bool Lowering::takes_while_arriving(std::uint32_t step) const {
  const Opcode opcode = outline_.steps[step].opcode;
  return receives(opcode) && !sends(opcode) && has_arrival(step) && own_node_[step] >= 0 &&
         latency_s(costs_.record_of(own_node_[step])) > 0;
}

// The first step of a loop also waits for the last step of the previous iteration. With tiles, the
// first step of a block also waits for the last step of the previous tile. Both take a node of
// their own, except that in a block that only receives, the order of the flows implies the wait
// between tiles.
bool Lowering::may_merge(const Site& site) const {
  if (site.first_of_loop && site.times > 1) return false;
  return tiles_ == 1 || !site.first_of_block || only_receives(site);
}

bool Lowering::only_receives(const Site& site) const {
  const OutlineLoop& all = outline_.loops[site.loop];  // with tiles there is only one loop
  for (std::uint32_t step = all.first; step < all.first + static_cast<std::uint32_t>(all.body);
       ++step) {
    if (outline_.steps[step].opcode != Opcode::Recv || !outline_.waits_of(step).empty()) {
      return false;
    }
  }
  return true;
}

// Writes "flow arrived and previous step done" as at most two parts; false if two are not enough.
bool Lowering::merge_receive(const Site& site) {
  Completion merged;
  merged.parts[0] = arrival_at(site.step);
  for (const CompletionPart& part : before(site).parts) {
    if (part.kind == Kind::None) continue;
    // An earlier message of the same connection is done before this message starts, because the
    // sending block runs its steps in order.
    const std::uint32_t sent = incoming(site.step).front().step;
    if (part.kind == Kind::Arrival && arrival_[sent] == own_node_[sent]) continue;
    // A launch is done once, not once per tile, so a sender that is short of slots could not tell
    // for which tile it waits.
    if (tiles_ > 1 && slots_ > 0 && part.kind == Kind::Launch) return false;
    if (merged.parts[1].kind != Kind::None) return false;
    merged.parts[1] = part;
  }
  completions_[site.step] = merged;
  return true;
}

// Adds the edges into the node of a step, if it has one.
void Lowering::connect(const Site& site) {
  const TransferId node = own_node_[site.step];
  if (node < 0) return;
  const OutlineStep& step = step_of(site);
  requirements_.clear();
  require(before(site), 0, {0, site.first_of_loop ? 1 : site.times, 0});
  if (site.first_of_loop && site.times > 1) {
    const OutlineLoop& loop = outline_.loops[site.loop];
    const std::uint32_t last = loop.first + static_cast<std::uint32_t>(loop.body) - 1;
    require(completions_[last], 0, {1, site.times, -1});
  }
  if (site.first_of_block && tiles_ > 1) {
    require(last_of_block(site.block), 1, {0, 1, 0});
  }
  for (const OutlineWait& wait : outline_.waits_of(site.step)) {
    const std::int32_t times = wait.stride == 0 ? 1 : site.times;
    const std::uint32_t block =
        outline_.first_block(site.rank) + static_cast<std::uint32_t>(wait.thread_block);
    require_each(Of::Steps, block, wait.step, wait.stride, 0, times, 0);
  }
  if (receives(step.opcode)) {
    if (!has_arrival(site.step)) {
      graph_->add_unsatisfiable_dependency(node);
    } else if (!takes_while_arriving(site.step)) {
      require_sent(streams_in(site.step) ? heads_ : arrival_, site.step, 0, {0, site.times, 0});
    }
  }
  const bool limited = sends(step.opcode) && slots_ > 0;
  if (limited && step.answers == kNoGroup) require_slot(site);
  add_edges(node, site.times);
  if (!heads_.empty() && sends(step.opcode) && step.group == kNoGroup) connect_stream(site);
  if (!limited || step.answers == kNoGroup) return;
  // Switches that send a sum back wait for free slots before they begin to add.
  requirements_.clear();
  require_slot(site);
  add_edges(group_flow_.at(step.group), site.times);
}

// Makes iterations [begin, end) wait for items first, first + stride, … of a block.
void Lowering::require_each(Of what, std::uint32_t block, std::int32_t first, std::int32_t stride,
                            std::int32_t begin, std::int32_t end, std::int32_t tile_lag) {
  std::vector<IterationPiece>& pieces = scratch_pieces_;
  pieces.clear();
  (void)index_.find(what, block, first, stride, end - begin, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int32_t to = i + 1 < pieces.size() ? begin + pieces[i + 1].from : end;
    require(completions_[pieces[i].step], tile_lag,
            {begin + pieces[i].from, to, pieces[i].shift - begin});
  }
}

void Lowering::require(const Completion& completion, std::int32_t tile_lag,
                       const Iterations& iterations) {
  for (const CompletionPart& part : completion.parts) {
    // Only the first iteration has to wait for a fixed firing.
    const bool fixed = part.iteration != CompletionPart::kSame;
    const Iterations of{iterations.begin, fixed ? iterations.begin + 1 : iterations.end,
                        fixed ? part.iteration - iterations.begin : iterations.shift};
    switch (part.kind) {
      case Kind::None:
        break;
      case Kind::Own:
        requirements_.push_back({done_node(static_cast<std::uint32_t>(part.id)), tile_lag, of});
        break;
      case Kind::Group:
        requirements_.push_back({group_flow_.at(part.id), tile_lag, of});
        break;
      case Kind::Arrival:
        require_arrival(static_cast<std::uint32_t>(part.id), tile_lag, of);
        break;
      case Kind::Launch:
        requirements_.push_back({part.id, tiles_ > 1 ? TransferGraph::kFirstOnly : tile_lag, of});
        break;
    }
  }
}

// Makes iterations wait for nodes that stand for the messages that a step receives; `nodes` has one
// for each send.
void Lowering::require_sent(const std::vector<TransferId>& nodes, std::uint32_t step,
                            std::int32_t tile_lag, const Iterations& iterations) {
  const auto pieces = incoming(step);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int32_t begin = std::max(iterations.begin, pieces[i].from - iterations.shift);
    std::int32_t end = iterations.end;
    if (i + 1 < pieces.size()) end = std::min(end, pieces[i + 1].from - iterations.shift);
    if (begin >= end) continue;
    requirements_.push_back(
        {nodes[pieces[i].step], tile_lag, {begin, end, iterations.shift + pieces[i].shift}});
  }
}

// A message moves into the slot that is freed when the message `slots` before it, counted over all
// tiles, is received.
void Lowering::require_slot(const Site& site) {
  const std::int32_t messages = index_.count(Of::Sends, site.block);
  const std::int32_t stride = index_.each(Of::Sends, site.loop);
  const auto target = static_cast<std::uint32_t>(target_of_[site.block]);
  std::int32_t freed = site.sent - slots_;
  std::int32_t begin = 0;
  std::int32_t lag = 0;
  if (tiles_ == 1) {  // the first `slots` messages move into free slots
    for (; freed < 0 && begin < site.times; freed += stride) ++begin;
    if (begin == site.times) return;
  }
  for (; freed < 0; freed += messages) ++lag;
  if (lag >= tiles_) return;
  require_each(Of::Receives, target, freed, stride, begin, site.times, lag);
}

// Adds the edges of the requirements. Among edges from one node, the one with the smallest lag
// implies the others.
void Lowering::add_edges(TransferId node, std::int32_t times) {
  scratch_edges_.clear();
  for (const Requirement& requirement : requirements_) {
    scratch_edges_.emplace_back(requirement.node, lag_of(requirement, times));
  }
  std::sort(scratch_edges_.begin(), scratch_edges_.end());
  TransferId last = -1;
  std::int32_t least = TransferGraph::kAfterLast;  // lag of an edge from `last`
  for (const auto& [source, lag] : scratch_edges_) {
    // kAfterLast concerns only the first firing.
    const bool implied = source == last && (least != TransferGraph::kAfterLast || lag == least);
    last = source;
    if (implied && (lag != TransferGraph::kFirstOnly || least == 0 || lag == least)) continue;
    least = lag;
    // Firings of one node are always in order.
    if (source != node || lag <= 0) graph_->add_edge(source, node, lag);
  }
}

// Lag of the edge that expresses exactly this requirement of a node that fires `times` times.
std::int32_t Lowering::lag_of(const Requirement& requirement, std::int32_t times) const {
  if (tiles_ > 1) return requirement.tile_lag;
  const auto [begin, end, shift] = requirement.iterations;
  const std::int32_t firings = graph_->repeat(requirement.node);
  if (begin == 0 && end == 1) {
    if (shift == firings - 1) return times == 1 && firings == 1 ? 0 : TransferGraph::kAfterLast;
    if (shift == 0) return TransferGraph::kFirstOnly;
    throw CannotFold();
  }
  if (end != times || shift > 0 || begin != -shift) throw CannotFold();
  return -shift;
}

}  // namespace cclgym
