#include "workloads/readers/traces/chakra_reader.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/files/text_file.hpp"
#include "workloads/readers/traces/chakra_order.hpp"
#include "workloads/readers/traces/left_out.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kWorld = "world";
// Payload of a barrier, B: PyTorch's is an AllReduce of one float.
constexpr std::uint64_t kBarrierBytes = 4;

// Collectives by their numbers in the schema.
constexpr std::int64_t kBarrier = 9;
constexpr CollectiveKind kCollectives[] = {
    CollectiveKind::AllReduce, CollectiveKind::Reduce,        CollectiveKind::AllGather,
    CollectiveKind::Gather,    CollectiveKind::Scatter,       CollectiveKind::Broadcast,
    CollectiveKind::AllToAll,  CollectiveKind::ReduceScatter, CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce};

using Groups = std::map<std::string, ChakraGroup, std::less<>>;

// Names, streams and groups of the job that is built, shared by its ranks.
struct ChakraBuild {
  JobGraph job;
  TextTable names;
  TextTable streams;
  Groups shared_groups;
  std::vector<std::int32_t> world;
  std::size_t dependencies = 0;
  bool one_communication = false;
  TraceGroups groups{job};
  LeftOutCalls left_out;
};

// Reason why a node of communication cannot be a call.
struct UnusableNode {
  std::string reason;
};

class RankBuilder {
 public:
  RankBuilder(ChakraBuild& build, ChakraTrace trace, std::int32_t rank)
      : build_(build), trace_(std::move(trace)), rank_(rank) {}

  RankProgram program() {
    const ChakraOrder order = order_nodes(trace_);
    if (order.missing > 0) {
      const ChakraNode& node = trace_.nodes[at(order.missing_of)];
      build_.job.notes.push_back(fmt::format(
          "{} has {} on nodes that are not in it, which count as done: node {} ({}) depends on "
          "node {}",
          trace_.file,
          order.missing == 1 ? "a dependency" : fmt::format("{} dependencies", order.missing),
          node.id, quoted(trace_.texts[at(node.name)]), order.missing_id));
    }
    RankProgram program;
    program.file = trace_.file;
    // Operation of a node; a metadata node has none, but a list of what it waits for.
    std::vector<std::int32_t> op_of(trace_.nodes.size(), -1);
    std::unordered_map<std::int32_t, std::vector<std::int32_t>> passed;
    std::vector<std::int32_t> deps;
    for (const std::int32_t index : order.nodes) {
      deps.clear();
      for (const std::int32_t node : order.dependencies(index)) {
        if (op_of[at(node)] >= 0) {
          deps.push_back(op_of[at(node)]);
        } else {
          const std::vector<std::int32_t>& more = passed[node];
          count_dependencies(index, more.size());
          deps.insert(deps.end(), more.begin(), more.end());
        }
      }
      count_dependencies(index, deps.size());
      std::sort(deps.begin(), deps.end());
      deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
      const ChakraNode& node = trace_.nodes[at(index)];
      if (node.type == ChakraType::Metadata) {
        passed[index] = deps;
      } else {
        op_of[at(index)] = program.add(op(node), deps);
      }
    }
    return program;
  }

 private:
  // A node with a duration keeps it if it cannot be a call; without one, the trace is wrong.
  [[noreturn]] void refuse(const ChakraNode& node, const std::string& reason) const {
    if (node.duration_s > 0 && communicates(node)) throw UnusableNode{reason};
    throw UserError(
        SourceLocation{.file = trace_.file},
        fmt::format("node {} ({}): {}", node.id, quoted(trace_.texts[at(node.name)]), reason));
  }

  // Also those that are equal, so that the time to read them is bounded.
  void count_dependencies(std::int32_t node, std::size_t more) {
    build_.dependencies += more;
    if (build_.dependencies <= 2 * kMostTraceDependencies) return;
    refuse(trace_.nodes[at(node)],
           fmt::format("the job has more than {} dependencies, including those that metadata nodes "
                       "pass on",
                       2 * kMostTraceDependencies));
  }

  static bool communicates(const ChakraNode& node) {
    return node.type == ChakraType::CommColl || node.type == ChakraType::CommSend ||
           node.type == ChakraType::CommRecv;
  }

  // Converters keep the host's side of a call, which has no arguments, as a node of its own.
  static bool is_host_time(const ChakraNode& node) {
    return node.is_cpu_op && communicates(node) && !node.comm_type && !node.comm_src &&
           !node.comm_dst;
  }

  JobOp op(const ChakraNode& node) {
    JobOp op{.name = build_.names.index(trace_.texts[at(node.name)]),
             .origin = static_cast<std::int64_t>(
                 std::min<std::uint64_t>(node.id, std::numeric_limits<std::int64_t>::max()))};
    if (!communicates(node) || is_host_time(node)) {
      make_compute(node, op);
      return op;
    }
    op.seconds = node.duration_s;
    build_.left_out.add_communication(op.seconds);
    JobOp call = op;
    try {
      if (node.type == ChakraType::CommColl) {
        make_collective(node, call);
      } else {
        make_message(node, call);
      }
      return call;
    } catch (const UnusableNode& unusable) {
      op.stream = stream(node, build_.one_communication ? "communication" : "calls as measured");
      build_.left_out.leave_out(op, trace_.file, trace_.texts[at(node.name)], unusable.reason);
      return op;
    }
  }

  std::int32_t stream(const ChakraNode& node, std::string_view otherwise) {
    if (node.stream && !node.is_cpu_op) {
      return build_.streams.index(fmt::format("stream {}", *node.stream));
    }
    return build_.streams.index(node.is_cpu_op ? "cpu" : otherwise);
  }

  void make_compute(const ChakraNode& node, JobOp& op) {
    const bool memory = node.type == ChakraType::MemLoad || node.type == ChakraType::MemStore;
    op.stream =
        stream(node, memory ? (build_.one_communication ? "communication" : "memory") : "compute");
    if (memory && node.tensor_size > 0) {
      op.memory_bytes = node.tensor_size;
    } else if (!memory && !node.is_cpu_op && node.num_ops > 0) {
      op.flop = node.num_ops;
      op.memory_bytes = node.tensor_size;
    } else {
      op.seconds = node.duration_s;
    }
  }

  std::uint64_t size_of(const ChakraNode& node) const {
    if (!node.comm_size) refuse(node, "it has no comm_size");
    if (*node.comm_size < 1) {
      refuse(node, fmt::format("its comm_size is {}; expected at least 1 byte", *node.comm_size));
    }
    return static_cast<std::uint64_t>(*node.comm_size);
  }

  // Name and ranks of a node's group.
  std::pair<std::string, const std::vector<std::int32_t>*> group_of(const ChakraNode& node) const {
    const std::string name = node.pg_name < 0 ? "" : trace_.texts[at(node.pg_name)];
    const ChakraGroup* group = nullptr;
    if (const auto own = trace_.groups.find(name); own != trace_.groups.end()) {
      group = &own->second;
    } else if (const auto shared = build_.shared_groups.find(name);
               shared != build_.shared_groups.end()) {
      group = &shared->second;
    }
    if (group == nullptr) {
      if (!name.empty() && name != "0") {
        refuse(node, fmt::format("its process group {} is not defined; expected a metadata node "
                                 "with the group, or a file of groups",
                                 quoted(name)));
      }
      if (node.involved_dims == InvolvedDims::Some) {
        refuse(node,
               "its involved_dim selects some dimensions of ASTRA-sim's topology, which is "
               "not in the trace; expected a process group (pg_name) instead");
      }
      return {std::string(kWorld), &build_.world};
    }
    const bool described = !group->description.empty() && group->description != "undefined";
    return {described ? group->description : name,
            group->ranks.empty() ? &build_.world : &group->ranks};
  }

  void make_collective(const ChakraNode& node, JobOp& op) {
    if (!node.comm_type) refuse(node, "it has no comm_type");
    const std::int64_t type = *node.comm_type;
    if (type < 0 || at(type) >= std::size(kCollectives)) {
      refuse(node, fmt::format("its comm_type is {}; expected 0 to {}", type,
                               std::size(kCollectives) - 1));
    }
    const auto [name, ranks] = group_of(node);
    op.kind = JobOpKind::Collective;
    op.collective = kCollectives[at(type)];
    op.bytes = type == kBarrier ? kBarrierBytes : size_of(node);
    if (op.collective == CollectiveKind::AllGather || op.collective == CollectiveKind::Gather) {
      constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
      if (op.bytes > kMost / ranks->size()) {
        refuse(node,
               fmt::format("its comm_size {} is too large for {} ranks", op.bytes, ranks->size()));
      }
      op.bytes *= ranks->size();
    }
    const bool single = ranks->size() == 1;
    if (!single) op.communicator = communicator(name, *ranks);
    // The name of the group would tell equal programs of ranks in different groups apart.
    op.stream = stream(node, build_.one_communication
                                 ? std::string("communication")
                                 : fmt::format("collectives of group {}", op.communicator));
    if (single) {
      op.kind = JobOpKind::Compute;
      op.collective = CollectiveKind::AllReduce;
      op.bytes = 0;
      op.seconds = node.duration_s;
      return;
    }
    if (node.root && is_rooted(op.collective)) op.root = position(node, *ranks, *node.root);
  }

  // Looking a group up compares its ranks, which takes long in a large job.
  std::int32_t communicator(const std::string& name, const std::vector<std::int32_t>& ranks) {
    const auto key = std::make_pair(name, &ranks);
    const auto known = communicators_.find(key);
    if (known != communicators_.end()) return known->second;
    return communicators_[key] = build_.groups.communicator(rank_, name, ranks);
  }

  std::int32_t position(const ChakraNode& node, const std::vector<std::int32_t>& ranks,
                        std::int64_t root) const {
    const auto found = std::find(ranks.begin(), ranks.end(), root);
    if (found == ranks.end()) {
      refuse(node, fmt::format("its root, rank {}, is not in its process group", root));
    }
    return static_cast<std::int32_t>(found - ranks.begin());
  }

  void make_message(const ChakraNode& node, JobOp& op) {
    const bool sends = node.type == ChakraType::CommSend;
    const std::int64_t own = (sends ? node.comm_src : node.comm_dst).value_or(rank_);
    const std::optional<std::int64_t> peer = sends ? node.comm_dst : node.comm_src;
    const std::string_view peer_word = sends ? "comm_dst" : "comm_src";
    if (own != rank_) {
      refuse(node, fmt::format("its {} is {}, but the trace is that of rank {}",
                               sends ? "comm_src" : "comm_dst", own, rank_));
    }
    if (!peer) refuse(node, fmt::format("it has no {}", peer_word));
    if (*peer < 0 || at(*peer) >= build_.world.size()) {
      refuse(node, fmt::format("its {} is {}, but the job has ranks 0 to {}", peer_word, *peer,
                               build_.world.size() - 1));
    }
    op.peer = static_cast<std::int32_t>(*peer);
    const std::int64_t tag = node.comm_tag.value_or(0);
    if (tag < std::numeric_limits<std::int32_t>::min() ||
        tag > std::numeric_limits<std::int32_t>::max()) {
      refuse(node, fmt::format("its comm_tag is {}; expected a number of 32 bits", tag));
    }
    op.kind = sends ? JobOpKind::Send : JobOpKind::Recv;
    op.tag = static_cast<std::int32_t>(tag);
    op.bytes = size_of(node);
    op.stream =
        stream(node, sends && build_.one_communication
                         ? std::string("communication")
                         : fmt::format("{} {}, tag {}", sends ? "to" : "from", op.peer, tag));
    op.communicator = communicator(std::string(kWorld), build_.world);
  }

  ChakraBuild& build_;
  ChakraTrace trace_;
  std::int32_t rank_;
  std::map<std::pair<std::string, const std::vector<std::int32_t>*>, std::int32_t> communicators_;
};

// Reads and converts rank after rank, so that one trace at a time is in memory.
JobGraph build_job(std::size_t ranks, const std::function<ChakraTrace(std::size_t)>& trace_of,
                   const ChakraOptions& options) {
  if (ranks == 0) throw UserError("a job needs at least one trace; found none");
  const auto build_owner = std::make_unique<ChakraBuild>();  // `groups` refers to `job`
  ChakraBuild& build = *build_owner;
  build.one_communication = options.one_communication;
  JobGraph& job = build.job;
  job.ranks = static_cast<std::int32_t>(ranks);
  job.origin_word = "node";
  job.groups_of.resize(ranks);
  job.program_of.resize(ranks);
  std::iota(job.program_of.begin(), job.program_of.end(), 0);
  build.world.resize(ranks);
  std::iota(build.world.begin(), build.world.end(), 0);
  if (!options.groups_file.empty()) {
    build.shared_groups = parse_chakra_groups(read_text_file(options.groups_file, kMostTraceBytes),
                                              options.groups_file);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RankBuilder builder(build, trace_of(rank), static_cast<std::int32_t>(rank));
    job.programs.push_back(builder.program());
  }
  job.names = build.names.take();
  job.streams = build.streams.take();
  if (!build.left_out.empty()) {
    leave_out_unmatched_calls(job, build.left_out);
    std::vector<std::string> notes = build.left_out.notes(job.origin_word);
    job.notes.insert(job.notes.begin(), notes.begin(), notes.end());
  }
  check_job(job);
  merge_equal_programs(job);
  return std::move(job);
}

// Rank in "NAME.RANK.et", and NAME; nullopt for other names.
std::optional<std::pair<std::string, std::int64_t>> split_name(const std::string& name) {
  constexpr std::string_view kEnding = ".et";
  if (name.size() <= kEnding.size() || !name.ends_with(kEnding)) return std::nullopt;
  const std::string stem = name.substr(0, name.size() - kEnding.size());
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  std::int64_t rank = 0;
  const char* end = stem.data() + stem.size();
  const auto [read, error] = std::from_chars(stem.data() + dot + 1, end, rank);
  if (error != std::errc{} || read != end || rank < 0) return std::nullopt;
  return std::make_pair(stem.substr(0, dot), rank);
}

}  // namespace

std::vector<std::string> chakra_files(const std::string& prefix_or_file) {
  namespace fs = std::filesystem;
  const fs::path given(prefix_or_file);
  std::string prefix = given.filename().string();
  std::error_code error;
  if (prefix.ends_with(".et")) {
    const auto split = split_name(prefix);
    if (!split) return {prefix_or_file};
    prefix = split->first;
  }
  const fs::path folder = given.parent_path();
  const auto path_of = [&](std::int64_t rank) {
    return (folder / fmt::format("{}.{}.et", prefix, rank)).string();
  };
  std::vector<bool> found;
  for (fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const auto split = split_name(entry->path().filename().string());
    if (!split || split->first != prefix || split->second >= kMostTraceRanks) continue;
    if (entry->path().filename() != fs::path(path_of(split->second)).filename()) continue;  // "007"
    if (at(split->second) >= found.size()) found.resize(at(split->second) + 1);
    found[at(split->second)] = true;
  }
  if (found.empty()) {
    throw UserError(
        fmt::format("{} does not exist; expected a Chakra execution trace per rank, "
                    "PREFIX.0.et, PREFIX.1.et, …",
                    quoted(path_of(0))));
  }
  std::vector<std::string> files;
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    files.push_back(path_of(static_cast<std::int64_t>(rank)));
    if (found[rank]) continue;
    throw UserError(fmt::format("{} is missing, but there is {}; expected a trace of every rank",
                                quoted(files.back()),
                                quoted(path_of(static_cast<std::int64_t>(found.size()) - 1))));
  }
  return files;
}

JobGraph read_chakra(const std::vector<std::string>& files, const ChakraOptions& options) {
  std::size_t nodes = 0;
  JobGraph job = build_job(
      files.size(),
      [&](std::size_t rank) {
        ChakraTrace trace = read_chakra_node_stream(read_trace_file(files[rank]), files[rank],
                                                    kMostTraceOps - nodes);
        nodes += trace.nodes.size();
        return trace;
      },
      options);
  job.name = std::filesystem::path(files.front()).filename().string();
  if (const auto split = split_name(job.name)) job.name = split->first;
  return job;
}

JobGraph chakra_job(std::vector<ChakraTrace> traces, const ChakraOptions& options) {
  return build_job(
      traces.size(), [&](std::size_t rank) { return std::move(traces[rank]); }, options);
}

}  // namespace cclgym
