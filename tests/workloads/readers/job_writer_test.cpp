// Round trip of random jobs through YAML.
#include <fmt/format.h>
#include <set>
#include <string>

#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "workloads/readers/goal_reader.hpp"
#include "workloads/readers/job_file.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// All that a job says about its ranks, without the order of its tables.
std::string meaning(const JobGraph& job) {
  std::string text = fmt::format("{} {}\n", job.name, job.ranks);
  for (const Communicator& one : job.communicators) {
    text += fmt::format("{} {}\n", one.name, one.tuner);
  }
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    for (const std::int32_t group : job.groups_of[at(rank)]) {
      if (group < 0) continue;
      text += fmt::format("{}:", job.groups[at(group)].communicator);
      for (const std::int32_t member : job.groups[at(group)].ranks)
        text += fmt::format(" {}", member);
    }
    const RankProgram& program = job.program(rank);
    for (std::int32_t i = 0; i < program.size(); ++i) {
      const JobOp& op = program.ops[at(i)];
      text += fmt::format("\n{} {} {} {} {} {} {} {} {} {} {} {} after", to_string(op.kind),
                          job.streams[at(op.stream)], job.names[at(op.name)], op.seconds, op.flop,
                          op.memory_bytes, static_cast<int>(op.collective), op.communicator,
                          op.bytes, op.root, op.peer, op.tag);
      for (std::uint32_t d = program.dep_begin[at(i)]; d < program.dep_begin[at(i) + 1]; ++d) {
        text += fmt::format(" {}", program.deps[d]);
      }
    }
    text += "\n";
  }
  return text;
}

// Ranks in pairs ("tp: x") and one group of all; all ranks make the same calls, and each pair
// exchanges messages.
JobGraph random_job(Random& random) {
  const std::vector<std::string> names{"a", "b: c", "#1", "- \"x\"\n", "é", "allreduce", "compute"};
  JobGraph job;
  job.name = names[at(random.integer(0, 6))];
  job.ranks = 2 * static_cast<std::int32_t>(random.integer(1, 3));
  job.communicators = {{"all", ""}, {"tp: x", random.uniform() < 0.5 ? "ring/LL/2" : ""}};
  ProcessGroup all{0, {}};
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) all.ranks.push_back(job.ranks - 1 - rank);
  job.groups.push_back(all);
  for (std::int32_t pair = 0; pair < job.ranks / 2; ++pair) {
    job.groups.push_back({1, {2 * pair, 2 * pair + 1}});
  }
  const std::int32_t steps = static_cast<std::int32_t>(random.integer(0, 12));
  const std::uint64_t seed = random();
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    job.groups_of.push_back({0, 1 + rank / 2});
    job.program_of.push_back(rank);
    Random shared(seed);  // the same draws on every rank
    RankProgram program;
    for (std::int32_t i = 0; i < steps; ++i) {
      JobOp op;
      const double kind = shared.uniform();
      const std::uint64_t bytes = 1 + (shared() >> shared.integer(21, 63));
      const auto collective =
          all_collectives()[at(shared.integer(0, std::ssize(all_collectives()) - 1))];
      const std::int64_t root = shared.integer(0, job.ranks - 1);
      const std::int64_t tag = shared.integer(0, 2);
      if (kind < 0.3) {
        op.seconds = random.uniform() < 0.2 ? 0 : random.exponential(1e-3);
      } else if (kind < 0.5) {
        op.flop = random.exponential(1e12);
        op.memory_bytes = static_cast<double>(random.integer(0, 1 << 30));
      } else if (kind < 0.8) {
        op.kind = JobOpKind::Collective;
        op.communicator = 0;
        op.collective = collective;
        op.bytes = bytes;
        if (is_rooted(op.collective)) op.root = static_cast<std::int32_t>(root);
      } else {
        op.kind = rank % 2 == 0 ? JobOpKind::Send : JobOpKind::Recv;
        op.communicator = 1;
        op.bytes = bytes;
        op.peer = 1 - rank % 2;
        op.tag = static_cast<std::int32_t>(tag);
      }
      op.name = job.name_index(names[at(random.integer(0, 6))]);
      // The order of a group's calls must be the same on all ranks, so they share a stream.
      const std::int64_t stream = op.kind == JobOpKind::Collective ? 1 : shared.integer(0, 3);
      op.stream = job.stream_index(stream == 0 ? "compute" : stream == 1 ? "all" : "s, t");
      std::vector<std::int32_t> dependencies;
      while (i > 0 && random.uniform() < 0.4) {
        dependencies.push_back(static_cast<std::int32_t>(random.integer(0, i - 1)));
      }
      program.add(op, dependencies);
    }
    // Now and then, an operation waits for a later one on a stream of its own.
    if (steps > 0 && random.uniform() < 0.3) {
      program.deps.push_back(steps);
      program.dep_begin.back() += 1;
      JobOp late{.stream = job.stream_index("late"), .name = job.name_index("late")};
      late.seconds = 1;
      program.add(late);
    }
    job.programs.push_back(program);
  }
  return job;
}

}  // namespace

TEST_CASE("a job that is written reads back as the same job", "[workloads][readers][job]") {
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    JobGraph job = random_job(random);
    check_job(job);
    const std::string text = write_job(job);
    INFO(text);
    const JobGraph again = read_job(parse_yaml(text, "again.yaml"));
    CHECK(meaning(again) == meaning(job));
    merge_equal_programs(job);
    CHECK(again.programs.size() == job.programs.size());
    CHECK(write_job(again) == write_job(read_job(parse_yaml(write_job(again), "third.yaml"))));
    sizes.insert(again.programs.size());
  }
  CHECK(sizes.size() > 2);
}

TEST_CASE("a GOAL schedule can be written as a job file", "[workloads][readers][job]") {
  const JobGraph job = read_goal(
      "num_ranks 2\nrank 0 {\na: calc 10\nb: send 3b to 1\nc: calc 5\nb requires a\n"
      "c irequires b\n}\nrank 1 { recv 3b from 0 }",
      "s.goal");
  const std::string text = write_job(job);
  INFO(text);
  CHECK(meaning(read_job(parse_yaml(text, "again.yaml"))) == meaning(job));
}

TEST_CASE("ranges of ranks are short in job files", "[workloads][readers][job]") {
  JobGraph job;
  job.name = "idle";
  job.ranks = 25'000;
  job.communicators = {{"all"}};
  job.groups = {{0, {}}};
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) job.groups[0].ranks.push_back(rank);
  job.groups_of.assign(at(job.ranks), {0});
  job.programs.resize(1);
  job.program_of.assign(at(job.ranks), 0);
  const std::string text = write_job(job);
  CHECK(contains(text, "- [0..9999, 10000..19999, 20000..24999]\n"));
  CHECK(contains(text, "ops: []"));
  const JobGraph again = read_job(parse_yaml(text, "again.yaml"));
  CHECK(again.groups == job.groups);
  CHECK(again.program_of == job.program_of);
}

TEST_CASE("a computation with a duration and FLOP cannot be written", "[workloads][readers][job]") {
  JobGraph job;
  job.ranks = 1;
  job.name = "x";
  job.groups_of = {{}};
  job.program_of = {0};
  job.programs.resize(1);
  JobOp op{.stream = job.stream_index("compute"), .name = job.name_index("both")};
  op.seconds = 1;
  op.flop = 1;
  job.programs[0].add(op);
  CHECK(contains(thrown([&] { return write_job(job); }), "operation 'both' cannot be written"));
}
