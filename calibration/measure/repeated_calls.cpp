#include "calibration/measure/repeated_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "collectives/compiler/compile.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "collectives/program.hpp"

namespace cclgym {

std::shared_ptr<const ThreadBlockProgram> rooted_chain(const Fabric& fabric,
                                                       CollectiveKind collective, int channels,
                                                       int root) {
  const auto rings = logical_rings(fabric);
  const int ranks = fabric.ranks();
  const bool reduces = collective == CollectiveKind::Reduce;
  ProgramBuilder p(reduces ? "reduce-chain" : "broadcast-chain",
                   Contract::make(collective, ranks, channels, true, root));
  for (int channel = 0; channel < channels; ++channel) {
    const std::vector<int>& ring = rings[static_cast<std::size_t>(channel) % rings.size()];
    const auto first = std::find(ring.begin(), ring.end(), root) - ring.begin() + (reduces ? 1 : 0);
    const auto rank_at = [&](int step) {
      return ring[static_cast<std::size_t>((first + step) % ranks)];
    };
    ChunkRef c = p.chunk(rank_at(0), Buffer::Input, channel);
    for (int step = 1; step < ranks; ++step) {
      c = reduces ? p.chunk(rank_at(step), Buffer::Input, channel).reduce(c, {.channel = channel})
                  : c.copy(rank_at(step), Buffer::Input, channel, {.channel = channel});
    }
  }
  auto program = std::make_shared<ThreadBlockProgram>(
      compile(p.finish(), deployed_compile_options(AlgorithmLibrary::shipped().at("ring"))));
  program->traits.runtime = Runtime::Nccl;
  return program;
}

namespace {

// One rank's hop of a channel, by tile; the last value holds for further tiles.
struct Hop {
  int rank = 0;
  std::vector<double> sending_s;  // time of its message to the next rank
  double flight_s = 0;            // from the message's last byte to its arrival
};
using Chain = std::vector<Hop>;

// The channels' chains, starting at the rank that only sends, with the durations of the call's
// messages.
std::vector<Chain> chains_of(const SimulationRecord& record) {
  const ThreadBlockProgram& program = *record.lowered.program;
  const std::vector<NodeOrigin>& origins = record.lowered.origins;
  std::map<std::pair<int, int>, std::size_t> flow_of;  // by channel and sending rank
  std::set<std::pair<int, int>> receives;              // channel and rank
  for (std::size_t node = 0; node < origins.size(); ++node) {
    const NodeOrigin& origin = origins[node];
    if (origin.role != NodeRole::Step || origin.peer_rank < 0) continue;
    const auto& blocks = program.gpus[static_cast<std::size_t>(origin.rank)].thread_blocks;
    const int channel = blocks[static_cast<std::size_t>(origin.thread_block)].channel;
    flow_of[{channel, origin.rank}] = node;
    receives.insert({channel, origin.peer_rank});
  }
  std::vector<Chain> chains(static_cast<std::size_t>(program.channels));
  for (int channel = 0; channel < program.channels; ++channel) {
    Chain& chain = chains[static_cast<std::size_t>(channel)];
    int rank = 0;
    while (receives.contains({channel, rank})) ++rank;
    for (auto flow = flow_of.find({channel, rank}); flow != flow_of.end();
         flow = flow_of.find({channel, rank})) {
      const std::size_t node = flow->second;
      Hop hop{.rank = rank, .sending_s = {}};
      const std::size_t begin = record.first_firing[node];
      for (std::size_t firing = begin; firing < record.first_firing[node + 1]; ++firing) {
        hop.sending_s.push_back(record.end_s[firing] - record.start_s[firing]);
      }
      const bool flies = node + 1 < origins.size() && origins[node + 1].role == NodeRole::Arrival;
      if (flies) hop.flight_s = record.end_s[record.first_firing[node + 1]] - record.end_s[begin];
      chain.push_back(std::move(hop));
      rank = origins[node].peer_rank;
    }
    chain.push_back({.rank = rank, .sending_s = {}});
  }
  return chains;
}

double launch_s(const SimulationRecord& record) {
  const std::vector<NodeOrigin>& origins = record.lowered.origins;
  for (std::size_t node = 0; node < origins.size(); ++node) {
    if (origins[node].role != NodeRole::Launch) continue;
    return record.end_s[record.first_firing[node]];
  }
  return 0;
}

}  // namespace

double time_between_calls_s(const SimulationRecord& record, int calls) {
  const std::vector<Chain> chains = chains_of(record);
  const double each_launch_s = launch_s(record);
  const auto tiles = static_cast<std::size_t>(record.lowered.tiles);
  const auto slots = static_cast<std::size_t>(record.config.slots);
  const std::size_t places = chains.front().size();
  std::vector<double> done_s(record.result.rank_time_s.size(), 0.0);  // end of the kernel, by rank
  // Time when a rank of the chain had taken a message out of its FIFO, by channel; message m begins
  // at index m * places.
  std::vector<std::vector<double>> taken_s(chains.size());
  for (int call = 0; call < calls; ++call) {
    std::vector<double> begin_s = done_s;
    for (double& begin : begin_s) begin += each_launch_s;
    done_s = begin_s;
    for (std::size_t channel = 0; channel < chains.size(); ++channel) {
      const Chain& chain = chains[channel];
      std::vector<double>& taken = taken_s[channel];
      const auto rank_at = [&](std::size_t place) {
        return static_cast<std::size_t>(chain[place].rank);
      };
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        const std::size_t message = taken.size() / places;
        double arrived_s = 0;
        for (std::size_t place = 0; place < places; ++place) {
          double free_s = begin_s[rank_at(place)];
          if (tile > 0) free_s = std::max(free_s, taken[(message - 1) * places + place]);
          double end_s = std::max(free_s, arrived_s);
          if (place + 1 < places) {
            if (slots > 0 && message >= slots) {
              end_s = std::max(end_s, taken[(message - slots) * places + place + 1]);
            }
            const Hop& hop = chain[place];
            end_s += hop.sending_s[std::min(tile, hop.sending_s.size() - 1)];
            arrived_s = end_s + hop.flight_s;
          }
          taken.push_back(end_s);
          done_s[rank_at(place)] = std::max(done_s[rank_at(place)], end_s);
        }
      }
    }
  }
  return done_s[static_cast<std::size_t>(record.call.root)] / calls;
}

}  // namespace cclgym
