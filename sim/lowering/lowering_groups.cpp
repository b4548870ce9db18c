// Lowering, groups: transfers of several messages that switches copy (from one rank to several
// others) or add up (from several ranks to one). Such a transfer is one flow over the links of all
// its messages, each of which carries it once, so that its rate is that of the busiest link.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "sim/lowering/lowering_internal.hpp"

namespace cclgym {

namespace {

const Node& node_at(const Fabric& fabric, NodeId id) {
  return fabric.nodes()[static_cast<std::size_t>(id)];
}

const Link& link_at(const Fabric& fabric, LinkId id) {
  return fabric.links()[static_cast<std::size_t>(id)];
}

}  // namespace

// Throws unless there is a switch on the route and every switch, among GPU links or in the network,
// can copy and add.
void Lowering::require_computing(std::span<const LinkId> route, const NodeOrigin& origin) const {
  const std::string* unable = nullptr;
  bool any = false;
  for (const LinkId id : route) {
    const Node& node = node_at(fabric_, link_at(fabric_, id).target);
    if (node.kind != NodeKind::NvSwitch && node.kind != NodeKind::NetworkSwitch) continue;
    any = true;
    if (!node.computes) unable = &node.name;
  }
  if (any && unable == nullptr) return;
  throw UserError(fmt::format(
      "program '{}' needs switches that copy and add, but on the route from rank {} to rank {} of "
      "fabric '{}' {}",
      outline_.name, origin.rank, origin.peer_rank, fabric_.name(),
      any ? fmt::format("'{}' does not", *unable) : "there is no switch"));
}

// The routes of all messages, and one more between the switches and the rank that all messages
// share: NVSwitches read and write the memory of that rank like that of the others.
std::vector<std::vector<LinkId>> Lowering::routes_of_group(
    std::span<const GroupMember> members) const {
  std::vector<std::vector<LinkId>> routes;
  for (const GroupMember& member : members) {
    routes.push_back(fabric_.route(member.origin.rank, member.origin.peer_rank, member.channel));
    require_computing(routes.back(), member.origin);
  }
  const NodeOrigin& first = members.front().origin;
  std::vector<LinkId> back = fabric_.route(first.peer_rank, first.rank, members.front().channel);
  const auto computes = [this](NodeId id) { return node_at(fabric_, id).computes; };
  if (!members.front().reducing) {  // keeps the part from the last switch to the sender
    const auto last = std::find_if(back.rbegin(), back.rend(), [&](LinkId id) {
      return computes(link_at(fabric_, id).source);
    });
    back.erase(back.begin(), last == back.rend() ? back.end() : std::prev(last.base()));
  } else {  // keeps the part from the receiver to the first switch
    const auto until = std::find_if(
        back.begin(), back.end(), [&](LinkId id) { return computes(link_at(fabric_, id).target); });
    back.erase(until == back.end() ? back.begin() : std::next(until), back.end());
  }
  routes.push_back(std::move(back));
  return routes;
}

void Lowering::add_groups() {
  std::map<std::int32_t, std::int32_t> answers;  // by group: the group that sends its sum back
  for (const auto& [group, members] : groups_) {
    const std::int32_t asked = members.front().answers;
    if (asked != kNoGroup) answers.emplace(asked, group);
  }
  for (const auto& [group, members] : groups_) {
    if (members.front().answers != kNoGroup) continue;
    const auto answer = answers.find(group);
    const bool answered = answer != answers.end();
    const TransferId flow =
        answered ? add_group(members, groups_.at(answer->second)) : add_group(members, {});
    group_flow_[group] = flow;
    if (answered) group_flow_[answer->second] = flow;
  }
}

// Adds the flow of a group, over the links of both directions if the switches send the sum back.
// The messages of the answer arrive with those of the group.
TransferId Lowering::add_group(std::span<const GroupMember> members,
                               std::span<const GroupMember> answer) {
  std::vector<std::vector<LinkId>> routes = routes_of_group(members);
  if (!answer.empty()) {
    for (std::vector<LinkId>& route : routes_of_group(answer)) routes.push_back(std::move(route));
  }
  const std::vector<LinkId>* longest = &routes.front();
  std::vector<std::int32_t> links;
  for (const std::vector<LinkId>& route : routes) {
    links.insert(links.end(), route.begin(), route.end());
    if (route.size() > longest->size()) longest = &route;
  }
  if (proxies_ && crosses_network(links)) {
    const auto first = static_cast<std::int32_t>(fabric_.links().size());
    for (const GroupMember& member : members) {
      links.push_back(first + member.origin.rank);
      links.push_back(first + member.origin.peer_rank);
    }
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  const GroupMember& leader = members.front();
  const std::int32_t record = costs_.record({.work = Work::SwitchedTransfer,
                                             .opcode = leader.opcode,
                                             .chunks = leader.chunks,
                                             .route = costs_.route_class(*longest)});
  const Message message = add_flow(leader.origin, graph_->add_route(links), record, 1);
  for (const GroupMember& member : members) {
    graph_->add_edge(own_node_[member.step], message.flow);
    arrival_[member.step] = message.arrival;
  }
  for (const GroupMember& member : answer) arrival_[member.step] = message.arrival;
  return message.flow;
}

}  // namespace cclgym
