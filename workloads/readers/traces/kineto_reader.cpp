#include "workloads/readers/traces/kineto_reader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/counted.hpp"
#include "workloads/readers/traces/kineto_groups.hpp"
#include "workloads/readers/traces/kineto_rank.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

// Sizes beyond this are wrong, elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
// Payload of a barrier, B: an AllReduce of one float.
constexpr std::uint64_t kLeastBarrierBytes = 4;
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

// Names of c10::ScalarType.
constexpr SizedType kTypes[] = {{"Float", 4},
                                {"Double", 8},
                                {"Half", 2},
                                {"BFloat16", 2},
                                {"Byte", 1},
                                {"Char", 1},
                                {"Bool", 1},
                                {"Short", 2},
                                {"Int", 4},
                                {"Long", 8},
                                {"UInt16", 2},
                                {"UInt32", 4},
                                {"UInt64", 8},
                                {"ComplexHalf", 4},
                                {"ComplexFloat", 8},
                                {"ComplexDouble", 16},
                                {"Float8_e5m2", 1},
                                {"Float8_e4m3fn", 1},
                                {"Float8_e5m2fnuz", 1},
                                {"Float8_e4m3fnuz", 1}};

template <class Row, std::size_t Count>
std::vector<std::string> row_names(const Row (&rows)[Count]) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

struct KinetoBuild {
  JobGraph job;
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
        if (is_nccl_kernel(trace_, read)) make_communication(read, op);
      }
      program.add(op, made.deps);
    }
    return program;
  }

 private:
  [[noreturn]] void refuse(const KinetoOp& op, const std::string& reason) const {
    throw UserError(
        SourceLocation{.file = trace_.file},
        fmt::format("event {} ({}): {}", op.event, quoted(trace_.texts[at(op.name)]), reason));
  }

  std::uint64_t bytes_of(const KinetoOp& read, const KinetoCall& call) const {
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const SizedType& row) { return row.name == call.dtype; });
    if (type == std::end(kTypes)) {
      refuse(read, unknown_name_message("dtype", call.dtype, row_names(kTypes)));
    }
    if (!call.in_elements && !call.out_elements) {
      refuse(read,
             "it has neither \"In msg nelems\" nor \"Out msg nelems\"; expected the number "
             "of its elements");
    }
    std::int64_t most = 0;
    for (const auto& [key, elements] :
         {std::pair{"In msg nelems", call.in_elements}, {"Out msg nelems", call.out_elements}}) {
      if (!elements) continue;
      if (*elements < 0 || *elements > kMostElements) {
        refuse(read, fmt::format("its \"{}\" is {}; expected 0 to 2^48", key, *elements));
      }
      most = std::max(most, *elements);
    }
    return static_cast<std::uint64_t>(most) * type->bytes;
  }

  // Refuses ranks that the job does not have, of which check_job() cannot say where they come from.
  void check_ranks(const KinetoOp& read, const KinetoCall& call,
                   const std::vector<std::int32_t>& ranks) const {
    for (const std::int32_t rank : ranks) {
      if (rank >= 0 && at(rank) < build_.world.size()) continue;
      refuse(read, fmt::format("its process group {} has rank {}, but the job has {}{}",
                               quoted(call.group), rank, counted(build_.world.size(), "rank"),
                               trace_.world_size
                                   ? ""
                                   : ", one per trace, because distributedInfo with world_size is "
                                     "missing; expected it, or the traces of all ranks"));
    }
  }

  std::vector<std::int32_t> ranks_of(const KinetoOp& read, const KinetoCall& call) const {
    const auto world = static_cast<std::int64_t>(build_.world.size());
    auto listed = parse_rank_list(call.ranks);
    // PyTorch shortens long lists ("[0, 1, 2, ..., 62, 63]").
    if (!listed && !call.ranks.empty() && call.ranks.find("...") == std::string::npos) {
      refuse(read, fmt::format("its \"Process Group Ranks\" is {}; expected ranks like \"[0, 1]\"",
                               quoted(call.ranks)));
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
    if (!listed || listed->empty()) {
      refuse(read, fmt::format("the ranks of its process group {} are not in the trace (found {})",
                               quoted(call.group), quoted(call.ranks)));
    }
    if (call.group_size && *call.group_size != static_cast<std::int64_t>(listed->size())) {
      refuse(read, fmt::format("its process group {} has {} ranks, but its Group size is {}",
                               quoted(call.group), listed->size(), *call.group_size));
    }
    check_ranks(read, call, *listed);
    return *listed;
  }

  void make_communication(const KinetoOp& read, JobOp& op) {
    if (read.call < 0) {
      refuse(read,
             "it is a kernel of NCCL without \"Collective name\" and the sizes of its call; "
             "expected a trace of PyTorch 2.4 or later");
    }
    const KinetoCall& call = trace_.calls[at(read.call)];
    std::string name = call.collective;
    std::erase(name, '_');
    const bool sends = name == "send";
    const bool message = sends || name == "recv";
    const auto known = std::find_if(std::begin(kKinetoCollectives), std::end(kKinetoCollectives),
                                    [&](const NamedCollective& row) { return row.name == name; });
    if (!message && known == std::end(kKinetoCollectives)) {
      std::vector<std::string> names = row_names(kKinetoCollectives);
      names.insert(names.end(), {"send", "recv"});
      refuse(read, unknown_name_message("Collective name", call.collective, names));
    }
    const std::vector<std::int32_t> ranks = ranks_of(read, call);
    if (ranks.size() == 1) return;
    const bool described = !call.description.empty() && call.description != "undefined";
    op.seconds = 0;
    op.bytes = bytes_of(read, call);
    op.communicator = communicator(described ? call.description : call.group, ranks);
    if (message) {
      op.kind = sends ? JobOpKind::Send : JobOpKind::Recv;
      op.peer = peer(read, sends ? call.destination : call.source, sends, ranks);
      return;
    }
    op.kind = JobOpKind::Collective;
    op.collective = known->kind;
    if (known->name == "barrier") op.bytes = std::max(op.bytes, kLeastBarrierBytes);
  }

  std::int32_t peer(const KinetoOp& read, std::optional<std::int64_t> rank, bool sends,
                    const std::vector<std::int32_t>& ranks) const {
    const std::string_view word = sends ? "Dst Rank" : "Src Rank";
    if (!rank) refuse(read, fmt::format("it has no \"{}\"", word));
    const auto found = std::find(ranks.begin(), ranks.end(), *rank);
    if (found == ranks.end()) {
      refuse(read, fmt::format("its {} is {}, which is not in its process group", word, *rank));
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
  const RankProgram& program = job.program(source);
  for (const JobOp& op : program.ops) {
    if (op.kind == JobOpKind::Compute || op.kind == JobOpKind::Collective) continue;
    throw UserError(
        SourceLocation{.file = program.file},
        fmt::format("event {}: a step with messages cannot be replicated, because other "
                    "ranks have other peers; expected traces of all {} ranks",
                    op.origin, job.ranks));
  }
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    if (!given[at(rank)]) job.program_of[at(rank)] = job.program_of[at(source)];
  }
  const std::vector<std::int32_t> groups = job.groups_of[at(source)];
  for (std::size_t local = 0; local < groups.size(); ++local) {
    const ProcessGroup group = job.groups[at(groups[local])];
    const std::string name = job.communicators[at(group.communicator)].name;
    for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
      if (given[at(rank)] || job.groups_of[at(rank)].size() > local) continue;
      const auto own = mesh_group(group.ranks, rank, job.ranks);
      if (!own) {
        throw UserError(SourceLocation{.file = program.file},
                        fmt::format("the groups of {} cannot be inferred from that of rank {}, "
                                    "whose ranks are no row of a mesh; expected traces of all {} "
                                    "ranks",
                                    quoted(name), source, job.ranks));
      }
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

void refuse_missing(const std::vector<bool>& given, const std::string& first_file) {
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
      fmt::format("the job has {} ranks, but there is no trace of rank{} {}; expected a "
                  "trace of every rank, or replication of the ranks that have one",
                  given.size(), count == 1 ? "" : "s", missing));
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
  std::int32_t first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const KinetoTrace trace = trace_of(i);
    const SourceLocation where{.file = trace.file};
    const std::int64_t ranks = trace.world_size.value_or(static_cast<std::int64_t>(count));
    if (i == 0) {
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
    const std::int64_t rank = trace.rank.value_or(static_cast<std::int64_t>(i));
    if (rank < 0 || rank >= job.ranks) {
      throw UserError(
          where, fmt::format("its rank is {}, but the job has ranks 0 to {}", rank, job.ranks - 1));
    }
    if (given[at(rank)]) throw UserError(where, fmt::format("rank {} has two traces", rank));
    given[at(rank)] = true;
    if (i == 0 || rank < first) first = static_cast<std::int32_t>(rank);
    job.program_of[at(rank)] = static_cast<std::int32_t>(job.programs.size());
    KinetoRankBuilder builder(build, trace, static_cast<std::int32_t>(rank));
    job.programs.push_back(builder.program(step, options.idle));
  }
  if (options.replicate) {
    replicate(build, first, given);
  } else {
    refuse_missing(given, job.programs.front().file);
  }
  job.names = build.names.take();
  job.streams = build.streams.take();
  if (job.programs.size() > 1) equalise_alltoalls(job);
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
