#include "synthesis/demand.hpp"

#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"

namespace cclgym::synthesis {

int Demand::deliveries() const {
  std::size_t count = 0;
  for (const ChunkDemand& chunk : chunks) count += chunk.targets.size();
  return static_cast<int>(count);
}

namespace {

std::vector<int> checked_group(int ranks, const std::vector<int>& group) {
  std::vector<int> members = group;
  if (members.empty()) {
    members.resize(static_cast<std::size_t>(std::max(ranks, 0)));
    std::iota(members.begin(), members.end(), 0);
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k] < 0 || members[k] >= ranks) {
      throw UserError(fmt::format("rank {} of the group does not exist; the fabric has {} ranks",
                                  members[k], ranks));
    }
    if (k > 0 && members[k] <= members[k - 1]) {
      throw UserError(
          fmt::format("the ranks of the group must ascend and differ, but {} follows {}",
                      members[k], members[k - 1]));
    }
  }
  if (members.size() < 2) {
    throw UserError(
        fmt::format("a group of {} rank{} has nothing to communicate; expected at "
                    "least 2 ranks",
                    members.size(), members.size() == 1 ? "" : "s"));
  }
  return members;
}

std::vector<int> without(const std::vector<int>& members, int rank) {
  std::vector<int> others = members;
  std::erase(others, rank);
  return others;
}

}  // namespace

Demand make_demand(CollectiveKind collective, int ranks, int chunks, int root,
                   const std::vector<int>& group) {
  const std::vector<int> members = checked_group(ranks, group);
  if (chunks < 1) throw UserError(fmt::format("{} chunks; expected at least 1", chunks));
  if (is_rooted(collective) && std::find(members.begin(), members.end(), root) == members.end()) {
    throw UserError(fmt::format("root {} is not a rank of the group", root));
  }
  Demand demand{.ranks = ranks};
  const auto add = [&](int source, const std::vector<int>& targets) {
    for (int k = 0; k < chunks; ++k) demand.chunks.push_back({source, targets});
  };
  switch (collective) {
    case CollectiveKind::AllGather:
      for (const int rank : members) add(rank, without(members, rank));
      break;
    case CollectiveKind::Broadcast:
      add(root, without(members, root));
      break;
    case CollectiveKind::Gather:
      for (const int rank : without(members, root)) add(rank, {root});
      break;
    case CollectiveKind::Scatter:
      for (const int rank : without(members, root)) add(root, {rank});
      break;
    case CollectiveKind::AllToAll:
      for (const int source : members) {
        for (const int target : without(members, source)) add(source, {target});
      }
      break;
    default:
      throw UserError(fmt::format("{} is not a collective of copies", to_string(collective)));
  }
  return demand;
}

CollectiveKind inverse_collective(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::ReduceScatter:
      return CollectiveKind::AllGather;
    case CollectiveKind::Reduce:
      return CollectiveKind::Broadcast;
    case CollectiveKind::AllReduce:
    case CollectiveKind::AllToNext:
    case CollectiveKind::Custom:
      throw UserError(fmt::format("{} has no inverse", to_string(collective)));
    default:
      return collective;
  }
}

int sccl_chunk_factor(CollectiveKind collective, int ranks) {
  switch (collective) {
    case CollectiveKind::AllToAll:
    case CollectiveKind::Scatter:
    case CollectiveKind::AllReduce:
      return ranks;
    default:
      return 1;
  }
}

}  // namespace cclgym::synthesis
