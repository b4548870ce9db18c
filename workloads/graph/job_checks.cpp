// Consistency of a job: indices, numbers, cycles, and calls that match between ranks.
#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/units.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

namespace {

[[noreturn]] void refuse(const JobGraph& job, std::int32_t rank, std::int32_t op,
                         const std::string& reason) {
  const RankProgram& program = job.program(rank);
  throw UserError(location_of(job, program, program.ops[at(op)]),
                  fmt::format("{}: {}", describe_op(job, rank, op), reason));
}

bool in_range(std::int32_t index, std::size_t size) { return index >= 0 && at(index) < size; }

void check_tables(const JobGraph& job) {
  const auto fail = [&](const std::string& reason) {
    throw UserError(fmt::format("job {}: {}", quoted(job.name), reason));
  };
  if (job.ranks < 1) fail(fmt::format("it has {} ranks, but needs at least one", job.ranks));
  if (job.program_of.size() != at(job.ranks) || job.groups_of.size() != at(job.ranks)) {
    fail("its tables have a wrong number of ranks");
  }
  for (const std::int32_t program : job.program_of) {
    if (!in_range(program, job.programs.size())) fail("a rank has no program");
  }
  std::vector<std::int32_t> seen_in(at(job.ranks), -1);
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    const ProcessGroup& group = job.groups[g];
    if (!in_range(group.communicator, job.communicators.size())) {
      fail(fmt::format("group {} has no communicator", g));
    }
    const std::string& name = job.communicators[at(group.communicator)].name;
    if (group.ranks.empty()) fail(fmt::format("a group of communicator {} is empty", quoted(name)));
    for (const std::int32_t rank : group.ranks) {
      if (!in_range(rank, at(job.ranks))) {
        fail(fmt::format("a group of communicator {} has rank {}, but the job has ranks 0 to {}",
                         quoted(name), rank, job.ranks - 1));
      }
      if (seen_in[at(rank)] == static_cast<std::int32_t>(g)) {
        fail(fmt::format("a group of communicator {} has rank {} twice", quoted(name), rank));
      }
      seen_in[at(rank)] = static_cast<std::int32_t>(g);
    }
  }
  for (const std::vector<std::int32_t>& groups : job.groups_of) {
    std::vector<std::int32_t> known;
    for (const std::int32_t group : groups) {
      if (group == -1) continue;
      if (!in_range(group, job.groups.size())) fail("a rank has an unknown group");
      known.push_back(group);
    }
    std::sort(known.begin(), known.end());
    if (std::adjacent_find(known.begin(), known.end()) != known.end()) {
      fail("a rank lists a group twice");
    }
  }
}

void check_numbers(const JobGraph& job, std::int32_t rank, std::int32_t index) {
  const JobOp& op = job.program(rank).ops[at(index)];
  const auto check = [&](double value, std::string_view what, std::string_view unit) {
    constexpr double kMost = 1e24;  // in any unit, more than any computer does
    if (value >= 0 && value <= kMost) return;
    refuse(job, rank, index,
           fmt::format("{} is {} {}; expected a number from 0 to {:g}", what, value, unit, kMost));
  };
  check(op.seconds, "its duration", "s");
  check(op.flop, "its work", "FLOP");
  check(op.memory_bytes, "its memory traffic", "B");
  if (!in_range(op.stream, job.streams.size())) refuse(job, rank, index, "it has no stream");
  if (!in_range(op.name, job.names.size())) refuse(job, rank, index, "it has no name");
}

// By rank and communicator: true if the rank is in its group. One pass over all groups, because a
// search per operation would take time in proportion to operations times ranks.
std::vector<std::vector<bool>> memberships(const JobGraph& job) {
  std::vector<std::vector<bool>> member(at(job.ranks));
  std::vector<std::vector<std::int32_t>> groups_of(at(job.ranks));  // that list the rank, ascending
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    for (const std::int32_t rank : job.groups[g].ranks) {
      groups_of[at(rank)].push_back(static_cast<std::int32_t>(g));
    }
  }
  for (std::size_t rank = 0; rank < member.size(); ++rank) {
    for (const std::int32_t group : job.groups_of[rank]) {
      member[rank].push_back(
          std::binary_search(groups_of[rank].begin(), groups_of[rank].end(), group));
    }
  }
  return member;
}

void check_group(const JobGraph& job, std::int32_t rank, std::int32_t index,
                 const std::vector<bool>& memberships_of_rank) {
  const JobOp& op = job.program(rank).ops[at(index)];
  const auto& groups = job.groups_of[at(rank)];
  if (!in_range(op.communicator, groups.size()) || groups[at(op.communicator)] < 0) {
    refuse(job, rank, index, "the rank has no such communicator");
  }
  const ProcessGroup& group = job.group(rank, op);
  if (!memberships_of_rank[at(op.communicator)]) {
    refuse(job, rank, index, "the rank is not in this process group");
  }
  const auto check_member = [&](std::int32_t member, std::string_view what) {
    if (in_range(member, group.ranks.size())) return;
    refuse(job, rank, index,
           fmt::format("{} is {}, but the process group has ranks 0 to {}", what, member,
                       group.ranks.size() - 1));
  };
  if (op.bytes == 0) refuse(job, rank, index, "its size is 0; expected at least 1 byte");
  if (op.bytes > kMostCallBytes) {
    refuse(job, rank, index,
           fmt::format("its size is {} bytes; expected at most {}", op.bytes,
                       format_bytes(kMostCallBytes)));
  }
  if (op.kind == JobOpKind::Collective) {
    if (op.collective == CollectiveKind::Custom) refuse(job, rank, index, "it is no collective");
    if (is_rooted(op.collective)) check_member(op.root, "its root");
    return;
  }
  check_member(op.peer, "its peer");
  if (group.ranks[at(op.peer)] == rank) refuse(job, rank, index, "its peer is the rank itself");
}

// Root of a rooted collective, for messages.
std::string root_text(const JobOp& op) {
  return is_rooted(op.collective) ? fmt::format(" with root {}", op.root) : "";
}

// Compares the calls of each group's members with those of its first member.
class CollectiveChecks {
 public:
  explicit CollectiveChecks(const JobGraph& job) : job_(job), calls_(job.programs.size()) {
    for (std::size_t program = 0; program < job.programs.size(); ++program) {
      const RankProgram& own = job.programs[program];
      (void)execution_order(job, own);  // there is one
      for (std::int32_t index = 0; index < own.size(); ++index) {
        const JobOp& op = own.ops[at(index)];
        if (op.kind == JobOpKind::Collective) calls_[program][op.communicator].push_back(index);
      }
    }
  }

  void run() {
    for (std::size_t g = 0; g < job_.groups.size(); ++g) {
      const ProcessGroup& group = job_.groups[g];
      const Caller first = caller(static_cast<std::int32_t>(g), group.ranks.front());
      for (const std::int32_t rank : group.ranks) {
        const Caller own = caller(static_cast<std::int32_t>(g), rank);
        if (own.program == first.program && own.slot == first.slot) continue;
        if (!equal_.contains({first.program, first.slot, own.program, own.slot})) {
          compare(group, first, own);
          equal_.insert({first.program, first.slot, own.program, own.slot});
        }
      }
    }
  }

 private:
  // A member of a group: its program, and the group's place in JobGraph::groups_of.
  struct Caller {
    std::int32_t rank;
    std::int32_t program;
    std::int32_t slot;
  };

  [[nodiscard]] Caller caller(std::int32_t group, std::int32_t rank) const {
    const auto& groups = job_.groups_of[at(rank)];
    const auto found = std::find(groups.begin(), groups.end(), group);
    return {rank, job_.program_of[at(rank)],
            found == groups.end() ? -1 : static_cast<std::int32_t>(found - groups.begin())};
  }
  [[nodiscard]] const std::vector<std::int32_t>& calls_of(const Caller& caller) const {
    static const std::vector<std::int32_t> none;
    const auto& own = calls_[at(caller.program)];
    const auto found = own.find(caller.slot);
    return found == own.end() ? none : found->second;
  }

  void compare(const ProcessGroup& group, const Caller& first, const Caller& own) const {
    const std::vector<std::int32_t>& expected = calls_of(first);
    const std::vector<std::int32_t>& made = calls_of(own);
    const std::string name = quoted(job_.communicators[at(group.communicator)].name);
    for (std::size_t k = 0; k < std::min(made.size(), expected.size()); ++k) {
      const JobOp& call = job_.program(own.rank).ops[at(made[k])];
      const JobOp& other = job_.program(first.rank).ops[at(expected[k])];
      if (call.collective == other.collective && call.bytes == other.bytes &&
          call.root == other.root) {
        continue;
      }
      refuse(job_, own.rank, made[k],
             fmt::format("call {} on a group of communicator {} is {} of {} B{}, but rank {} makes "
                         "{} of {} B{}",
                         k + 1, name, to_string(call.collective), call.bytes, root_text(call),
                         first.rank, to_string(other.collective), other.bytes, root_text(other)));
    }
    const auto refuse_missing = [&](const Caller& caller, std::int32_t op, std::size_t k,
                                    const Caller& other, std::size_t others) {
      refuse(job_, caller.rank, op,
             fmt::format("call {} on a group of communicator {} has no counterpart on rank {}, "
                         "which makes {}",
                         k + 1, name, other.rank, others));
    };
    if (made.size() > expected.size()) {
      refuse_missing(own, made[expected.size()], expected.size(), first, expected.size());
    }
    if (expected.size() > made.size()) {
      refuse_missing(first, expected[made.size()], made.size(), own, made.size());
    }
  }

  const JobGraph& job_;
  std::vector<std::map<std::int32_t, std::vector<std::int32_t>>> calls_;  ///< by program, by slot
  std::set<std::array<std::int32_t, 4>> equal_;
};

void check_messages(const JobGraph& job) {
  struct Ends {
    std::vector<std::pair<std::int32_t, std::int32_t>> sends;  ///< (rank, operation)
    std::vector<std::pair<std::int32_t, std::int32_t>> recvs;
  };
  // (group, sender, receiver, tag)
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>, Ends> channels;
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    const RankProgram& program = job.program(rank);
    for (std::int32_t index = 0; index < program.size(); ++index) {
      const JobOp& op = program.ops[at(index)];
      if (op.kind != JobOpKind::Send && op.kind != JobOpKind::Recv) continue;
      const std::int32_t group = job.groups_of[at(rank)][at(op.communicator)];
      const std::int32_t peer = job.groups[at(group)].ranks[at(op.peer)];
      if (op.kind == JobOpKind::Send) {
        channels[{group, rank, peer, op.tag}].sends.emplace_back(rank, index);
      } else {
        channels[{group, peer, rank, op.tag}].recvs.emplace_back(rank, index);
      }
    }
  }
  for (const auto& [key, ends] : channels) {
    const auto& [group, sender, receiver, tag] = key;
    const std::size_t both = std::min(ends.sends.size(), ends.recvs.size());
    for (std::size_t k = 0; k < both; ++k) {
      const auto [from, send] = ends.sends[k];
      const auto [to, recv] = ends.recvs[k];
      const std::uint64_t sent = job.program(from).ops[at(send)].bytes;
      const std::uint64_t expected = job.program(to).ops[at(recv)].bytes;
      if (sent == expected) continue;
      refuse(job, to, recv,
             fmt::format("it receives {} B, but rank {} sends {} B", expected, from, sent));
    }
    if (ends.sends.size() > both) {
      refuse(job, sender, ends.sends[both].second,
             fmt::format("rank {} has no matching receive (tag {})", receiver, tag));
    }
    if (ends.recvs.size() > both) {
      refuse(job, receiver, ends.recvs[both].second,
             fmt::format("rank {} has no matching send (tag {})", sender, tag));
    }
  }
}

// Hash of a program without the places that it was read from.
std::uint64_t content_hash(const RankProgram& program) {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  for (const JobOp& op : program.ops) {
    mix(at(op.kind));
    mix(static_cast<std::uint64_t>(op.stream));
    mix(static_cast<std::uint64_t>(op.communicator));
    mix(op.bytes);
    mix(std::bit_cast<std::uint64_t>(op.seconds));
  }
  for (const std::int32_t dependency : program.deps) mix(static_cast<std::uint64_t>(dependency));
  return hash;
}

bool same_content(const RankProgram& a, const RankProgram& b) {
  const auto same = [](const JobOp& x, const JobOp& y) {
    JobOp moved = x;
    moved.origin = y.origin;
    moved.origin_column = y.origin_column;
    return moved == y;
  };
  return a.dep_begin == b.dep_begin && a.deps == b.deps &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same);
}

}  // namespace

std::vector<std::int32_t> execution_order(const JobGraph& job, const RankProgram& program) {
  const std::size_t count = program.ops.size();
  std::vector<std::int32_t> waits(count, 0);
  std::vector<std::uint32_t> next_begin(count + 1, 0);
  for (const std::int32_t dependency : program.deps) ++next_begin[at(dependency) + 1];
  for (std::size_t i = 0; i < count; ++i) next_begin[i + 1] += next_begin[i];
  std::vector<std::int32_t> next(program.deps.size());
  std::vector<std::uint32_t> fill(next_begin.begin(), next_begin.end() - 1);
  std::vector<std::int32_t> last_on(job.streams.size(), -1);
  std::vector<std::int32_t> after(count, -1);  // next operation on the stream
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t d = program.dep_begin[i]; d < program.dep_begin[i + 1]; ++d) {
      next[fill[at(program.deps[d])]++] = static_cast<std::int32_t>(i);
      ++waits[i];
    }
    std::int32_t& last = last_on[at(program.ops[i].stream)];
    if (last >= 0) {
      after[at(last)] = static_cast<std::int32_t>(i);
      ++waits[i];
    }
    last = static_cast<std::int32_t>(i);
  }
  std::vector<std::int32_t> order;
  order.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) order.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t done = at(order[i]);
    const auto release = [&](std::int32_t op) {
      if (--waits[at(op)] == 0) order.push_back(op);
    };
    for (std::uint32_t n = next_begin[done]; n < next_begin[done + 1]; ++n) release(next[n]);
    if (after[done] >= 0) release(after[done]);
  }
  if (order.size() < count) {
    const auto stuck = static_cast<std::size_t>(
        std::find_if(waits.begin(), waits.end(), [](std::int32_t w) { return w > 0; }) -
        waits.begin());
    const JobOp& op = program.ops[stuck];
    std::string name = job.names.empty() ? "" : job.names[at(op.name)];
    throw UserError(
        location_of(job, program, op),
        fmt::format("operation {}{} waits for itself through its dependencies and the order of "
                    "its stream",
                    quoted(name),
                    op.origin > 0 ? fmt::format(" ({} {})", job.origin_word, op.origin) : ""));
  }
  return order;
}

void check_job(const JobGraph& job) {
  check_tables(job);
  const std::vector<std::vector<bool>> member = memberships(job);
  std::vector<bool> checked(job.programs.size());
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    const RankProgram& program = job.program(rank);
    const bool first = !checked[at(job.program_of[at(rank)])];
    checked[at(job.program_of[at(rank)])] = true;
    if (first && (program.dep_begin.size() != program.ops.size() + 1 ||
                  program.dep_begin.back() != program.deps.size())) {
      throw UserError(fmt::format("job {}: the dependencies of rank {} are inconsistent",
                                  quoted(job.name), rank));
    }
    for (std::int32_t index = 0; index < program.size(); ++index) {
      if (first) {
        check_numbers(job, rank, index);
        for (std::uint32_t d = program.dep_begin[at(index)]; d < program.dep_begin[at(index) + 1];
             ++d) {
          if (in_range(program.deps[d], program.ops.size())) continue;
          refuse(job, rank, index, "it waits for an operation that does not exist");
        }
      }
      if (program.ops[at(index)].kind != JobOpKind::Compute)
        check_group(job, rank, index, member[at(rank)]);
    }
  }
  CollectiveChecks(job).run();
  check_messages(job);
}

void merge_equal_programs(JobGraph& job) {
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> kept;  // by hash: new indices
  std::vector<RankProgram> programs;
  std::vector<std::int32_t> new_index(job.programs.size());
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    std::vector<std::int32_t>& same = kept[content_hash(job.programs[i])];
    const auto equal = std::find_if(same.begin(), same.end(), [&](std::int32_t known) {
      return same_content(programs[at(known)], job.programs[i]);
    });
    if (equal != same.end()) {
      new_index[i] = *equal;
      continue;
    }
    new_index[i] = static_cast<std::int32_t>(programs.size());
    same.push_back(new_index[i]);
    programs.push_back(std::move(job.programs[i]));
  }
  job.programs = std::move(programs);
  for (std::int32_t& program : job.program_of) program = new_index[at(program)];
}

}  // namespace cclgym
