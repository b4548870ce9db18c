// Consistency of a job: indices, numbers, cycles, and calls that match between ranks.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

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
    for (const std::int32_t group : groups) {
      if (group != -1 && !in_range(group, job.groups.size())) fail("a rank has an unknown group");
    }
  }
}

void check_numbers(const JobGraph& job, std::int32_t rank, std::int32_t index) {
  const JobOp& op = job.program(rank).ops[at(index)];
  const auto check = [&](double value, std::string_view what, std::string_view unit) {
    if (std::isfinite(value) && value >= 0) return;
    refuse(job, rank, index, fmt::format("{} is {} {}; expected a number >= 0", what, value, unit));
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
  for (std::size_t rank = 0; rank < member.size(); ++rank) {
    member[rank].resize(job.groups_of[rank].size());
  }
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    for (const std::int32_t rank : job.groups[g].ranks) {
      const std::vector<std::int32_t>& own = job.groups_of[at(rank)];
      const std::size_t c = at(job.groups[g].communicator);
      if (c < own.size() && own[c] == static_cast<std::int32_t>(g)) member[at(rank)][c] = true;
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
  if (op.kind == JobOpKind::Collective) {
    if (op.collective == CollectiveKind::Custom) refuse(job, rank, index, "it is no collective");
    if (is_rooted(op.collective)) check_member(op.root, "its root");
    return;
  }
  check_member(op.peer, "its peer");
  if (group.ranks[at(op.peer)] == rank) refuse(job, rank, index, "its peer is the rank itself");
}

// Calls of each group, as its first member makes them; the others are compared with these.
void check_collectives(const JobGraph& job) {
  struct Made {
    std::vector<std::int32_t> ops;  ///< of the group's first member
  };
  std::vector<Made> made(job.groups.size());
  std::vector<std::size_t> position(job.groups.size());
  std::vector<std::vector<std::int32_t>> orders;  // by program
  orders.reserve(job.programs.size());
  for (const RankProgram& program : job.programs) orders.push_back(execution_order(job, program));
  const auto each_call = [&](std::int32_t rank, auto&& visit) {
    const RankProgram& program = job.program(rank);
    for (const std::int32_t index : orders[at(job.program_of[at(rank)])]) {
      if (program.ops[at(index)].kind == JobOpKind::Collective) {
        visit(job.groups_of[at(rank)][at(program.ops[at(index)].communicator)], index);
      }
    }
  };
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    each_call(rank, [&](std::int32_t group, std::int32_t index) {
      if (job.groups[at(group)].ranks.front() == rank) made[at(group)].ops.push_back(index);
    });
  }
  const auto name_of = [&](std::int32_t group) {
    return quoted(job.communicators[at(job.groups[at(group)].communicator)].name);
  };
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    each_call(rank, [&](std::int32_t group, std::int32_t index) {
      const std::int32_t first = job.groups[at(group)].ranks.front();
      if (first == rank) return;
      const std::vector<std::int32_t>& expected = made[at(group)].ops;
      const std::size_t k = position[at(group)]++;
      if (k >= expected.size()) {
        refuse(job, rank, index,
               fmt::format("call {} on a group of communicator {} has no counterpart on rank {}, "
                           "which makes {}",
                           k + 1, name_of(group), first, expected.size()));
      }
      const JobOp& own = job.program(rank).ops[at(index)];
      const JobOp& other = job.program(first).ops[at(expected[k])];
      if (own.collective == other.collective && own.bytes == other.bytes &&
          own.root == other.root) {
        return;
      }
      refuse(job, rank, index,
             fmt::format("call {} on a group of communicator {} is {} of {} B, but rank {} makes "
                         "{} of {} B",
                         k + 1, name_of(group), to_string(own.collective), own.bytes, first,
                         to_string(other.collective), other.bytes));
    });
    for (const std::int32_t group : job.groups_of[at(rank)]) {
      if (group < 0) continue;
      const std::int32_t first = job.groups[at(group)].ranks.front();
      const std::vector<std::int32_t>& expected = made[at(group)].ops;
      const auto& members = job.groups[at(group)].ranks;
      if (rank != first && position[at(group)] < expected.size() &&
          std::find(members.begin(), members.end(), rank) != members.end()) {
        refuse(job, first, expected[position[at(group)]],
               fmt::format("call {} on a group of communicator {} has no counterpart on rank {}, "
                           "which makes {}",
                           position[at(group)] + 1, name_of(group), rank, position[at(group)]));
      }
      position[at(group)] = 0;
    }
  }
  // A member without the group in its table makes no calls.
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    for (const std::int32_t rank : job.groups[g].ranks) {
      const auto& own = job.groups_of[at(rank)];
      const bool listed =
          std::find(own.begin(), own.end(), static_cast<std::int32_t>(g)) != own.end();
      if (listed || made[g].ops.empty()) continue;
      refuse(job, job.groups[g].ranks.front(), made[g].ops.front(),
             fmt::format("rank {} is in the process group, but makes no call on it", rank));
    }
  }
}

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
    mix(static_cast<std::uint64_t>(op.seconds * 1e12));
  }
  for (const std::int32_t dependency : program.deps) mix(static_cast<std::uint64_t>(dependency));
  return hash;
}

bool same_content(const RankProgram& a, const RankProgram& b) {
  const auto same = [](const JobOp& x, const JobOp& y) {
    JobOp moved = x;
    moved.origin = y.origin;
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
  check_collectives(job);
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
