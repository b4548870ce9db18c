#include "workloads/output/job_timeline.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "workloads/output/job_json.hpp"
#include "workloads/output/job_report.hpp"
#include "workloads/output/output_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::string timeline_of(const SimulatedJob& made, const JobTimelineOptions& options = {}) {
  std::ostringstream out;
  write_job_timeline(out, made.job, made.record, made.breakdown, *made.fabric, options);
  return out.str();
}

SimulatedJob stages_on_ndv4(JobDetail detail = JobDetail::Messages, int intervals = 40) {
  return {two_stages(3), fabric_of("ndv4", 8), "a100", {.detail = detail, .intervals = intervals}};
}

// Slices of a track are disjoint or nested.
bool nested(std::vector<std::pair<double, double>> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
  });
  std::vector<double> ends;
  for (const auto& [start, end] : slices) {
    while (!ends.empty() && ends.back() <= start + 1e-6) ends.pop_back();
    if (!ends.empty() && end > ends.back() + 1e-6) return false;
    ends.push_back(end);
  }
  return true;
}

}  // namespace

TEST_CASE("a timeline has a track per stream, whose slices nest", "[workloads][output]") {
  for (const JobDetail detail : {JobDetail::Messages, JobDetail::Calls}) {
    const SimulatedJob made = stages_on_ndv4(detail);
    const auto trace = nlohmann::json::parse(timeline_of(made));
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
    std::map<int, std::string> processes;
    std::set<std::string> streams;
    std::set<std::string> slices;
    for (const auto& event : trace["traceEvents"]) {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["name"] == "thread_name") streams.insert(event["args"]["name"]);
      if (event["ph"] != "X") continue;
      slices.insert(event["name"]);
      const double start = event["ts"];
      tracks[{event["pid"], event["tid"]}].emplace_back(start, start + double(event["dur"]));
      CHECK(start >= 0);
      CHECK(start + double(event["dur"]) <= made.record.step_time_s * 1e6 + 1e-3);
    }
    CHECK(processes.size() == 10);
    CHECK(processes[1] == "critical path");
    CHECK(processes[6] == "rank 3");
    CHECK(streams == std::set<std::string>{"comm", "compute", "operations", "pp"});
    CHECK(slices.contains("forward <b>"));
    CHECK(slices.contains("rank 1: forward <b>"));
    CHECK(slices.contains("allreduce 8MiB on tp"));
    CHECK(slices.contains("receive 1MiB from rank 0 on world"));
    CHECK(slices.contains("wait"));
    CHECK(tracks.size() == 25);
    for (const auto& [track, all] : tracks) CHECK(nested(all));
    CHECK_FALSE(nested({{0, 2}, {1, 3}}));
    // Segments of the path follow each other up to the end of the step.
    double length = 0;
    for (const auto& [start, end] : tracks[{1, 1}]) length += end - start;
    CHECK(length == Approx(made.record.step_time_s * 1e6).epsilon(1e-3));
  }
}

TEST_CASE("slices of calls say how long the rank waits and for whom", "[workloads][output]") {
  const SimulatedJob made = stages_on_ndv4();
  const auto trace = nlohmann::json::parse(timeline_of(made));
  // Rank 1 computes twice as long, so rank 0 waits for it in the first call of "tp".
  bool found = false;
  for (const auto& event : trace["traceEvents"]) {
    if (found || event["ph"] != "X" || event["pid"] != 3) continue;
    if (event["name"] == "allreduce 8MiB on tp") {
      const double late_s = made.record.end_s[made.record.lowered.first_op[1]] -
                            made.record.end_s[made.record.lowered.first_op[0]];
      CHECK(double(event["args"]["wait_us"]) == Approx(late_s * 1e6).margin(0.01));
      CHECK(double(event["args"]["wait_us"]) + double(event["args"]["run_us"]) ==
            Approx(double(event["dur"])));
      CHECK(event["args"]["communicator"] == "tp");
      CHECK(event["args"]["ranks"] == 4);
      CHECK(event["args"]["bytes"] == 8 << 20);
    } else if (event["name"] == "wait") {
      CHECK(event["args"]["for_rank"] == 1);
      found = true;
    }
  }
  CHECK(found);
}

TEST_CASE("counters of a timeline are shares", "[workloads][output]") {
  const SimulatedJob made = stages_on_ndv4();
  const auto trace = nlohmann::json::parse(timeline_of(made));
  std::map<std::string, double> largest;
  std::map<std::string, double> last;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    for (const auto& [key, value] : event["args"].items()) {
      const std::string name = std::string(event["name"]) + " " + key;
      CHECK(double(value) >= 0);
      CHECK(double(value) <= 1 + 1e-6);
      largest[name] = std::max(largest[name], double(value));
      last[name] = value;
    }
  }
  CHECK(largest.size() == 12);
  CHECK(largest["nvlink max"] > 0.05);
  CHECK(largest["nvlink mean"] <= largest["nvlink max"]);
  CHECK(largest["GPU of rank 1 SMs"] > 0.5);
  CHECK(largest["GPU of rank 1 memory"] > 0);
  for (const auto& [name, value] : largest) CHECK(value > 0);
  for (const auto& [name, value] : last) CHECK(value == 0);
}

TEST_CASE("a timeline without a series has no counters", "[workloads][output]") {
  const SimulatedJob made = stages_on_ndv4(JobDetail::Calls, 0);
  CHECK(timeline_of(made).find("\"ph\":\"C\"") == std::string::npos);
}

TEST_CASE("a timeline draws the ranks on the critical path first", "[workloads][output]") {
  const SimulatedJob made = stages_on_ndv4();
  const auto trace = nlohmann::json::parse(timeline_of(made, {.max_actors = 2}));
  std::set<std::string> processes;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  CHECK(processes.size() == 4);
  CHECK(processes.contains("rank 1"));
  CHECK(trace["otherData"]["drawn_ranks"] == 2);
  CHECK(trace["otherData"]["left_out_ranks"] == 6);
  CHECK(trace["otherData"]["step_time_us"] == Approx(made.record.step_time_s * 1e6));
}

TEST_CASE("equal jobs give equal bytes of timelines", "[workloads][output]") {
  CHECK(timeline_of(stages_on_ndv4()) == timeline_of(stages_on_ndv4()));
}

TEST_CASE("a folded job's timeline names classes of ranks", "[workloads][output]") {
  // A group per server, whose first rank is late.
  JobGraph job = empty_job(32);
  job.groups.clear();
  for (int rank = 0; rank < 32; ++rank) {
    if (rank % 8 == 0) job.groups.push_back({0, {}});
    job.groups.back().ranks.push_back(rank);
    job.groups_of[at(rank)] = {rank / 8};
    job.programs[at(rank)].add(compute_for(rank % 8 == 0 ? 2e-3 : 1e-3));
    job.programs[at(rank)].add(call_on(CollectiveKind::AllReduce, 1 << 24, 0));
  }
  merge_equal_programs(job);
  const SimulatedJob made(std::move(job), fabric_of("ndv4", 32), "a100",
                          {.detail = JobDetail::Calls, .fold = true, .intervals = 10});
  const std::string text = timeline_of(made, {.max_actors = 1});
  const std::size_t classes = made.record.lowered.classes.count();
  REQUIRE(classes < 32);
  CHECK(text.find("\"ranks 0, 8, 16, … (4 equal)\"") != std::string::npos);
  const auto other = nlohmann::json::parse(text)["otherData"];
  CHECK(other["drawn_ranks"] == 4);
  CHECK(other["left_out_ranks"] == 28);
  CHECK(other["left_out_processes"] == classes - 1);
}

TEST_CASE("the critical path tells a call from a computation of the same name",
          "[workloads][output]") {
  JobGraph job = empty_job(3);
  job.names = {"", "layer"};
  for (auto& program : job.programs) {
    program.add({.name = 1, .seconds = 1e-3});
    JobOp call = call_on(CollectiveKind::AllReduce, 1 << 20, 0);
    call.name = 1;
    program.add(call);
    program.add(call_on(CollectiveKind::AllReduce, 1 << 20, 0));
  }
  const SimulatedJob made(std::move(job), fabric_of("ring", 3), "hockney",
                          {.tuners = {.job = "ring/Simple/1"}});
  std::vector<std::string> path;
  const auto trace = nlohmann::json::parse(timeline_of(made));
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["pid"] == 1) path.push_back(event["name"]);
  }
  REQUIRE(path.size() == 3);
  CHECK(path[0].ends_with(": layer"));
  CHECK(path[1].ends_with(": layer (allreduce)"));
  CHECK(path[2].ends_with(": allreduce 1MiB on world"));
}

TEST_CASE("names that are not UTF-8 do not break a timeline", "[workloads][output]") {
  JobGraph job = empty_job(3);
  job.name = "bad \xff name";
  job.streams = {"stream \xfe"};
  for (auto& program : job.programs) program.add(compute_for(1e-3));
  const SimulatedJob made(std::move(job), fabric_of("ring", 3), "hockney", {});
  CHECK_FALSE(nlohmann::json::parse(timeline_of(made)).empty());
}

TEST_CASE("outputs of a job without operations", "[workloads][output]") {
  const SimulatedJob made(empty_job(3), fabric_of("ring", 3), "hockney", {.intervals = 4});
  const auto trace = nlohmann::json::parse(timeline_of(made));
  CHECK(trace["otherData"]["step_time_us"] == 0);
  const auto [job, record, breakdown, fabric] =
      std::tie(made.job, made.record, made.breakdown, *made.fabric);
  CHECK(job_text(job, record, breakdown, fabric).find("step time 0") != std::string::npos);
  const auto json = nlohmann::json::parse(job_json(job, record, breakdown, fabric));
  CHECK(json["step_time_s"] == 0);
  CHECK(json["calls"].empty());
  CHECK(job_report(job, record, breakdown, fabric).find("</html>") != std::string::npos);
}
