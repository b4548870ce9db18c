// Folded jobs: the same dates as with every rank on its own.
#include "support/catch.hpp"
#include "workloads/timing/job_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// Tensor-parallel groups of `tp` neighbours, `pp` stages, data parallelism over the rest; every
// stage has its own program. Ranks: tp fastest, then dp, then pp.
JobGraph three_dimensions(int tp, int dp, int pp, int batches) {
  const int ranks = tp * dp * pp;
  JobGraph job{.name = "3d", .ranks = ranks};
  job.communicators = {{"tp"}, {"dp"}, {"pp"}};
  job.streams = {"compute", "dp", "send", "receive"};
  job.names = {""};
  job.groups_of.assign(at(ranks), {-1, -1, -1});
  const auto rank_at = [&](int t, int d, int p) { return t + tp * (d + dp * p); };
  const auto add = [&](int communicator, const std::vector<int>& members) {
    for (const int rank : members) {
      job.groups_of[at(rank)][at(communicator)] = static_cast<std::int32_t>(job.groups.size());
    }
    job.groups.push_back({communicator, {members.begin(), members.end()}});
  };
  for (int p = 0; p < pp; ++p) {
    for (int d = 0; d < dp; ++d) {
      std::vector<int> members;
      for (int t = 0; t < tp; ++t) members.push_back(rank_at(t, d, p));
      add(0, members);
    }
    for (int t = 0; t < tp; ++t) {
      std::vector<int> members;
      for (int d = 0; d < dp; ++d) members.push_back(rank_at(t, d, p));
      add(1, members);
    }
  }
  for (int d = 0; d < dp; ++d) {
    for (int t = 0; t < tp; ++t) {
      std::vector<int> members;
      for (int p = 0; p < pp; ++p) members.push_back(rank_at(t, d, p));
      add(2, members);
    }
  }
  for (int p = 0; p < pp; ++p) {
    RankProgram program;
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<std::int32_t> needs;
      if (p > 0) needs.push_back(program.add(message_on(JobOpKind::Recv, p - 1, 8 << 20, 3, 2)));
      program.add({.flop = 4e11, .memory_bytes = 1e9}, needs);
      const auto called = program.add(call_on(CollectiveKind::AllReduce, 16 << 20, 0, 0));
      if (p + 1 < pp) {
        program.add(message_on(JobOpKind::Send, p + 1, 8 << 20, 2, 2), {called});
      }
      if (batch % 2 == 1) {
        program.add(call_on(CollectiveKind::AllReduce, 64 << 20, 1, 1), {called});
      }
    }
    job.programs.push_back(program);
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank / (tp * dp) == p) job.program_of.push_back(p);
    }
  }
  return job;
}

}  // namespace

TEST_CASE("a folded job has the dates of the job with all its ranks", "[workloads][folding]") {
  for (const auto& [tp, dp, pp] : {std::tuple{8, 4, 2}, std::tuple{4, 4, 2}, std::tuple{2, 4, 4},
                                   std::tuple{1, 8, 4}, std::tuple{8, 1, 4}}) {
    for (const std::string tuner : {"nccl-default:2.18", "ring/Simple/4", "tree/LL128/2"}) {
      const JobGraph job = three_dimensions(tp, dp, pp, 4);
      const auto fabric = fabric_of("ndv4", (job.ranks + 7) / 8 * 8);
      JobSettings settings{.engine = "flow", .detail = JobDetail::Calls};
      settings.tuners.job = tuner;
      const CostModel model = shipped_cost_model("a100");
      const JobRecord all = simulate_job(job, fabric, model, settings);
      settings.fold = true;
      const JobRecord folded = simulate_job(job, fabric, model, settings);
      CAPTURE(tp, dp, pp, tuner, folded.lowered.classes.count());
      CHECK(folded.lowered.classes.folded());
      CHECK(same_date(all.step_time_s, folded.step_time_s));
      CHECK(all.calls == folded.calls);
      bool same = true;
      for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
        const auto actor = at(folded.lowered.classes.class_of[at(rank)]);
        for (std::int32_t op = 0; op < job.program(rank).size(); ++op) {
          same = same && same_date(all.end_s[all.lowered.first_op[at(rank)] + at(op)],
                                   folded.end_s[folded.lowered.first_op[actor] + at(op)]);
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("a link of a folded job says for how many it stands", "[workloads][folding]") {
  const auto fabric = fabric_of("ndv4", 32);
  const JobGraph job = three_dimensions(8, 2, 2, 2);
  JobSettings settings{.detail = JobDetail::Calls, .intervals = 1};
  const JobRecord all = simulate_job(job, fabric, shipped_cost_model("a100"), settings);
  settings.fold = true;
  const JobRecord folded = simulate_job(job, fabric, shipped_cost_model("a100"), settings);
  REQUIRE(folded.lowered.classes.folded());
  std::int32_t links = 0;
  std::int32_t used = 0;
  double bytes = 0;
  double all_bytes = 0;
  for (std::size_t link = 0; link < fabric->links().size(); ++link) {
    const std::int32_t count = folded.lowered.classes.links_like(link);
    links += count;
    if (folded.series.bytes[link] > 0) used += count;
    bytes += count * folded.series.bytes[link];
    all_bytes += all.series.bytes[link];
    if (all.series.bytes[link] > 0) --used;
  }
  CHECK(links == std::ssize(fabric->links()));
  CHECK(used == 0);
  CHECK(bytes == Approx(all_bytes));
}

TEST_CASE("calls of two communicators of the same ranks stay apart", "[workloads][folding]") {
  const auto fabric = fabric_of("ndv4", 8);
  const CostModel model = shipped_cost_model("a100");
  for (const std::string tuner : {"ring/Simple/8", "ring/LL128/2", "all-pairs/Simple/4"}) {
    JobGraph job = empty_job(8);
    std::vector<int> all;
    for (int rank = 0; rank < 8; ++rank) all.push_back(rank);
    const auto other = add_group(job, "other", all);
    job.streams = {"a", "b"};
    for (RankProgram& program : job.programs) {
      program.add(call_on(CollectiveKind::AllReduce, 64 << 20, 0));
      program.add(call_on(CollectiveKind::AllReduce, 64 << 20, 1, other));
    }
    merge_equal_programs(job);
    JobSettings settings{.detail = JobDetail::Calls, .tuners = {.job = tuner}};
    const double apart_s = simulate_job(job, fabric, model, settings).step_time_s;
    settings.fold = true;
    const JobRecord folded = simulate_job(job, fabric, model, settings);
    settings = {.tuners = {.job = tuner}};
    const double messages_s = simulate_job(job, fabric, model, settings).step_time_s;
    CAPTURE(tuner, apart_s, folded.step_time_s, messages_s);
    CHECK(folded.lowered.classes.count() == 1);
    CHECK(same_date(folded.step_time_s, apart_s));
    CHECK(folded.step_time_s == Approx(messages_s).epsilon(0.2));
  }
}

TEST_CASE("ranks that exchange messages with two neighbours of one class are not folded",
          "[workloads][folding]") {
  const auto fabric = fabric_of("ndv4", 8);
  JobGraph job = empty_job(8);
  job.streams = {"compute", "right", "left", "from left", "from right"};
  for (int rank = 0; rank < 8; ++rank) {
    RankProgram& program = job.programs[at(rank)];
    const int right = (rank + 1) % 8;
    const int left = (rank + 7) % 8;
    program.add(message_on(JobOpKind::Send, right, 32 << 20, 1));
    program.add(message_on(JobOpKind::Send, left, 32 << 20, 2));
    program.add(message_on(JobOpKind::Recv, left, 32 << 20, 3));
    program.add(message_on(JobOpKind::Recv, right, 32 << 20, 4));
  }
  JobSettings settings{.detail = JobDetail::Calls};
  const CostModel model = shipped_cost_model("a100");
  const double all_s = simulate_job(job, fabric, model, settings).step_time_s;
  settings.fold = true;
  CHECK(same_date(simulate_job(job, fabric, model, settings).step_time_s, all_s));
}
