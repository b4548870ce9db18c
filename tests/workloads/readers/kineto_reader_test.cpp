#include "workloads/readers/traces/kineto_reader.hpp"

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "workloads/readers/dependencies.hpp"
#include "workloads/readers/traces/kineto_groups.hpp"

using namespace cclgym;
using namespace cclgym::test;
using Json = nlohmann::json;

namespace {

constexpr int kComputeStream = 7;
constexpr int kNcclStream = 20;
constexpr const char* kAllReduceKernel =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";

Json complete(const std::string& cat, const std::string& name, double ts, double dur) {
  return {{"ph", "X"}, {"cat", cat}, {"name", name}, {"pid", 0}, {"ts", ts}, {"dur", dur}};
}

Json kernel(const std::string& name, double ts, double dur, int stream, int correlation = 0) {
  Json event = complete("kernel", name, ts, dur);
  event["tid"] = stream;
  event["args"] = {{"stream", stream}, {"device", 0}, {"grid", {1, 1, 1}}};
  if (correlation > 0) event["args"]["correlation"] = correlation;
  return event;
}

Json call(const std::string& collective, std::int64_t in, std::int64_t out, double ts, double dur,
          const std::string& ranks = "[0, 1]", int correlation = 0) {
  Json event = kernel(kAllReduceKernel, ts, dur, kNcclStream, correlation);
  event["args"].update({{"Collective name", collective},
                        {"In msg nelems", in},
                        {"Out msg nelems", out},
                        {"dtype", "Float"},
                        {"Process Group Name", "0"},
                        {"Process Group Description", "default_pg"},
                        {"Process Group Ranks", ranks}});
  return event;
}

Json trace_json(const std::vector<Json>& events, int rank = 0, int world = 2) {
  return {{"schemaVersion", 1},
          {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", world}}},
          {"traceEvents", events}};
}

KinetoTrace parsed(const Json& json) { return parse_kineto(json.dump(), "t.json"); }

JobGraph replicated(const std::vector<Json>& events, KinetoOptions options = {}) {
  options.replicate = true;
  return kineto_job({parsed(trace_json(events))}, options);
}

std::string kineto_refusal(const std::vector<Json>& events, const KinetoOptions& options = {}) {
  return thrown([&] { return replicated(events, options); });
}

std::string notes_text(const JobGraph& job) {
  std::string text;
  for (const std::string& note : job.notes) text += note + "\n";
  return text;
}

JobGraph job_of_traces(const std::vector<Json>& traces, const KinetoOptions& options = {}) {
  std::vector<KinetoTrace> read;
  for (const Json& json : traces) read.push_back(parsed(json));
  return kineto_job(read, options);
}

// End of the last operation if communication takes its measured times, s.
double measured_end(const JobGraph& job, const std::vector<double>& communication) {
  const RankProgram& program = job.program(0);
  std::vector<double> end(program.ops.size());
  std::vector<double> stream_end(job.streams.size());
  std::size_t calls = 0;
  double last = 0;
  for (std::int32_t i = 0; i < program.size(); ++i) {
    const JobOp& op = program.ops[at(i)];
    double start = stream_end[at(op.stream)];
    for (const std::int32_t dependency : deps_of(program, i)) {
      start = std::max(start, end[at(dependency)]);
    }
    const double seconds = op.kind == JobOpKind::Compute ? op.seconds : communication.at(calls++);
    end[at(i)] = start + seconds;
    stream_end[at(op.stream)] = end[at(i)];
    last = std::max(last, end[at(i)]);
  }
  return last;
}

}  // namespace

TEST_CASE("kernels, waits and idle time of a trace become a job", "[workloads][readers][kineto]") {
  // backward 0-100, an AllReduce 100-180 under backward2 100-150, the optimizer waits for it.
  const std::vector<Json> events = {kernel("backward", 1000, 100, kComputeStream, 1),
                                    call("allreduce", 256, 256, 1100, 80, "[0, 1]", 2),
                                    kernel("backward2", 1100, 50, kComputeStream, 3),
                                    kernel("optimizer", 1190, 10, kComputeStream, 4)};
  const JobGraph job = replicated(events);
  CHECK(job.ranks == 2);
  CHECK(job.programs.size() == 1);
  const RankProgram& program = job.program(1);
  REQUIRE(program.size() == 5);
  CHECK(program.ops[0].seconds == Approx(100e-6));
  CHECK(job.streams[at(program.ops[0].stream)] == "stream 7");
  CHECK(program.ops[1].kind == JobOpKind::Collective);
  CHECK(program.ops[1].collective == CollectiveKind::AllReduce);
  CHECK(program.ops[1].bytes == 1024);
  CHECK(program.ops[1].origin == 2);
  CHECK(job.group(1, program.ops[1]).ranks == std::vector<std::int32_t>{0, 1});
  CHECK(deps_of(program, 1) == std::vector<std::int32_t>{0});
  CHECK(deps_of(program, 2).empty());
  // The 10 us between the end of the AllReduce and the optimizer.
  CHECK(job.names[at(program.ops[3].name)] == "idle (host)");
  CHECK(program.ops[3].seconds == Approx(10e-6));
  CHECK(deps_of(program, 3) == std::vector<std::int32_t>{1});
  CHECK(deps_of(program, 4).empty());
  CHECK(measured_end(job, {80e-6}) == Approx(200e-6));
  // Slower communication delays only the optimizer.
  CHECK(measured_end(job, {180e-6}) == Approx(300e-6));
  const JobGraph busy = replicated(events, {.idle = false});
  REQUIRE(busy.program(0).size() == 4);
  CHECK(deps_of(busy.program(0), 3) == std::vector<std::int32_t>{1});
  CHECK(measured_end(busy, {80e-6}) == Approx(190e-6));
}

TEST_CASE("hidden communication delays nothing, and a call waits only for what was launched before",
          "[workloads][readers][kineto]") {
  const JobGraph job = replicated(
      {kernel("a", 0, 100, kComputeStream, 1), kernel("b", 100, 100, kComputeStream, 5),
       call("allreduce", 1, 1, 210, 50, "[0, 1]", 4), kernel("c", 200, 100, kComputeStream, 6),
       kernel("d", 300, 100, kComputeStream, 7)});
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 5);
  CHECK(program.ops[3].kind == JobOpKind::Collective);
  CHECK(deps_of(program, 3) == std::vector<std::int32_t>{0});
  CHECK(deps_of(program, 4).empty());
}

TEST_CASE("recorded waits of streams replace the rules", "[workloads][readers][kineto]") {
  Json wait = complete("cuda_sync", "Stream Wait Event", 90, 1);
  wait["args"] = {{"cuda_sync_kind", "Stream Wait Event"},
                  {"stream", kComputeStream},
                  {"wait_on_stream", kNcclStream},
                  {"wait_on_cuda_event_record_corr_id", 3},
                  {"correlation", 6}};
  // d waits for the call although it ended long before.
  const JobGraph job = replicated(
      {kernel("a", 0, 100, kComputeStream, 1), call("allreduce", 1, 1, 10, 50, "[0, 1]", 2),
       kernel("c", 100, 100, kComputeStream, 5), kernel("d", 200, 100, kComputeStream, 7), wait});
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 4);
  CHECK(deps_of(program, 1).empty());
  CHECK(deps_of(program, 2).empty());
  CHECK(deps_of(program, 3) == std::vector<std::int32_t>{1});
}

TEST_CASE("one step of a trace is chosen", "[workloads][readers][kineto]") {
  const auto launch = [](double ts, int correlation) {
    Json event = complete("cuda_runtime", "cudaLaunchKernel", ts, 1);
    event["args"] = {{"correlation", correlation}};
    return event;
  };
  // The GPU runs behind the host: step 5 starts on the GPU while the host is in step 6.
  const std::vector<Json> events = {
      complete("user_annotation", "ProfilerStep#5", 0, 100),
      complete("user_annotation", "ProfilerStep#6", 100, 100),
      complete("user_annotation", "ProfilerStep#7", 200, 5),  // nothing is launched in it
      complete("gpu_user_annotation", "ProfilerStep#9", 0, 500),
      launch(10, 1),
      launch(20, 2),
      launch(110, 3),
      kernel("a", 105, 50, kComputeStream, 1),
      kernel("b", 155, 40, kComputeStream, 2),
      kernel("c", 205, 30, kComputeStream, 3)};
  const JobGraph last = replicated(events);
  REQUIRE(last.program(0).size() == 1);
  CHECK(last.names[at(last.program(0).ops[0].name)] == "c");
  const JobGraph fifth = replicated(events, {.step = 5});
  // a, b, and 10 us until c.
  REQUIRE(fifth.program(0).size() == 3);
  CHECK(fifth.program(0).ops[2].seconds == Approx(10e-6));
  CHECK(measured_end(fifth, {}) == Approx(100e-6));
  CHECK(kineto_refusal(events, {.step = 8}) ==
        "t.json: it has no step 8; it has 3 steps, from 5 to 7");
  CHECK(kineto_refusal(events, {.step = 7}) == "t.json: step 7 has no operations on the GPU");
  CHECK(kineto_refusal({events[7]}, {.step = 7}) ==
        "t.json: it has no step 7: the profiler wrote no steps");
  // Such as that of a job on CPUs, with gloo.
  CHECK(kineto_refusal({complete("cpu_op", "gloo:all_reduce", 0, 1)}) ==
        "t.json: it has no operations on the GPU; record them with "
        "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], also on ROCm");
}

TEST_CASE("times are exact to a nanosecond", "[workloads][readers][kineto]") {
  // A double of this size is a multiple of 0.25 us.
  const KinetoTrace trace = parse_kineto(
      R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1712195495502094.123,)"
      R"( "dur": 0.5, "args": {"stream": 7}}, {"ph": "X", "cat": "Memcpy", "name": "m",)"
      R"( "ts": 1712195495502095, "dur": 2e0, "tid": 7}]})",
      "t.json");
  REQUIRE(trace.ops.size() == 2);
  CHECK(trace.ops[0].start_ns == 1712195495502094123);
  CHECK(trace.ops[0].end_ns == 1712195495502094623);
  CHECK(trace.ops[1].start_ns == 1712195495502095000);
  CHECK(trace.ops[1].end_ns == 1712195495502097000);
}

TEST_CASE("PyTorch's collectives and types have sizes", "[workloads][readers][kineto]") {
  struct Case {
    const char* name;
    const char* dtype;
    std::int64_t in;
    std::int64_t out;
    CollectiveKind kind;
    std::uint64_t bytes;
  };
  const auto row = GENERATE(values<Case>(
      {{"_allgather_base", "BFloat16", 10, 20, CollectiveKind::AllGather, 40},
       {"all_gather", "Half", 10, 20, CollectiveKind::AllGather, 40},
       {"_reduce_scatter_base", "Float", 20, 10, CollectiveKind::ReduceScatter, 80},
       {"all_to_allv", "Double", 10, 12, CollectiveKind::AllToAll, 96},
       {"broadcast", "Long", 3, 3, CollectiveKind::Broadcast, 24},
       {"reduce", "Int", 3, 3, CollectiveKind::Reduce, 12},
       {"barrier", "Byte", 1, 1, CollectiveKind::AllReduce, 4},
       {"allreduce_coalesced", "Float8_e4m3fn", 7, 7, CollectiveKind::AllReduce, 7},
       {"allgather_into_tensor_coalesced", "Float8_e8m0fnu", 10, 20, CollectiveKind::AllGather, 20},
       {"all_gather_into_tensor_coalesced", "Float4_e2m1fn_x2", 10, 20, CollectiveKind::AllGather,
        20},
       {"reduce_scatter_tensor_coalesced", "ComplexDouble", 4, 2, CollectiveKind::ReduceScatter,
        64},
       {"gather", "QInt32", 2, 4, CollectiveKind::Gather, 16},
       {"scatter", "Bits16", 4, 2, CollectiveKind::Scatter, 8},
       {"_broadcast_oop", "UInt7", 3, 3, CollectiveKind::Broadcast, 3},
       {"allreduce", "Float", 0, 0, CollectiveKind::AllReduce, 1}}));
  Json event = call(row.name, row.in, row.out, 0, 1);
  event["args"]["dtype"] = row.dtype;
  const JobGraph job = replicated({event});
  CHECK(job.program(0).ops[0].kind == JobOpKind::Collective);
  CHECK(job.program(0).ops[0].collective == row.kind);
  CHECK(job.program(0).ops[0].bytes == row.bytes);
  CHECK(job.notes.empty());
}

TEST_CASE("an unknown type has two bytes, and a note", "[workloads][readers][kineto]") {
  Json event = call("allreduce", 8, 8, 0, 1);
  event["args"]["dtype"] = "Float6_e3m2";
  const JobGraph job = replicated({event, event});
  CHECK(job.program(0).ops[0].bytes == 16);
  REQUIRE(job.notes.size() == 1);
  CHECK(job.notes[0] == "dtype 'Float6_e3m2' is unknown: 2 calls have 2 bytes per element");
}

TEST_CASE("communication is known by its arguments, and by the names of its libraries",
          "[workloads][readers][kineto]") {
  const std::string name =
      GENERATE("void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)",
               "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
               "mscclKernel_Sum_half_Simple_false(ncclDevComm*)");
  for (const std::string& named : {name, std::string("a kernel of any name")}) {
    Json event = call("allreduce", 4, 4, 10, 70);
    event["name"] = named;
    const JobGraph read = replicated({event});
    CHECK(read.program(0).ops[0].kind == JobOpKind::Collective);
    CHECK(read.program(0).ops[0].seconds == Approx(70e-6));
    CHECK(read.notes.empty());
  }
  const JobGraph unread =
      replicated({kernel("k", 0, 10, kComputeStream), kernel(name, 10, 30, kNcclStream),
                  call("allreduce", 4, 4, 40, 70)});
  const JobOp& op = unread.program(0).ops[1];
  CHECK(op.kind == JobOpKind::Compute);
  CHECK(op.communicates);
  CHECK(op.seconds == Approx(30e-6));
  CHECK_FALSE(unread.program(0).ops[0].communicates);
  REQUIRE(unread.notes.size() == 1);
  CHECK(contains(unread.notes[0],
                 "1 event of communication cannot be simulated and keeps its measured duration, "
                 "30 % of the communication and 27.3 % of the steps in the traces: PyTorch wrote "
                 "no \"Collective name\" and sizes, as for batch_isend_irecv and some coalesced "
                 "calls in any release up to 2.15, and for all calls before 2.4 (event 2 of "
                 "t.json, '"));
}

TEST_CASE("calls that other ranks do not make keep their durations",
          "[workloads][readers][kineto]") {
  const auto trace = [](int rank, const std::vector<Json>& events) {
    return trace_json(events, rank);
  };
  const auto all = [](std::int64_t elements, double ts) {
    return call("allreduce", elements, elements, ts, 10);
  };
  const auto calls_of = [](const JobGraph& job, std::int32_t rank) {
    std::vector<std::uint64_t> sizes;
    for (const JobOp& op : job.program(rank).ops) sizes.push_back(op.communicates ? 0 : op.bytes);
    return sizes;
  };
  SECTION("one in the middle") {
    const JobGraph job = job_of_traces({trace(0, {all(1, 0), all(2, 10), all(3, 20), all(4, 30)}),
                                        trace(1, {all(1, 0), all(3, 20), all(5, 30), all(4, 40)})});
    CHECK(calls_of(job, 0) == std::vector<std::uint64_t>{4, 0, 12, 16});
    CHECK(calls_of(job, 1) == std::vector<std::uint64_t>{4, 12, 0, 16});
    REQUIRE(job.notes.size() == 1);
    CHECK(contains(job.notes[0],
                   "2 events of communication cannot be simulated and keep their "
                   "measured durations, 25 % of the communication"));
    CHECK(contains(job.notes[0], "other ranks of 'default_pg' do not make them"));
  }
  SECTION("fields that one rank lacks") {
    Json unread = kernel(kAllReduceKernel, 10, 10, kNcclStream);
    const JobGraph job =
        job_of_traces({trace(0, {all(1, 0), all(2, 10)}), trace(1, {all(1, 0), unread})});
    CHECK(calls_of(job, 0) == std::vector<std::uint64_t>{4, 0});
    CHECK(calls_of(job, 1) == std::vector<std::uint64_t>{4, 0});
    CHECK(job.notes.size() == 2);
  }
  SECTION("a message") {
    Json send = call("send", 2, 2, 0, 10);
    send["args"]["Dst Rank"] = 1;
    Json recv = call("recv", 2, 2, 0, 10);
    recv["args"]["Src Rank"] = 0;
    const JobGraph job = job_of_traces({trace(0, {send, send}), trace(1, {recv})});
    CHECK(calls_of(job, 0) == std::vector<std::uint64_t>{8, 0});
    CHECK(calls_of(job, 1) == std::vector<std::uint64_t>{8});
  }
}

TEST_CASE("groups of a trace that was replicated form a mesh", "[workloads][readers][kineto]") {
  CHECK(mesh_group({0, 1}, 5, 8) == std::vector<std::int32_t>{4, 5});
  CHECK(mesh_group({0, 2, 4, 6}, 5, 8) == std::vector<std::int32_t>{1, 3, 5, 7});
  CHECK(mesh_group({1, 3}, 6, 8) == std::vector<std::int32_t>{4, 6});
  CHECK(mesh_group({3}, 6, 8) == std::vector<std::int32_t>{6});
  CHECK(!mesh_group({0, 1, 3}, 6, 8));
  CHECK(!mesh_group({1, 2}, 6, 8));
  CHECK(!mesh_group({0, 1, 2}, 6, 8));
  CHECK(!mesh_group({1, 0}, 6, 8));
  CHECK(!mesh_group({}, 6, 8));

  Json tensor = call("allreduce", 8, 8, 0, 10, "[0, 1]");
  tensor["args"].update({{"Process Group Name", "3"}, {"Process Group Description", "mesh_tp"}});
  Json data = call("allreduce", 4, 4, 20, 10, "[0, 2, ...]");
  data["args"].update({{"Process Group Name", "4"}, {"Process Group Description", "undefined"}});
  Json json = trace_json({tensor, data}, 0, 4);
  SECTION("ranks that the profiler cut are in distributedInfo") {
    const Json ranks = GENERATE(Json("[0, 2]"), Json::array({0, 2}));
    json["distributedInfo"]["pg_config"] = {{{"pg_name", "4"}, {"pg_size", 2}, {"ranks", ranks}}};
    const JobGraph job = kineto_job({parsed(json)}, {.replicate = true});
    CHECK(job.ranks == 4);
    CHECK(job.programs.size() == 1);
    CHECK(job.group(3, job.program(3).ops[0]).ranks == std::vector<std::int32_t>{2, 3});
    CHECK(job.group(3, job.program(3).ops[1]).ranks == std::vector<std::int32_t>{1, 3});
    CHECK(job.communicators[0].name == "mesh_tp");
    CHECK(job.communicators[1].name == "4");
  }
  SECTION("ranks of which the first and the last ones say the distance") {
    json["distributedInfo"]["world_size"] = 12;
    json["traceEvents"][1]["args"].update(
        {{"Group size", 6}, {"Process Group Ranks", "[0, 2, 4, ..., 10]"}});
    const JobGraph job = job_of_traces({json}, {.replicate = true});
    CHECK(job.group(3, job.program(3).ops[1]).ranks ==
          std::vector<std::int32_t>{1, 3, 5, 7, 9, 11});
    CHECK(job.notes.empty());
  }
  SECTION("ranks that are nowhere") {
    json["traceEvents"][1]["args"].update({{"Group size", 3}, {"Process Group Ranks", "[0, ...]"}});
    CHECK(contains(notes_text(job_of_traces({json}, {.replicate = true})),
                   "the ranks of process group '4' are not in the trace (found '[0, ...]')"));
  }
  SECTION("groups that are no mesh") {
    json["traceEvents"] = {tensor, call("allreduce", 1, 1, 5, 1, "[0, 1, 3]")};
    const JobGraph job = job_of_traces({json}, {.replicate = true});
    CHECK(job.program(3).ops[0].kind == JobOpKind::Collective);
    CHECK(job.program(3).ops[1].communicates);
    CHECK(contains(notes_text(job),
                   "the groups of 'default_pg' cannot be inferred from that of rank 0"));
  }
  CHECK(!completed_ranks("[0, 2, 5, ..., 10]", 6));
  CHECK(!completed_ranks("[0, 2, ..., 9]", 6));
  CHECK(!completed_ranks("[0, 2]", 2));
  CHECK(completed_ranks("[3, 4, ...]", 3) == std::vector<std::int32_t>{3, 4, 5});
}

TEST_CASE("ranks have their own traces, in any order", "[workloads][readers][kineto]") {
  const auto message = [](const std::string& name, const char* key, int peer) {
    Json event = call(name, 8, 8, 0, 10, "[0, 1]");
    event["args"][key] = peer;
    return event;
  };
  const Json zero =
      trace_json({message("send", "Dst Rank", 1), call("all_to_all", 8, 8, 20, 5)}, 0);
  const Json one = trace_json({message("recv", "Src Rank", 0), call("all_to_all", 9, 4, 30, 5)}, 1);
  const TemporaryFolder folder;
  write_file(folder / "a.json", one.dump());
  write_file(folder / "b.json", zero.dump());
  const JobGraph job = read_kineto({folder / "a.json", folder / "b.json"});
  CHECK(job.program(0).ops[0].kind == JobOpKind::Send);
  CHECK(job.program(0).ops[0].peer == 1);
  CHECK(job.program(1).ops[0].kind == JobOpKind::Recv);
  // Parts of different sizes: the larger one.
  CHECK(job.program(0).ops[1].bytes == 36);
  CHECK(job.program(1).ops[1].bytes == 36);
  const auto refused = [](const std::vector<Json>& traces, const KinetoOptions& options = {}) {
    std::vector<KinetoTrace> read;
    for (const Json& json : traces) read.push_back(parsed(json));
    return thrown([&] { return kineto_job(read, options); });
  };
  CHECK(refused({zero}) ==
        "t.json: the job has 2 ranks, but there is no trace of rank 1; expected a trace of every "
        "rank, or --replicate if they do the same as rank 0");
  CHECK(contains(refused({trace_json({kernel("k", 0, 1, 7)}, 3, 20)}),
                 "no trace of ranks 0, 1, 2, 4, 5, 6, 7, 8 and 11 more"));
  const JobGraph repeated = job_of_traces({zero}, {.replicate = true});
  CHECK(repeated.program(1).ops[0].communicates);
  CHECK(repeated.program(1).ops[1].kind == JobOpKind::Collective);
  CHECK(contains(notes_text(repeated), "messages cannot be replicated"));
  CHECK(refused({zero, zero}) == "t.json: rank 0 has two traces");
  CHECK(contains(refused({zero, trace_json({}, 1, 3)}),
                 "its world_size is 3, but that of the first trace is 2"));
  CHECK(contains(refused({trace_json({}, 2, 2)}), "its rank is 2, but the job has ranks 0 to 1"));
  CHECK(contains(refused({trace_json({}, 0, 0)}), "its world_size is 0; expected 1 to"));
  CHECK(contains(refused({}), "a job needs at least one trace"));
}

TEST_CASE("wrong events are left out, and notes have their numbers",
          "[workloads][readers][kineto]") {
  const Json first = kernel("k", 0, 1, kComputeStream);
  const auto second = [&](const Json& event) { return notes_text(replicated({first, event})); };
  const auto changed = [](const char* key, const Json& value) {
    Json event = call("allreduce", 8, 8, 5, 1);
    event["args"][key] = value;
    return event;
  };
  const std::string place = "(event 2 of t.json, '" + std::string(kAllReduceKernel) + "')";
  CHECK(contains(second(changed("Collective name", "allreduse")), "did you mean 'allreduce'?"));
  CHECK(contains(second(changed("Collective name", "wait")), "unknown Collective name 'wait'"));
  CHECK(contains(second(changed("Group size", 4)),
                 "process group '0' has 2 ranks, but its Group size is 4"));
  CHECK(contains(second(changed("In msg nelems", std::int64_t{1} << 60)), "expected 0 to 2^48"));
  // The other number of elements is positive.
  CHECK(contains(second(changed("In msg nelems", -1)),
                 "its \"In msg nelems\" is -1; expected 0 to 2^48 " + place));
  CHECK(contains(second(changed("Out msg nelems", -8)), "its \"Out msg nelems\" is -8"));
  CHECK(
      contains(second(changed("In msg nelems", std::int64_t{1} << 43)), "expected at most 16TiB"));
  CHECK(contains(second(changed("In msg nelems", "abc")),
                 "its \"In msg nelems\" is 'abc'; expected a number of elements"));
  CHECK(contains(second(changed("Process Group Ranks", "[0, x]")),
                 "its \"Process Group Ranks\" is '[0, x]'; expected ranks like \"[0, 1]\""));
  CHECK(contains(second(changed("Process Group Ranks", "[0, 2]")),
                 "process group '0' has rank 2, but the job has ranks 0 to 1"));
  CHECK(contains(second(changed("Process Group Ranks", "[0, 0]")), "has a rank twice"));
  CHECK(contains(second(changed("Process Group Ranks", "[1]")), "rank 0 is not in process group"));
  CHECK(second(changed("Process Group Ranks", "[0, ..., 1]")).empty());
  Json unsized = call("allreduce", 8, 8, 5, 1);
  unsized["args"].erase("In msg nelems");
  CHECK(second(unsized).empty());
  unsized["args"].erase("Out msg nelems");
  CHECK(contains(second(unsized), "it has neither \"In msg nelems\" nor \"Out msg nelems\""));
  CHECK(contains(second(changed("Collective name", "send")), "it has no \"Dst Rank\""));
  Json own = changed("Collective name", "recv");
  own["args"]["Src Rank"] = 0;
  CHECK(contains(second(own), "its \"Src Rank\" is 0; expected another rank"));
  // Reasons beyond the eighth share a note.
  std::vector<Json> many;
  for (int i = 0; i < 12; ++i) many.push_back(changed("Group size", 10 + i));
  const JobGraph job = replicated(many);
  REQUIRE(job.notes.size() == 9);
  CHECK(contains(job.notes[0], "4 events of communication"));
  CHECK(contains(job.notes[0], "in the traces: other reasons (the first is event 9 of t.json"));
}

TEST_CASE("operations without a place are left out with a note", "[workloads][readers][kineto]") {
  const Json first = kernel("k", 0, 1, kComputeStream);
  const auto second = [&](const Json& event) {
    const JobGraph job = replicated({first, event});
    CHECK(job.program(0).size() == 1);
    return notes_text(job);
  };
  Json late = kernel("n", 5, 1, 7);
  late["dur"] = "abc";
  CHECK(second(late) ==
        "1 operation of t.json is not used: event 2 ('n'): its duration (dur) is "
        "'abc'; expected microseconds\n");
  CHECK(contains(second(kernel("n", 5, -1, 7)), "event 2 ('n'): its duration (dur) is negative"));
  CHECK(contains(second(complete("kernel", "n", 5, 1)), "event 2 ('n'): it has no stream"));
  CHECK(contains(second(complete("kernel", "n", 1e300, 1)), "it has no time (ts)"));
  Json other = call("allreduce", 8, 8, 5, 1);
  other["args"]["device"] = 1;
  CHECK(contains(kineto_refusal({first, other}),
                 "it has operations of GPUs 0 and 1; expected one GPU per trace"));
  std::vector<Json> streams;
  for (int stream = 0; stream < 1025; ++stream) streams.push_back(kernel("k", 0, 1, stream));
  CHECK(contains(kineto_refusal(streams),
                 "it has operations on 1025 streams; expected at most 1024"));
}

TEST_CASE("the number of ranks comes from the groups where the trace lacks it",
          "[workloads][readers][kineto]") {
  Json json = trace_json({call("allreduce", 8, 8, 5, 1)});
  json.erase("distributedInfo");
  CHECK(
      thrown([&] { return job_of_traces({json}); }) ==
      "t.json: the job has 2 ranks (those of its process groups, for want of a world_size), but "
      "there is no trace of rank 1; expected a trace of every rank, or --replicate if they do the "
      "same as rank 0");
  const JobGraph repeated = job_of_traces({json}, {.replicate = true});
  CHECK(repeated.ranks == 2);
  CHECK(repeated.program(1).ops[0].kind == JobOpKind::Collective);
  CHECK(contains(notes_text(repeated),
                 "t.json has no world_size in its distributedInfo: the job "
                 "has 2 ranks, as its process groups need"));
  // With the traces of all ranks, their number is known.
  const JobGraph both = job_of_traces({json, json});
  CHECK(both.ranks == 2);
  CHECK(both.notes.empty());
}

TEST_CASE("a trace alone without a number of ranks is a job of one GPU",
          "[workloads][readers][kineto]") {
  Json json = trace_json({kernel("matmul", 100, 700, kComputeStream)}, 1);
  json["distributedInfo"].erase("world_size");
  const bool replicate = GENERATE(false, true);
  const JobGraph job = job_of_traces({json}, {.replicate = replicate});
  CHECK(job.ranks == 1);
  CHECK(job.program(0).ops[0].seconds == Approx(700e-6));
  REQUIRE(job.notes.size() == 1);
  CHECK(contains(job.notes[0],
                 "t.json is the trace of rank 1 without a number of ranks: the job is "
                 "one GPU; for a larger one, add \"world_size\""));
  CHECK(contains(thrown([&] { return job_of_traces({json, json}); }), "rank 1 has two traces"));
  json["distributedInfo"]["rank"] = 2;
  CHECK(contains(thrown([&] {
                   return job_of_traces({json, json});
                 }),
                 "its rank is 2, but the job has ranks 0 to 1; add \"world_size\" to the "
                 "distributedInfo of the first trace"));
  // With it, the ranks that are missing are named, or do the same.
  json["distributedInfo"].update({{"rank", 1}, {"world_size", 3}});
  CHECK(contains(
      thrown([&] { return job_of_traces({json}); }),
      "the job has 3 ranks, but there is no trace of ranks 0, 2; expected a trace of every "
      "rank, or --replicate if they do the same as rank 1"));
  CHECK(job_of_traces({json}, {.replicate = true}).ranks == 3);
}

TEST_CASE("texts that are no trace are refused with the place", "[workloads][readers][kineto]") {
  const auto refused = [](const std::string& text) {
    return thrown([&] { return parse_kineto(text, "t.json"); });
  };
  CHECK(refused("[]") == "t.json: it has no traceEvents; expected a trace of PyTorch's profiler");
  CHECK(contains(refused("{\"traceEvents\": 3}"), "it has no traceEvents"));
  CHECK(refused("{\"a\": 1,\n  nonsense}") ==
        "t.json:2:4: found no JSON here; expected a trace of PyTorch's profiler");
  const std::string good = trace_json({kernel("k", 0, 1, 7)}).dump();
  CHECK(refused(good) == "(nothing thrown)");
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(contains(refused(good.substr(0, size)), "the trace is truncated: its JSON ends here"));
  }
  // Nested deeper than any stack.
  CHECK(contains(refused(std::string(1'000'000, '[')), "the trace is truncated"));
}
