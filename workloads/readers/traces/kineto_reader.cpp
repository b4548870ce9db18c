#include "workloads/readers/traces/kineto_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/counted.hpp"
#include "core/units.hpp"
#include "workloads/readers/traces/kineto_groups.hpp"
#include "workloads/readers/traces/kineto_rank.hpp"
#include "workloads/readers/traces/left_out.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

// Sizes beyond this are wrong, elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
// Payload of a barrier, B: an AllReduce of one float.
constexpr std::uint64_t kLeastBarrierBytes = 4;
// Origin of the number of ranks where no trace has it.
constexpr std::string_view kRanksOfGroups =
    " (those of its process groups, for want of a world_size)";
// Ranks that a message lists by name.
constexpr std::size_t kMostNamedRanks = 8;

struct NamedCollective {
  std::string_view name;
  CollectiveKind kind;
};

// PyTorch's names (ProcessGroupNCCL.cpp) without underscores.
constexpr NamedCollective kKinetoCollectives[] = {
    {"allreduce", CollectiveKind::AllReduce},
    {"allreducecoalesced", CollectiveKind::AllReduce},
    {"allreducesparse", CollectiveKind::AllReduce},
    {"barrier", CollectiveKind::AllReduce},
    {"allgather", CollectiveKind::AllGather},
    {"allgatherbase", CollectiveKind::AllGather},
    {"allgathercoalesced", CollectiveKind::AllGather},
    {"allgatherintotensorcoalesced", CollectiveKind::AllGather},
    {"reducescatter", CollectiveKind::ReduceScatter},
    {"reducescatterbase", CollectiveKind::ReduceScatter},
    {"reducescattertensorcoalesced", CollectiveKind::ReduceScatter},
    {"broadcast", CollectiveKind::Broadcast},
    {"broadcastoop", CollectiveKind::Broadcast},
    {"reduce", CollectiveKind::Reduce},
    {"reduceoop", CollectiveKind::Reduce},
    {"gather", CollectiveKind::Gather},
    {"scatter", CollectiveKind::Scatter},
    {"alltoall", CollectiveKind::AllToAll},
    {"alltoallv", CollectiveKind::AllToAll},
    {"alltoallbase", CollectiveKind::AllToAll}};

struct SizedType {
  std::string_view name;
  std::uint64_t bytes;
};

// Names of c10::ScalarType. Types of less than a byte (UInt1 to UInt7, two of Float4 as one x2)
// have elements of a byte.
constexpr SizedType kTypes[] = {{"Byte", 1},
                                {"Char", 1},
                                {"Short", 2},
                                {"Int", 4},
                                {"Long", 8},
                                {"Half", 2},
                                {"Float", 4},
                                {"Double", 8},
                                {"ComplexHalf", 4},
                                {"ComplexFloat", 8},
                                {"ComplexDouble", 16},
                                {"Bool", 1},
                                {"QInt8", 1},
                                {"QUInt8", 1},
                                {"QInt32", 4},
                                {"BFloat16", 2},
                                {"QUInt4x2", 1},
                                {"QUInt2x4", 1},
                                {"Bits1x8", 1},
                                {"Bits2x4", 1},
                                {"Bits4x2", 1},
                                {"Bits8", 1},
                                {"Bits16", 2},
                                {"Float8_e5m2", 1},
                                {"Float8_e4m3fn", 1},
                                {"Float8_e5m2fnuz", 1},
                                {"Float8_e4m3fnuz", 1},
                                {"UInt16", 2},
                                {"UInt32", 4},
                                {"UInt64", 8},
                                {"UInt1", 1},
                                {"UInt2", 1},
                                {"UInt3", 1},
                                {"UInt4", 1},
                                {"UInt5", 1},
                                {"UInt6", 1},
                                {"UInt7", 1},
                                {"Int1", 1},
                                {"Int2", 1},
                                {"Int3", 1},
                                {"Int4", 1},
                                {"Int5", 1},
                                {"Int6", 1},
                                {"Int7", 1},
                                {"Float8_e8m0fnu", 1},
                                {"Float4_e2m1fn_x2", 1}};
// Bytes per element of a type that is not in the table: those of most types of training.
constexpr std::uint64_t kUnknownTypeBytes = 2;

// Reason why an operation of communication cannot be a call.
struct Unusable {
  std::string reason;
};

struct KinetoBuild {
  JobGraph job;
  LeftOutCalls left_out;
  std::map<std::string, std::int64_t> unknown_types;  // number of calls
  TextTable names;
  TextTable streams;
  std::vector<std::int32_t> world;
  std::size_t ops = 0;
  TraceGroups groups{job};
};

// Converts the step of one rank.
class KinetoRankBuilder {
 public:
  KinetoRankBuilder(KinetoBuild& build, const KinetoTrace& trace, std::int32_t rank)
      : build_(build), trace_(trace), rank_(rank) {}

  RankProgram program(std::optional<std::int64_t> step, bool idle) {
    RankProgram program;
    program.file = trace_.file;
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (const KinetoStepOp& made : kineto_step_ops(trace_, step, idle)) {
      if (++build_.ops > kMostTraceOps) {
        throw UserError(
            SourceLocation{.file = trace_.file},
            fmt::format("the traces of the job have more than {} operations", kMostTraceOps));
      }
      JobOp op{.stream = build_.streams.index(fmt::format("stream {}", made.stream)),
               .seconds = static_cast<double>(made.duration_ns) * 1e-9};
      if (made.op < 0) {
        op.name = build_.names.index(kHostIdleName);
      } else {
        const KinetoOp& read = trace_.ops[at(made.op)];
        op.name = build_.names.index(trace_.texts[at(read.name)]);
        op.origin = read.event;
        if (is_communication(trace_, read)) make_communication(read, op);
        begin_ns = std::min(begin_ns, read.start_ns);
        end_ns = std::max(end_ns, read.end_ns);
      }
      program.add(op, made.deps);
    }
    build_.left_out.add_step(static_cast<double>(end_ns - begin_ns) * 1e-9);
    return program;
  }

 private:
  std::uint64_t bytes_of(const KinetoCall& call) const {
    if (!call.malformed.empty()) throw Unusable{call.malformed};
    if (!call.in_elements && !call.out_elements) {
      throw Unusable{"it has neither \"In msg nelems\" nor \"Out msg nelems\""};
    }
    std::int64_t most = 0;
    for (const auto& [key, elements] :
         {std::pair{"In msg nelems", call.in_elements}, {"Out msg nelems", call.out_elements}}) {
      if (!elements) continue;
      if (*elements < 0 || *elements > kMostElements) {
        throw Unusable{fmt::format("its \"{}\" is {}; expected 0 to 2^48", key, *elements)};
      }
      most = std::max(most, *elements);
    }
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const SizedType& row) { return row.name == call.dtype; });
    if (type == std::end(kTypes)) ++build_.unknown_types[call.dtype];
    const std::uint64_t bytes = static_cast<std::uint64_t>(most) *
                                (type == std::end(kTypes) ? kUnknownTypeBytes : type->bytes);
    if (bytes > kMostCallBytes) {
      throw Unusable{fmt::format("it moves {} bytes; expected at most {}", bytes,
                                 format_bytes(kMostCallBytes))};
    }
    // A message without bytes has one, as in GOAL schedules.
    return std::max<std::uint64_t>(bytes, 1);
  }

  void check_ranks(const KinetoCall& call, std::vector<std::int32_t> ranks) const {
    std::sort(ranks.begin(), ranks.end());
    if (ranks.front() < 0 || at(ranks.back()) >= build_.world.size()) {
      throw Unusable{fmt::format(
          "process group {} has rank {}, but the job has ranks 0 to {}", quoted(call.group),
          ranks.front() < 0 ? ranks.front() : ranks.back(), build_.world.size() - 1)};
    }
    if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
      throw Unusable{fmt::format("process group {} has a rank twice", quoted(call.group))};
    }
    if (!std::binary_search(ranks.begin(), ranks.end(), rank_)) {
      throw Unusable{fmt::format("rank {} is not in process group {}", rank_, quoted(call.group))};
    }
  }

  std::vector<std::int32_t> ranks_of(const KinetoCall& call) const {
    const auto world = static_cast<std::int64_t>(build_.world.size());
    auto listed = parse_rank_list(call.ranks);
    // PyTorch shortens long lists ("[0, 1, 2, ..., 62, 63]").
    if (!listed && !call.ranks.empty() && call.ranks.find("...") == std::string::npos) {
      throw Unusable{fmt::format(
          "its \"Process Group Ranks\" is {}; expected ranks like \"[0, 1]\"", quoted(call.ranks))};
    }
    if (!listed || listed->empty()) {
      const auto known =
          std::find_if(trace_.groups.begin(), trace_.groups.end(),
                       [&](const KinetoGroup& group) { return group.name == call.group; });
      if (known != trace_.groups.end()) listed = known->ranks;
    }
    if ((!listed || listed->empty()) &&
        (call.group_size.value_or(world) == world || call.description == "default_pg")) {
      return build_.world;
    }
    if ((!listed || listed->empty()) && call.group_size) {
      listed = completed_ranks(call.ranks, *call.group_size);
    }
    if (!listed || listed->empty()) {
      throw Unusable{fmt::format("the ranks of process group {} are not in the trace (found {})",
                                 quoted(call.group), quoted(call.ranks))};
    }
    if (call.group_size && *call.group_size != static_cast<std::int64_t>(listed->size())) {
      throw Unusable{fmt::format("process group {} has {} ranks, but its Group size is {}",
                                 quoted(call.group), listed->size(), *call.group_size)};
    }
    check_ranks(call, *listed);
    return *listed;
  }

  void make_communication(const KinetoOp& read, JobOp& op) {
    build_.left_out.add_communication(op.seconds);
    try {
      make_call(read, op);
    } catch (const Unusable& unusable) {
      build_.left_out.leave_out(op, trace_.file, trace_.texts[at(read.name)], unusable.reason);
    }
  }

  void make_call(const KinetoOp& read, JobOp& made) {
    if (read.call < 0 || trace_.calls[at(read.call)].collective.empty()) {
      throw Unusable{
          "PyTorch wrote no \"Collective name\" and sizes, as for batch_isend_irecv and some "
          "coalesced calls in any release up to 2.15, and for all calls before 2.4"};
    }
    JobOp op = made;
    const KinetoCall& call = trace_.calls[at(read.call)];
    std::string name = call.collective;
    std::erase(name, '_');
    const bool sends = name == "send";
    const bool message = sends || name == "recv";
    const auto known = std::find_if(std::begin(kKinetoCollectives), std::end(kKinetoCollectives),
                                    [&](const NamedCollective& row) { return row.name == name; });
    if (!message && known == std::end(kKinetoCollectives)) {
      std::vector<std::string> names{"send", "recv"};
      for (const NamedCollective& row : kKinetoCollectives) names.emplace_back(row.name);
      throw Unusable{unknown_name_message("Collective name", call.collective, names)};
    }
    const std::vector<std::int32_t> ranks = ranks_of(call);
    if (ranks.size() == 1) return;
    const bool described = !call.description.empty() && call.description != "undefined";
    op.bytes = bytes_of(call);
    if (message) {
      op.kind = sends ? JobOpKind::Send : JobOpKind::Recv;
      op.peer = peer(sends ? call.destination : call.source, sends, ranks);
    } else {
      op.kind = JobOpKind::Collective;
      op.collective = known->kind;
      if (known->name == "barrier") op.bytes = std::max(op.bytes, kLeastBarrierBytes);
    }
    op.communicator = communicator(described ? call.description : call.group, ranks);
    made = op;
  }

  std::int32_t peer(std::optional<std::int64_t> rank, bool sends,
                    const std::vector<std::int32_t>& ranks) const {
    const std::string_view word = sends ? "Dst Rank" : "Src Rank";
    if (!rank) throw Unusable{fmt::format("it has no \"{}\"", word)};
    const auto found = std::find(ranks.begin(), ranks.end(), *rank);
    if (found == ranks.end() || *rank == rank_) {
      throw Unusable{
          fmt::format("its \"{}\" is {}; expected another rank of its process group", word, *rank)};
    }
    return static_cast<std::int32_t>(found - ranks.begin());
  }

  // Looking a group up compares its ranks, which takes long in a large job.
  std::int32_t communicator(const std::string& name, const std::vector<std::int32_t>& ranks) {
    const auto [known, added] = communicators_.try_emplace({name, ranks}, 0);
    if (added) known->second = build_.groups.communicator(rank_, name, ranks);
    return known->second;
  }

  KinetoBuild& build_;
  const KinetoTrace& trace_;
  std::int32_t rank_;
  std::map<std::pair<std::string, std::vector<std::int32_t>>, std::int32_t> communicators_;
};

// Gives the ranks without a trace the program of `source`, and the groups of a mesh.
void replicate(KinetoBuild& build, std::int32_t source, const std::vector<bool>& given) {
  JobGraph& job = build.job;
  if (std::find(given.begin(), given.end(), false) == given.end()) return;
  RankProgram& program = job.programs[at(job.program_of[at(source)])];
  const auto leave_out = [&](auto&& chosen, const std::string& reason) {
    for (JobOp& op : program.ops) {
      if (op.kind == JobOpKind::Compute || !chosen(op)) continue;
      build.left_out.leave_out(op, program.file, job.names[at(op.name)], reason);
    }
  };
  leave_out([](const JobOp& op) { return op.kind != JobOpKind::Collective; },
            fmt::format("messages cannot be replicated, because other ranks have other peers; add "
                        "the traces of all {} ranks",
                        job.ranks));
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    if (!given[at(rank)]) job.program_of[at(rank)] = job.program_of[at(source)];
  }
  const std::vector<std::int32_t> groups = job.groups_of[at(source)];
  for (std::size_t local = 0; local < groups.size(); ++local) {
    const ProcessGroup group = job.groups[at(groups[local])];
    const std::string name = job.communicators[at(group.communicator)].name;
    // A group is one of a mesh for all ranks or for none.
    const bool mesh = mesh_group(group.ranks, source, job.ranks).has_value();
    if (!mesh) {
      leave_out([&](const JobOp& op) { return at(op.communicator) == local; },
                fmt::format("the groups of {} cannot be inferred from that of rank {}, whose ranks "
                            "are no row of a mesh; add the traces of all {} ranks",
                            quoted(name), source, job.ranks));
    }
    for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
      if (given[at(rank)] || job.groups_of[at(rank)].size() > local) continue;
      if (!mesh) {
        job.groups_of[at(rank)].push_back(-1);
        continue;
      }
      const auto own = mesh_group(group.ranks, rank, job.ranks);
      build.groups.communicator(rank, name, *own);
      // Once for all members: a group of a large job is long.
      const std::int32_t index = job.groups_of[at(rank)].back();
      for (const std::int32_t member : *own) {
        std::vector<std::int32_t>& table = job.groups_of[at(member)];
        if (!given[at(member)] && table.size() == local) table.push_back(index);
      }
    }
  }
}

// An AllToAll with sizes that differ between ranks takes as long as its largest part, about.
void equalise_alltoalls(JobGraph& job) {
  std::vector<std::vector<std::uint64_t>> largest(job.groups.size());  // by group, by call
  const auto each_alltoall = [&](auto&& visit) {
    for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
      std::vector<std::size_t> calls(job.groups_of[at(rank)].size());
      for (JobOp& op : job.programs[at(job.program_of[at(rank)])].ops) {
        if (op.kind != JobOpKind::Collective) continue;
        const std::size_t call = calls[at(op.communicator)]++;
        if (op.collective != CollectiveKind::AllToAll) continue;
        visit(largest[at(job.groups_of[at(rank)][at(op.communicator)])], call, op);
      }
    }
  };
  each_alltoall([](std::vector<std::uint64_t>& sizes, std::size_t call, const JobOp& op) {
    if (call >= sizes.size()) sizes.resize(call + 1);
    sizes[call] = std::max(sizes[call], op.bytes);
  });
  each_alltoall([](const std::vector<std::uint64_t>& sizes, std::size_t call, JobOp& op) {
    op.bytes = sizes[call];
  });
}

void refuse_missing(const std::vector<bool>& given, const std::string& first_file,
                    std::string_view origin_of_ranks) {
  std::string missing;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    if (given[rank] || ++count > kMostNamedRanks) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
  }
  if (count == 0) return;
  if (count > kMostNamedRanks) missing += fmt::format(" and {} more", count - kMostNamedRanks);
  throw UserError(
      SourceLocation{.file = first_file},
      fmt::format("the job has {} ranks{}, but there is no trace of rank{} {}; expected a trace of "
                  "every rank, or --replicate if they do the same as rank {}",
                  given.size(), origin_of_ranks, count == 1 ? "" : "s", missing,
                  std::find(given.begin(), given.end(), true) - given.begin()));
}

// Number of ranks of a job whose traces lack world_size: as many as the process groups need.
std::int64_t ranks_of_groups(const KinetoTrace& trace) {
  std::int64_t ranks = 0;
  const auto include = [&](const std::vector<std::int32_t>& members) {
    for (const std::int32_t member : members) ranks = std::max(ranks, std::int64_t{member} + 1);
  };
  for (const KinetoGroup& group : trace.groups) include(group.ranks);
  for (const KinetoCall& call : trace.calls) {
    const std::int64_t size = call.group_size.value_or(0);
    ranks = std::max(ranks, size);
    auto members = parse_rank_list(call.ranks);
    if (!members) members = completed_ranks(call.ranks, size);
    if (members) include(*members);
  }
  return ranks;
}

// Reads and converts rank after rank, so that one trace at a time is in memory.
JobGraph build_kineto_job(std::size_t count,
                          const std::function<KinetoTrace(std::size_t)>& trace_of,
                          const KinetoOptions& options) {
  if (count == 0) throw UserError("a job needs at least one trace; found none");
  const auto build_owner = std::make_unique<KinetoBuild>();  // `groups` refers to `job`
  KinetoBuild& build = *build_owner;
  JobGraph& job = build.job;
  job.origin_word = "event";
  std::optional<std::int64_t> step = options.step;
  std::vector<bool> given;
  std::string_view origin_of_ranks;
  std::int32_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const KinetoTrace trace = trace_of(i);
    const SourceLocation where{.file = trace.file};
    const auto files = static_cast<std::int64_t>(count);
    const std::int64_t ranks = trace.world_size.value_or(
        i == 0 ? std::max(files, ranks_of_groups(trace)) : std::int64_t{job.ranks});
    if (i == 0) {
      if (!trace.world_size && ranks > files) origin_of_ranks = kRanksOfGroups;
      if (ranks < 1 || ranks > kMostTraceRanks) {
        throw UserError(
            where, fmt::format("its world_size is {}; expected 1 to {}", ranks, kMostTraceRanks));
      }
      job.ranks = static_cast<std::int32_t>(ranks);
      given.resize(at(ranks));
      job.groups_of.resize(at(ranks));
      job.program_of.resize(at(ranks));
      build.world.resize(at(ranks));
      std::iota(build.world.begin(), build.world.end(), 0);
      if (!step) step = last_kineto_step(trace);
    } else if (ranks != job.ranks) {
      throw UserError(where, fmt::format("its world_size is {}, but that of the first trace is {}",
                                         ranks, job.ranks));
    }
    std::int64_t rank = trace.rank.value_or(static_cast<std::int64_t>(i));
    // A trace alone whose job is not known is that of one GPU.
    const bool alone = !trace.world_size && files == 1 && job.ranks == 1;
    if (alone && (rank != 0 || options.replicate)) {
      job.notes.push_back(fmt::format(
          "{} is the trace of rank {} without a number of ranks: the job is one GPU; for a larger "
          "one, add \"world_size\" to its distributedInfo, or the traces of the other ranks",
          trace.file, rank));
      rank = 0;
    }
    if (rank < 0 || rank >= job.ranks) {
      throw UserError(
          where, fmt::format("its rank is {}, but the job has ranks 0 to {}{}", rank, job.ranks - 1,
                             trace.world_size ? ""
                                              : "; add \"world_size\" to the "
                                                "distributedInfo of the first trace"));
    }
    if (given[at(rank)]) throw UserError(where, fmt::format("rank {} has two traces", rank));
    given[at(rank)] = true;
    if (i == 0 || rank < first) first = static_cast<std::int32_t>(rank);
    job.program_of[at(rank)] = static_cast<std::int32_t>(job.programs.size());
    KinetoRankBuilder builder(build, trace, static_cast<std::int32_t>(rank));
    job.programs.push_back(builder.program(step, options.idle));
    if (trace.unplaced_count > 0) {
      job.notes.push_back(fmt::format(
          "{} of {} not used: event {} ({}): {}", counted(trace.unplaced_count, "operation"),
          trace.file + (trace.unplaced_count == 1 ? " is" : " are"), trace.unplaced.event,
          quoted(trace.unplaced.name), trace.unplaced.reason));
    }
  }
  job.names = build.names.take();
  job.streams = build.streams.take();
  if (options.replicate) {
    replicate(build, first, given);
  } else {
    refuse_missing(given, job.programs.front().file, origin_of_ranks);
  }
  if (!origin_of_ranks.empty()) {
    job.notes.push_back(
        fmt::format("{} has no world_size in its distributedInfo: the job has {} "
                    "ranks, as its process groups need",
                    job.programs.front().file, job.ranks));
  }
  for (const auto& [type, calls] : build.unknown_types) {
    job.notes.push_back(fmt::format("dtype {} is unknown: {} {} {} bytes per element", quoted(type),
                                    counted(calls, "call"), calls == 1 ? "has" : "have",
                                    kUnknownTypeBytes));
  }
  if (job.programs.size() > 1) {
    leave_out_unmatched_calls(job, build.left_out);
    equalise_alltoalls(job);
  }
  std::vector<std::string> notes = build.left_out.notes(job.origin_word);
  job.notes.insert(job.notes.begin(), notes.begin(), notes.end());
  check_job(job);
  merge_equal_programs(job);
  return std::move(job);
}

}  // namespace

JobGraph read_kineto(const std::vector<std::string>& files, const KinetoOptions& options) {
  JobGraph job = build_kineto_job(
      files.size(),
      [&](std::size_t i) { return parse_kineto(read_trace_file(files[i]), files[i]); }, options);
  job.name = std::filesystem::path(files.front()).filename().string();
  return job;
}

JobGraph kineto_job(const std::vector<KinetoTrace>& traces, const KinetoOptions& options) {
  return build_kineto_job(
      traces.size(), [&](std::size_t i) { return traces[i]; }, options);
}

}  // namespace cclgym
