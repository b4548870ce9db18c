#include "synthesis/lowering/moves.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/route_channels.hpp"

namespace cclgym::synthesis {

std::vector<PlannedChunk> planned_chunks(CollectiveKind collective, const Demand& demand) {
  const bool pairs = collective == CollectiveKind::Gather ||
                     collective == CollectiveKind::Scatter ||
                     collective == CollectiveKind::AllToAll;
  std::vector<PlannedChunk> chunks;
  int number = 0;
  for (std::size_t k = 0; k < demand.chunks.size(); ++k) {
    const ChunkDemand& chunk = demand.chunks[k];
    if (k > 0 && demand.chunks[k - 1] != chunk && collective != CollectiveKind::AllReduce) {
      number = 0;
    }
    chunks.push_back({chunk.source, pairs ? chunk.targets.front() : -1, number++});
  }
  return chunks;
}

std::vector<Move> needed_moves(const Instance& instance, const Demand& demand,
                               std::vector<Move> moves) {
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::tie(a.arrival, a.start, a.hop, a.chunk) <
           std::tie(b.arrival, b.start, b.hop, b.chunk);
  });
  const std::size_t ranks = at(instance.ranks);
  std::vector<char> held(demand.chunks.size() * ranks, 0);
  std::vector<char> needed(demand.chunks.size() * ranks, 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    held[chunk * ranks + at(demand.chunks[chunk].source)] = 1;
    for (const int target : demand.chunks[chunk].targets) needed[chunk * ranks + at(target)] = 1;
  }
  std::vector<Move> first;
  for (const Move& move : moves) {
    char& known = held[at(move.chunk) * ranks + at(instance.hops[at(move.hop)].target)];
    if (!known) first.push_back(move);
    known = 1;
  }
  std::vector<Move> result;
  for (std::size_t k = first.size(); k-- > 0;) {
    const Hop& hop = instance.hops[at(first[k].hop)];
    if (!needed[at(first[k].chunk) * ranks + at(hop.target)]) continue;
    needed[at(first[k].chunk) * ranks + at(hop.source)] = 1;
    result.push_back(first[k]);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<PlannedMessage> messages_of(const Instance& instance, std::vector<Move> moves,
                                        bool reversed, int first_batch,
                                        const HopChannels& channels) {
  if (channels.per_hop < 1 || channels.per_hop > kMaxChannels ||
      (channels.per_hop > 1 && channels.fabric == nullptr)) {
    throw UserError("channels per hop: expected 1 to 64, and a fabric if there are several");
  }
  const auto key = [&](const Move& move) { return reversed ? -move.arrival : move.start; };
  std::sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    return std::make_tuple(key(a), a.hop, a.chunk) < std::make_tuple(key(b), b.hop, b.chunk);
  });
  std::map<int, std::vector<int>> spread;  // by hop
  const auto channels_of = [&](int id) -> const std::vector<int>& {
    std::vector<int>& found = spread[id];
    if (!found.empty()) return found;
    const Hop& hop = instance.hops[at(id)];
    const int first = std::max(hop.channel, 0);
    if (channels.per_hop > 1) {
      RouteChannels routes(*channels.fabric, kMaxChannels);
      std::int64_t width = channels.per_hop;
      for (const int limit : hop.limits) width = std::min(width, instance.limits[at(limit)].units);
      found = routes.like(hop.source, hop.target, first);
      found.resize(std::min(found.size(), at(width)));
    } else {
      found = {first};
    }
    return found;
  };
  std::vector<PlannedMessage> messages;
  int batch = first_batch - 1;
  for (std::size_t first = 0; first < moves.size();) {
    std::size_t end = first;
    while (end < moves.size() && key(moves[end]) == key(moves[first]) &&
           moves[end].hop == moves[first].hop) {
      ++end;
    }
    if (first == 0 || key(moves[first]) != key(moves[first - 1])) ++batch;
    const Hop& hop = instance.hops[at(moves[first].hop)];
    const std::vector<int>& ways = channels_of(moves[first].hop);
    for (std::size_t k = first; k < end; ++k) {
      const std::size_t way = (k - first) * ways.size() / (end - first);
      messages.push_back({.chunk = moves[k].chunk,
                          .source = hop.source,
                          .target = hop.target,
                          .channel = ways[way],
                          .reduces = reversed,
                          .batch = batch});
    }
    first = end;
  }
  return messages;
}

}  // namespace cclgym::synthesis
