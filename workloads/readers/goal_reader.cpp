#include "workloads/readers/goal_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/files/text_file.hpp"
#include "workloads/readers/goal_order.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxLanes = 4096;     // streams for messages, per rank
constexpr std::size_t kMaxCandidates = 16;  // lanes that an operation is known to follow

// Builds the programs of a schedule whose operations are in order.
class GoalBuilder {
 public:
  GoalBuilder(const GoalSchedule& schedule, const GoalEdges& waits_for, JobGraph& job)
      : schedule_(schedule),
        waits_for_(waits_for),
        job_(job),
        index_(schedule.ops.size(), -1),
        start_index_(schedule.ops.size(), -1),
        has_start_(schedule.ops.size()),
        after_(schedule.ops.size()),
        pending_(schedule.ops.size()),
        ranks_(job.programs.size()) {
    for (const GoalDependency& one : schedule.dependencies) {
      if (one.start) has_start_[one.on] = true;
      ++pending_[one.on];
    }
  }

  void add(std::uint32_t op) {
    const GoalOp& one = schedule_.ops[op];
    std::vector<std::int32_t> dependencies;
    std::vector<Candidate> follows;
    for (std::uint32_t e = waits_for_.begin[op]; e < waits_for_.begin[op + 1]; ++e) {
      const std::uint32_t on = waits_for_.other[e];
      const bool start = waits_for_.start[e];
      dependencies.push_back(start ? start_index_[on] : index_[on]);
      // The start of a message does not say that its stream is free again.
      if (!start || schedule_.ops[on].kind == GoalOpKind::Calc) append(follows, after_[on], one);
      if (--pending_[on] == 0) std::vector<Candidate>().swap(after_[on]);
    }
    JobOp made{.origin = one.line};
    if (one.kind == GoalOpKind::Calc) {
      made.seconds = static_cast<double>(one.size) / 1e9;
      made.stream = cpu_stream(one.cpu);
      after_[op] = std::move(follows);
    } else {
      made.kind = one.kind == GoalOpKind::Send ? JobOpKind::Send : JobOpKind::Recv;
      made.communicator = 0;
      made.bytes = std::max<std::uint64_t>(one.size, 1);
      made.peer = one.peer;
      made.tag = one.tag;
      const std::uint32_t lane = take_lane(op, follows);
      made.stream = ranks_[static_cast<std::size_t>(one.rank)].lanes[lane].stream;
      after_[op] = {{lane, op}};
    }
    made.name = kind_name(one.kind);
    if (pending_[op] == 0) std::vector<Candidate>().swap(after_[op]);
    RankProgram& program = job_.programs[static_cast<std::size_t>(one.rank)];
    if (has_start_[op]) {
      const JobOp marker{.stream = made.stream, .name = start_name(), .origin = one.line};
      start_index_[op] = program.add(marker, dependencies);
      dependencies.clear();  // the stream keeps the order
    }
    index_[op] = program.add(made, dependencies);
  }

 private:
  struct Lane {
    std::uint32_t last = 0;  ///< its last operation
    std::int32_t stream = 0;
    std::uint8_t nic = 0;
  };
  // A lane of the rank that is free when an operation is done, if `last` is still its last one.
  struct Candidate {
    std::uint32_t lane = 0;
    std::uint32_t last = 0;
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  struct Rank {
    std::vector<Lane> lanes;
    std::vector<std::int32_t> lanes_of_nic;
    std::size_t next = 0;  ///< lane that is shared next
  };

  void append(std::vector<Candidate>& follows, const std::vector<Candidate>& more,
              const GoalOp& op) const {
    const std::vector<Lane>& lanes = ranks_[static_cast<std::size_t>(op.rank)].lanes;
    for (const Candidate& one : more) {
      if (follows.size() == kMaxCandidates) return;
      if (lanes[one.lane].last != one.last) continue;
      if (std::find(follows.begin(), follows.end(), one) == follows.end()) follows.push_back(one);
    }
  }

  std::uint32_t take_lane(std::uint32_t op, const std::vector<Candidate>& follows) {
    const GoalOp& one = schedule_.ops[op];
    Rank& rank = ranks_[static_cast<std::size_t>(one.rank)];
    for (const Candidate& candidate : follows) {
      Lane& lane = rank.lanes[candidate.lane];
      if (lane.nic != one.nic || lane.last != candidate.last) continue;
      lane.last = op;
      return candidate.lane;
    }
    if (rank.lanes.size() == kMaxLanes) {
      const std::size_t shared = rank.next++ % kMaxLanes;
      rank.lanes[shared].last = op;
      return static_cast<std::uint32_t>(shared);
    }
    if (rank.lanes_of_nic.size() <= one.nic) rank.lanes_of_nic.resize(std::size_t{one.nic} + 1);
    const std::int32_t number = rank.lanes_of_nic[one.nic]++;
    rank.lanes.push_back({op, lane_stream(one.nic, number), one.nic});
    return static_cast<std::uint32_t>(rank.lanes.size() - 1);
  }

  std::int32_t new_stream(std::string name) {
    job_.streams.push_back(std::move(name));
    return static_cast<std::int32_t>(job_.streams.size() - 1);
  }
  std::int32_t cpu_stream(std::uint8_t cpu) {
    const auto [entry, added] = cpu_streams_.try_emplace(cpu);
    if (added) entry->second = new_stream(fmt::format("cpu {}", cpu));
    return entry->second;
  }
  std::int32_t lane_stream(std::uint8_t nic, std::int32_t number) {
    const auto [entry, added] =
        lane_streams_.try_emplace((std::uint64_t{nic} << 32) | static_cast<std::uint32_t>(number));
    if (added) entry->second = new_stream(fmt::format("nic {} lane {}", nic, number));
    return entry->second;
  }
  std::int32_t kind_name(GoalOpKind kind) { return job_.name_index(to_string(kind)); }
  std::int32_t start_name() { return job_.name_index("start"); }

  const GoalSchedule& schedule_;
  const GoalEdges& waits_for_;
  JobGraph& job_;
  std::vector<std::int32_t> index_;        ///< by operation: its index in its program
  std::vector<std::int32_t> start_index_;  ///< by operation: index of the operation at its start
  std::vector<bool> has_start_;
  std::vector<std::vector<Candidate>> after_;  ///< lanes that are free after an operation
  std::vector<std::uint32_t> pending_;         ///< operations that will wait for it
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint8_t, std::int32_t> cpu_streams_;
  std::unordered_map<std::uint64_t, std::int32_t> lane_streams_;
};

}  // namespace

JobGraph read_goal(std::string_view text, const std::string& file, const JobLimits& limits) {
  const GoalSchedule schedule = parse_goal(text, file, limits);
  const GoalEdges waits_for = goal_edges(schedule, true);
  const std::vector<std::uint32_t> order = goal_order(schedule, waits_for, text, file);
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  JobGraph job;
  job.name = std::filesystem::path(file).stem().string();
  job.ranks = schedule.ranks;
  job.communicators = {{.name = "world"}};
  job.groups = {{.communicator = 0, .ranks = std::vector<std::int32_t>(ranks)}};
  std::iota(job.groups[0].ranks.begin(), job.groups[0].ranks.end(), 0);
  job.groups_of.assign(ranks, {0});
  job.programs.resize(ranks);
  for (RankProgram& program : job.programs) program.file = file;
  job.program_of = job.groups[0].ranks;
  GoalBuilder builder(schedule, waits_for, job);
  for (const std::uint32_t op : order) builder.add(op);
  // The message names the line of a program that was kept; the reader has checked what could
  // differ.
  merge_equal_programs(job);
  check_job(job);
  return job;
}

JobGraph read_goal_file(const std::string& path, const JobLimits& limits) {
  return read_goal(read_text_file(path, limits.goal_bytes), path, limits);
}

}  // namespace cclgym
