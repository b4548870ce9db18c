#include "workloads/output/job_text.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/catch.hpp"
#include "workloads/output/job_json.hpp"
#include "workloads/output/job_view.hpp"
#include "workloads/output/output_fixtures.hpp"
#include "workloads/output/use_views.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// The widest line in characters.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t characters = 0;
    for (const char c : line) characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    widest = std::max(widest, characters);
  }
  return widest;
}

std::string text_of(const SimulatedJob& made, const JobTextOptions& options = {}) {
  return job_text(made.job, made.record, made.breakdown, *made.fabric, options);
}

// Time, measured time and wait of the first call in a table of calls of tiny_job().
std::vector<double> numbers_of_first_call(const std::string& text) {
  const std::string configuration = "ring Simple 1 ch";
  std::istringstream row(text.substr(text.find(configuration) + configuration.size()));
  double calls = 0;
  std::vector<double> numbers(3);
  row >> calls >> numbers[0] >> numbers[1] >> numbers[2];
  return numbers;
}

// Two computations of 1 ms around an AllGather; rank 2 computes 2 ms first.
JobGraph tiny_job() {
  JobGraph job = empty_job(3);
  job.name = "tiny";
  for (int rank = 0; rank < 3; ++rank) {
    RankProgram& program = job.programs[at(rank)];
    program.add(compute_for(rank == 2 ? 2e-3 : 1e-3));
    program.add(call_on(CollectiveKind::AllGather, 3 << 23, 0));
    program.add(compute_for(1e-3));
  }
  return job;
}

}  // namespace

TEST_CASE("the tables of a tiny job", "[workloads][output]") {
  const SimulatedJob made(tiny_job(), fabric_of("ring", 3), "hockney",
                          {.tuners = {.job = "ring/Simple/1"}, .intervals = 10});
  CHECK(text_of(made) == R"(tiny on ring: 3 ranks, 1 call, step time 3.672 ms

  time of a rank         mean        rank 0
                           ms     %      ms     %
  computation            2.33  63.5    2.00  54.5
  both at once           0.00   0.0    0.00   0.0
  exposed communication  1.34  36.5    1.67  45.5
  idle                   0.00   0.0    0.00   0.0
  rank 0 has the most exposed communication

  communicator  call        size  ranks  configuration        calls   time   wait  busbw  of step
                                                           per rank     us     us   GB/s        %
  world         allgather  24MiB      3  ring Simple 1 ch         1  672.5  666.7   24.9     45.5

  critical path
                    ms     %
  computation    3.000  81.7
  world          0.672  18.3

  busiest links  kind     bytes  capacity  mean use  peak use
                                     GB/s         %         %
  gpu0 -> gpu1   generic  16MiB      25.0      18.3      63.9
  gpu1 -> gpu2   generic  16MiB      25.0      18.3      99.8
  gpu2 -> gpu0   generic  16MiB      25.0      18.3      99.8
)");
}

TEST_CASE("the table of calls has the durations of a trace", "[workloads][output]") {
  JobGraph job = tiny_job();
  job.notes = {"2 events are missing"};
  for (RankProgram& program : job.programs) {
    JobOp small = program.ops[1];
    program.ops[1].seconds = 0.8e-3;
    small.bytes = 24;
    program.add(small);
  }
  const SimulatedJob made(std::move(job), fabric_of("ring", 3), "hockney",
                          {.tuners = {.job = "ring/Simple/1"}});
  const std::string text = text_of(made);
  CHECK(text.find("\nnote: 2 events are missing\n") != std::string::npos);
  CHECK(text.find("time  measured") != std::string::npos);
  CHECK(numbers_of_first_call(text) == std::vector<double>{672.49, 800, 666.7});
  // Times that are compared have one unit.
  JobGraph slow = tiny_job();
  for (RankProgram& program : slow.programs) program.ops[1].seconds = 1.5e-3;
  const SimulatedJob other(std::move(slow), fabric_of("ring", 3), "hockney",
                           {.tuners = {.job = "ring/Simple/1"}});
  CHECK(numbers_of_first_call(text_of(other)) == std::vector<double>{0.672, 1.5, 666.7});
  CHECK(text.find("\n  measured: mean duration in the trace") != std::string::npos);
  const auto json =
      nlohmann::json::parse(job_json(made.job, made.record, made.breakdown, *made.fabric, {}));
  CHECK(json["notes"][0] == "2 events are missing");
  CHECK(json["calls"][0]["measured_s"] == Approx(0.8e-3));
  CHECK(json["calls"][1]["measured_s"].is_null());
}

TEST_CASE("lines of a job's tables fit, however long its names are", "[workloads][output]") {
  JobGraph job = two_stages(2);
  job.name = std::string(200, 'n');
  job.communicators[0].name = "\xC3\xA9t\xC3\xA9 " + std::string(90, 'w');
  job.communicators[1].name = std::string(60, 't');
  const SimulatedJob made(std::move(job), fabric_of("ndv4", 8), "a100",
                          {.detail = JobDetail::Calls, .intervals = 5});
  CHECK(widest_line(text_of(made)) <= kJobTextWidth);
  CHECK(text_of(made).find("…") != std::string::npos);
  const std::vector<TunerRow> tuners{{std::string(300, 'x'), 1, 0.5}, {"y", 0.8, 0.25}};
  CHECK(widest_line(tuner_text(tuners)) <= kJobTextWidth);
}

TEST_CASE("a job's tables say how many rows they leave out", "[workloads][output]") {
  const SimulatedJob made(two_stages(2), fabric_of("ndv4", 8), "a100", {.intervals = 5});
  REQUIRE(made.breakdown.calls.size() == 3);
  CHECK(text_of(made, {.max_calls = 1}).find("  … 2 more\n") != std::string::npos);
  CHECK(text_of(made, {.max_calls = 3}).find("… 2 more") == std::string::npos);
}

TEST_CASE("a job's tables show the time in which GPUs wait for the host", "[workloads][output]") {
  JobGraph job = tiny_job();
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const JobSettings settings{.tuners = {.job = "ring/Simple/1"}};
  const SimulatedJob busy(job, fabric_of("ring", 3), "hockney", settings);
  CHECK_FALSE(has(text_of(busy), "host"));
  job.names.emplace_back(kHostIdleName);
  for (RankProgram& program : job.programs) program.ops[2].name = 1;
  const SimulatedJob idle(job, fabric_of("ring", 3), "hockney", settings);
  const std::string text = text_of(idle);
  CHECK(has(text, "\n  computation            2.33  63.5    2.00  54.5\n"));
  CHECK(has(text, "\n  waiting for the host   1.00  27.2    1.00  27.2\n"));
  CHECK(has(text, "waiting for the host counts as computation above"));
  // On the critical path, it is apart.
  CHECK(has(text, "\n  computation           2.000  54.5\n"));
  CHECK(has(text, "\n  waiting for the host  1.000  27.2\n"));
  const auto json =
      nlohmann::json::parse(job_json(idle.job, idle.record, idle.breakdown, *idle.fabric, {}));
  CHECK(json["mean"]["host_idle_s"] == Approx(1e-3));
  CHECK(json["critical_path"]["host_idle_s"] == Approx(1e-3));
}

TEST_CASE("a note names the GPU that a fabric is assumed to have", "[workloads][output]") {
  JobGraph job = tiny_job();
  CHECK(job_notes(job, *fabric_of("ring", 3)).empty());  // durations
  for (RankProgram& program : job.programs) program.add({.memory_bytes = 1e6});
  CHECK(job_notes(job, *fabric_of("dgx1", 8)).empty());
  const SimulatedJob made(job, fabric_of("ring", 3), "hockney",
                          {.tuners = {.job = "ring/Simple/1"}});
  const std::string note = "fabric ring does not name its GPUs; they compute like an A100";
  CHECK(text_of(made).find("\nnote: " + note + "\n") != std::string::npos);
  const auto json =
      nlohmann::json::parse(job_json(made.job, made.record, made.breakdown, *made.fabric, {}));
  CHECK(json["notes"] == nlohmann::json::array({note}));
}

TEST_CASE("a folded job's links say how many they stand for", "[workloads][output]") {
  const SimulatedJob made(tiny_job(), fabric_of("ring", 3), "hockney",
                          {.tuners = {.job = "ring/Simple/1"}, .intervals = 10});
  CHECK(text_of(made).find("  busiest links  kind     bytes") != std::string::npos);
  JobRecord folded = made.record;
  folded.lowered.classes.link_size = {2, 0, 1};
  REQUIRE(busiest_job_links(folded, *made.fabric).size() == 3);
  CHECK(busiest_job_links(folded, *made.fabric)[0].count == 2);
  const std::string text = job_text(made.job, folded, made.breakdown, *made.fabric);
  CHECK(text.find("  busiest links  kind     links  bytes") != std::string::npos);
  CHECK(text.find("  gpu0 -> gpu1   generic      2  16MiB") != std::string::npos);
  const auto json =
      nlohmann::json::parse(job_json(made.job, folded, made.breakdown, *made.fabric, {}));
  CHECK(json["links"][0]["count"] == 2);
}

TEST_CASE("tuners are compared with the first", "[workloads][output]") {
  CHECK(tuner_text({}).empty());
  const std::vector<TunerRow> tuners{{"nccl-default:2.18", 2.0, 0.5}, {"ring/LL128/8", 1.6, 0.125}};
  CHECK(tuner_text(tuners) == R"(
  tuner              step time  exposed  speedup
                            ms       ms
  nccl-default:2.18     2000.0    500.0    1.000
  ring/LL128/8          1600.0    125.0    1.250
)");
}

TEST_CASE("JSON of a job has the numbers of its breakdown", "[workloads][output]") {
  const SimulatedJob made(two_stages(3), fabric_of("ndv4", 8), "a100", {.intervals = 20});
  const std::vector<TunerRow> tuners{{"a", 2.0, 0.5}, {"b", 1.6, 0.125}};
  const auto text = job_json(made.job, made.record, made.breakdown, *made.fabric, tuners);
  CHECK(text == job_json(made.job, made.record, made.breakdown, *made.fabric, tuners));
  const auto json = nlohmann::json::parse(text);
  CHECK(json["step_time_s"] == made.record.step_time_s);
  REQUIRE(json["actors"].size() == 8);
  for (const auto& actor : json["actors"]) {
    CHECK(double(actor["compute_s"]) + double(actor["overlap_s"]) + double(actor["exposed_s"]) +
              double(actor["idle_s"]) ==
          Approx(made.record.step_time_s));
  }
  REQUIRE(json["calls"].size() == made.breakdown.calls.size());
  for (std::size_t i = 0; i < json["calls"].size(); ++i) {
    const CallSummary& call = made.breakdown.calls[i];
    CHECK(json["calls"][i]["size_bytes"] == call.bytes);
    CHECK(json["calls"][i]["busbw_Bps"] == bus_bandwidth_Bps(call));
  }
  double path_s = json["critical_path"]["compute_s"];
  for (const auto& part : json["critical_path"]["communicators"]) path_s += double(part["time_s"]);
  CHECK(path_s == Approx(made.record.step_time_s).epsilon(1e-6));
  CHECK(json["critical_path"]["segments"].size() == made.breakdown.path.size());
  REQUIRE(json["links"].size() > 8);
  CHECK(json["links"][0]["share"] >= json["links"][1]["share"]);
  for (const auto& kind : json["use"]["kinds"]) CHECK(kind["mean"].size() == 20);
  CHECK(json["tuners"][1]["speedup"] == Approx(1.25));
}

TEST_CASE("bus bandwidth is that of nccl-tests", "[workloads][output]") {
  CallSummary call{.collective = CollectiveKind::AllReduce, .bytes = 8000, .ranks = 4};
  CHECK(bus_bandwidth_Bps(call) == 0);
  call.time_s = 1e-6;
  CHECK(bus_bandwidth_Bps(call) == Approx(1.5 * 8e9));
  call.message = true;
  CHECK(bus_bandwidth_Bps(call) == Approx(8e9));
}

TEST_CASE("short names of sizes, ranks and texts", "[workloads][output]") {
  CHECK(short_bytes(0) == "0B");
  CHECK(short_bytes(999) == "999B");
  CHECK(short_bytes(1000) == "0.9766KiB");
  CHECK(short_bytes(25 << 20) == "25MiB");
  CHECK(short_bytes((25 << 20) + (1 << 17)) == "25.12MiB");
  CHECK(short_bytes(std::uint64_t{1} << 62) == "4194304TiB");
  CHECK(ranks_label(std::vector<std::int32_t>{3}) == "rank 3");
  CHECK(ranks_label(std::vector<std::int32_t>{3, 5, 9}) == "ranks 3, 5, 9");
  CHECK(ranks_label(std::vector<std::int32_t>{0, 8, 16, 24}) == "ranks 0, 8, 16, … (4 equal)");
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abcde…");
  CHECK(shortened("ééééé", 3) == "éé…");
}
