#include "collectives/compiler/fuse.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

#include "collectives/memory_layout.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr std::int32_t kNoRun = Fusion::kNone;

/// Numbers for the connections (source rank, target rank, channel) in use.
class Connections {
 public:
  explicit Connections(const Program& program)
      : ranks_(static_cast<std::uint64_t>(program.contract.ranks())),
        channels_(static_cast<std::uint64_t>(program.channels)) {}

  std::int32_t of(const Operation& operation) {
    const auto source = static_cast<std::uint64_t>(operation.source.rank);
    const auto target = static_cast<std::uint64_t>(operation.target.rank);
    const auto channel = static_cast<std::uint64_t>(operation.channel);
    return known_
        .try_emplace((source * ranks_ + target) * channels_ + channel,
                     static_cast<std::int32_t>(known_.size()))
        .first->second;
  }
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  std::uint64_t ranks_;
  std::uint64_t channels_;
  std::unordered_map<std::uint64_t, std::int32_t> known_;
};

/// A receive and a send that could become one instruction.
struct Candidate {
  std::int32_t receive;  ///< operation
  std::int32_t send;     ///< operation
  std::int32_t incoming;
  std::int32_t outgoing;  ///< connection
};

/// Number of chunks that pass from one connection to another.
struct Traffic {
  std::int32_t incoming;
  std::int32_t outgoing;
  std::int64_t messages = 0;
  std::int32_t longest_path = 0;
};

std::vector<Traffic> traffic_between(const std::vector<Candidate>& candidates,
                                     const std::vector<std::int32_t>& reverse_depth) {
  std::vector<Traffic> result;
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (const Candidate& candidate : candidates) {
    const std::uint64_t key = static_cast<std::uint64_t>(candidate.incoming) << 32U |
                              static_cast<std::uint64_t>(candidate.outgoing);
    const auto [entry, is_new] = known.try_emplace(key, result.size());
    if (is_new) result.push_back({candidate.incoming, candidate.outgoing});
    Traffic& traffic = result[entry->second];
    ++traffic.messages;
    traffic.longest_path = std::max(traffic.longest_path, reverse_depth[at(candidate.send)]);
  }
  std::sort(result.begin(), result.end(), [](const Traffic& a, const Traffic& b) {
    return std::tie(b.messages, b.longest_path, a.incoming, a.outgoing) <
           std::tie(a.messages, a.longest_path, b.incoming, b.outgoing);
  });
  return result;
}

/// For each operation i, true if an operation other than sent_by[i] needs its result.
std::vector<bool> needed_locally(const Program& program, const ChunkDag& dag,
                                 const std::vector<std::int32_t>& sent_by) {
  std::vector<bool> needed(program.operations.size(), false);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    for (const ChunkEdge& edge : dag.predecessors(i)) {
      if (edge.kind != DependenceKind::True) continue;
      if (sent_by[at(edge.operation)] != static_cast<std::int32_t>(i)) {
        needed[at(edge.operation)] = true;
      }
    }
  }
  const MemoryLayout layout(program.contract, program.scratch_chunks);
  std::vector<std::int32_t> last_writer(layout.size(), kNoRun);
  const auto note_reads_across_kernels = [&](const Operation& reader, const Location& location) {
    const std::size_t place = layout.place(location);
    for (std::size_t k = 0; k < at(reader.count); ++k) {
      const std::int32_t writer = last_writer[place + k];
      if (writer == kNoRun) continue;
      if (program.operations[at(writer)].kernel != reader.kernel) needed[at(writer)] = true;
    }
  };
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    if (operation.kernel > 0) {  // the DAG has no edges between kernels
      note_reads_across_kernels(operation, operation.source);
      if (operation.kind == OperationKind::Reduce) {
        note_reads_across_kernels(operation, operation.target);
      }
    }
    const std::size_t target = layout.place(operation.target);
    for (std::size_t k = 0; k < at(operation.count); ++k) {
      last_writer[target + k] = static_cast<std::int32_t>(i);
    }
  }
  for (int rank = 0; rank < program.contract.ranks(); ++rank) {
    for (int index = 0; index < program.contract.output_chunks(rank); ++index) {
      const std::int32_t writer = last_writer[layout.place(rank, Buffer::Output, index)];
      if (writer == kNoRun || needed[at(writer)]) continue;
      if (program.contract.postcondition(rank, index)) needed[at(writer)] = true;
    }
  }
  return needed;
}

}  // namespace

Fusion no_fusion(const Program& program) {
  const std::size_t count = program.operations.size();
  return {std::vector<std::int32_t>(count, kNoRun), std::vector<std::int32_t>(count, kNoRun),
          std::vector<bool>(count, true)};
}

std::vector<std::int32_t> forwarded_operations(const Program& program, const ChunkDag& dag) {
  std::vector<std::int32_t> forwarded(program.operations.size(), kNoRun);
  for (std::size_t j = 0; j < program.operations.size(); ++j) {
    const Operation& send = program.operations[j];
    if (!send.remote() || send.group != kNoGroup) continue;
    std::int32_t writer = kNoRun;
    int writers = 0;
    for (const ChunkEdge& edge : dag.predecessors(j)) {
      if (edge.end != OperationEnd::Source) continue;
      writer = edge.operation;
      ++writers;
    }
    if (writers != 1) continue;
    const Operation& receive = program.operations[at(writer)];
    const bool same_slice =
        receive.group == kNoGroup && receive.count == send.count &&
        receive.has_instances_of(send) &&
        program.contract.resolve(receive.target) == program.contract.resolve(send.source);
    if (receive.remote() && same_slice) forwarded[j] = writer;
  }
  return forwarded;
}

std::vector<std::int32_t> reverse_depths(const ChunkDag& dag) {
  const std::size_t count = dag.first.size() - 1;
  std::vector<std::int32_t> depth(count, 0);
  for (std::size_t i = count; i-- > 0;) {
    for (const ChunkEdge& edge : dag.predecessors(i)) {
      depth[at(edge.operation)] = std::max(depth[at(edge.operation)], depth[i] + 1);
    }
  }
  return depth;
}

Fusion fuse(const Program& program, const ChunkDag& dag, const Schedule& schedule) {
  Fusion fusion = no_fusion(program);
  const std::vector<std::int32_t> forwarded = forwarded_operations(program, dag);
  Connections connections(program);
  std::vector<Candidate> candidates;
  for (std::size_t j = 0; j < forwarded.size(); ++j) {
    if (forwarded[j] == kNoRun) continue;
    const Operation& receive = program.operations[at(forwarded[j])];
    const Operation& send = program.operations[j];
    if (receive.channel != send.channel) continue;
    if (schedule.level[j] != schedule.level[at(forwarded[j])] + 1) continue;
    candidates.push_back({forwarded[j], static_cast<std::int32_t>(j), connections.of(receive),
                          connections.of(send)});
  }
  std::vector<std::int32_t> next(connections.size(), kNoRun);      // by incoming connection
  std::vector<std::int32_t> previous(connections.size(), kNoRun);  // by outgoing connection
  for (const Traffic& traffic : traffic_between(candidates, reverse_depths(dag))) {
    if (next[at(traffic.incoming)] != kNoRun || previous[at(traffic.outgoing)] != kNoRun) continue;
    next[at(traffic.incoming)] = traffic.outgoing;
    previous[at(traffic.outgoing)] = traffic.incoming;
  }
  for (const Candidate& candidate : candidates) {
    if (next[at(candidate.incoming)] != candidate.outgoing) continue;
    if (fusion.sent_by[at(candidate.receive)] != kNoRun) continue;  // sent to one rank twice
    fusion.sent_by[at(candidate.receive)] = candidate.send;
    fusion.received_from[at(candidate.send)] = candidate.receive;
  }
  fusion.stored = needed_locally(program, dag, fusion.sent_by);
  return fusion;
}

}  // namespace cclgym
