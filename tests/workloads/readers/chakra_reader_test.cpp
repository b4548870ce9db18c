#include "workloads/readers/traces/chakra_reader.hpp"

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "workloads/readers/chakra_writer.hpp"
#include "workloads/readers/dependencies.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

ChakraTrace trace_of(const std::vector<TraceNode>& nodes) {
  return read_chakra_node_stream(chakra_bytes(nodes), "t.et", kMostTraceOps);
}

JobGraph job_of(const std::vector<std::vector<TraceNode>>& ranks,
                const ChakraOptions& options = {}) {
  std::vector<ChakraTrace> traces;
  for (const std::vector<TraceNode>& nodes : ranks) traces.push_back(trace_of(nodes));
  return chakra_job(std::move(traces), options);
}

std::string chakra_refusal(const std::vector<std::vector<TraceNode>>& ranks) {
  return thrown([&] { return job_of(ranks); });
}

std::string chakra_refusal(const std::string& bytes) {
  return thrown([&] { return read_chakra_node_stream(bytes, "t.et", kMostTraceOps); });
}

TraceNode collective(std::uint64_t id, std::int64_t type, std::int64_t bytes) {
  return TraceNode(id, "c", kCollNode).with("comm_type", type).with("comm_size", bytes);
}

}  // namespace

TEST_CASE("a Chakra trace becomes a job with its dependencies", "[workloads][readers][chakra]") {
  const std::vector<TraceNode> nodes = {
      TraceNode(7, "forward", kCompNode).with("num_ops", 1000).with("tensor_size", 64),
      collective(9, 0, 4096).after({7}),
      TraceNode(8, "backward", kCompNode).lasts(250).after_control(7),
      TraceNode(10, "host", kCompNode).lasts(3).with_flag("is_cpu_op", true).with("num_ops", 5),
      TraceNode(11, "load", kMemLoadNode).with("tensor_size", 512).after({10}),
      TraceNode(12, "optimizer", kCompNode).lasts(5).after({9, 8}).after_control(9)};
  const JobGraph job = job_of({nodes, nodes});
  CHECK(job.ranks == 2);
  CHECK(job.programs.size() == 1);
  CHECK(job.origin_word == "node");
  REQUIRE(job.program(1).size() == 6);
  const RankProgram& program = job.program(0);
  const auto find = [&](std::int64_t id) -> const JobOp& {
    for (const JobOp& op : program.ops) {
      if (op.origin == id) return op;
    }
    FAIL("no node " << id);
    return program.ops[0];
  };
  CHECK(find(7).flop == 1000);
  CHECK(find(7).memory_bytes == 64);
  CHECK(find(7).seconds == 0);
  CHECK(job.names[at(find(7).name)] == "forward");
  CHECK(find(8).seconds == Approx(250e-6));
  CHECK(job.streams[at(find(8).stream)] == "compute");
  CHECK(find(9).kind == JobOpKind::Collective);
  CHECK(find(9).collective == CollectiveKind::AllReduce);
  CHECK(find(9).bytes == 4096);
  CHECK(job.group(1, find(9)).ranks == std::vector<std::int32_t>{0, 1});
  CHECK(job.communicators[0].name == "world");
  CHECK(find(10).seconds == Approx(3e-6));
  CHECK(find(10).flop == 0);
  CHECK(job.streams[at(find(10).stream)] == "cpu");
  CHECK(find(11).memory_bytes == 512);
  CHECK(job.streams[at(find(11).stream)] == "memory");
  // Nodes 8 and 9, once each.
  const auto optimizer = static_cast<std::int32_t>(&find(12) - program.ops.data());
  CHECK(deps_of(program, optimizer) ==
        std::vector<std::int32_t>{static_cast<std::int32_t>(&find(8) - program.ops.data()),
                                  static_cast<std::int32_t>(&find(9) - program.ops.data())});
}

TEST_CASE("ready nodes are issued by their ids, whatever their order in the file",
          "[workloads][readers][chakra]") {
  const JobGraph job =
      job_of({{TraceNode(5, "e", kCompNode), TraceNode(3, "c", kCompNode).after({4}),
               TraceNode(4, "d", kCompNode), TraceNode(9, "i", kCompNode).after({3})}});
  std::vector<std::int64_t> order;
  for (const JobOp& op : job.program(0).ops) order.push_back(op.origin);
  CHECK(order == std::vector<std::int64_t>{4, 3, 5, 9});
}

TEST_CASE("only data dependencies are waited for, as in Chakra's feeder",
          "[workloads][readers][chakra]") {
  const auto host = [](std::uint64_t id, std::uint64_t micros) {
    return TraceNode(id, "op", kCompNode).lasts(micros).with_flag("is_cpu_op", true);
  };
  SECTION("the caller is not in the trace") {
    const JobGraph job = job_of({{host(10, 20).after_control(3), collective(11, 0, 1024)}});
    CHECK(job.program(0).size() == 2);
    CHECK(job.notes.empty());
  }
  SECTION("the caller waits for the one that it calls") {
    const JobGraph job = job_of({{host(1, 10).after({2}), host(2, 5).after_control(1)}});
    CHECK(job.program(0).ops[0].origin == 2);
    CHECK(deps_of(job.program(0), 0).empty());
    CHECK(deps_of(job.program(0), 1) == std::vector<std::int32_t>{0});
    CHECK(job.notes.empty());
  }
  SECTION("what is waited for is not in the trace") {
    const JobGraph job = job_of({{host(4, 1).after({3}), host(5, 1).after({2, 4})}});
    CHECK(deps_of(job.program(0), 1) == std::vector<std::int32_t>{0});
    CHECK(job.notes == std::vector<std::string>{
                           "t.et has 2 dependencies on nodes that are not in it, which count as "
                           "done: node 4 ('op') depends on node 3"});
  }
}

TEST_CASE("communication of a Chakra trace that is no call takes its duration",
          "[workloads][readers][chakra]") {
  SECTION("the host's side of a call is the host's time") {
    const std::vector<TraceNode> nodes = {
        TraceNode(1, "c10d::allreduce_", kCollNode).lasts(10).with_flag("is_cpu_op", true),
        collective(3, 0, 1 << 20).after({1}).lasts(70).with_flag("is_cpu_op", false)};
    const JobGraph job = job_of({nodes, nodes});
    const JobOp& host = job.program(0).ops[0];
    CHECK(host.kind == JobOpKind::Compute);
    CHECK_FALSE(host.communicates);
    CHECK(host.seconds == Approx(10e-6));
    CHECK(job.streams[at(host.stream)] == "cpu");
    CHECK(job.program(0).ops[1].kind == JobOpKind::Collective);
    CHECK(job.program(0).ops[1].seconds == Approx(70e-6));
    CHECK(job.notes.empty());
  }
  SECTION("messages of converters, which have no peers") {
    const auto nodes = [](std::uint64_t type) {
      return std::vector<TraceNode>{
          TraceNode(1, "ncclDevKernel_SendRecv", type).lasts(30).with("comm_size", 64),
          collective(2, 0, 64).lasts(90)};
    };
    const JobGraph job = job_of({nodes(kSendNode), nodes(kRecvNode)});
    CHECK(job.program(0).ops[0].communicates);
    CHECK(job.program(0).ops[0].seconds == Approx(30e-6));
    CHECK(job.program(1).ops[1].kind == JobOpKind::Collective);
    REQUIRE(job.notes.size() == 2);
    CHECK(job.notes[0] ==
          "1 node of communication cannot be simulated and keeps its measured duration, 12.5 % of "
          "the communication in the traces: it has no comm_dst (node 1 of t.et, "
          "'ncclDevKernel_SendRecv')");
  }
  SECTION("its counterparts on other ranks do the same") {
    const JobGraph job = job_of({{collective(1, 0, 64).lasts(50)},
                                 {TraceNode(1, "c", kCollNode).with("comm_size", 64).lasts(40)}});
    CHECK(job.program(0).ops[0].communicates);
    CHECK(job.program(1).ops[0].communicates);
    CHECK(job.notes.size() == 2);
  }
}

TEST_CASE("metadata nodes pass dependencies on", "[workloads][readers][chakra]") {
  const JobGraph job = job_of({{TraceNode(1, "a", kCompNode), TraceNode(2, "b", kCompNode),
                                TraceNode(3, "meta", kMetadataNode).after({1, 2}),
                                TraceNode(4, "meta", kMetadataNode).after({3}),
                                TraceNode(5, "c", kCompNode).after({4, 2})}});
  REQUIRE(job.program(0).size() == 3);
  CHECK(deps_of(job.program(0), 2) == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("comm_size is the input of a rank, and sizes are those of nccl-tests",
          "[workloads][readers][chakra]") {
  struct Case {
    std::int64_t type;
    CollectiveKind kind;
    std::uint64_t bytes;  // for an input of 1,000 B on 4 ranks
  };
  const auto [type, kind, bytes] = GENERATE(values<Case>({{0, CollectiveKind::AllReduce, 1000},
                                                          {1, CollectiveKind::Reduce, 1000},
                                                          {2, CollectiveKind::AllGather, 4000},
                                                          {3, CollectiveKind::Gather, 4000},
                                                          {4, CollectiveKind::Scatter, 1000},
                                                          {5, CollectiveKind::Broadcast, 1000},
                                                          {6, CollectiveKind::AllToAll, 1000},
                                                          {7, CollectiveKind::ReduceScatter, 1000},
                                                          {8, CollectiveKind::ReduceScatter, 1000},
                                                          {9, CollectiveKind::AllReduce, 4}}));
  const std::vector<TraceNode> nodes = {collective(1, type, 1000)};
  const JobGraph job = job_of({nodes, nodes, nodes, nodes});
  CHECK(job.program(3).ops[0].collective == kind);
  CHECK(job.program(3).ops[0].bytes == bytes);
}

TEST_CASE("numbers of all types are read as attributes", "[workloads][readers][chakra]") {
  const auto size_of = [](const Message& value) {
    TraceNode node = TraceNode(1, "c", kCollNode).with("comm_type", 0);
    const JobGraph job = job_of({{node.attribute(value)}, {node}});
    return job.program(0).ops[0].bytes;
  };
  const auto named = [] { return Message().text(1, "comm_size"); };
  CHECK(size_of(named().number(7, 77)) == 77);                     // int32
  CHECK(size_of(named().number(11, 77)) == 77);                    // uint32
  CHECK(size_of(named().number(13, 1ULL << 40U)) == 1ULL << 40U);  // uint64
  CHECK(size_of(named().number(17, 154)) == 77);                   // sint64
  CHECK(size_of(named().fixed32(19, 77)) == 77);
  CHECK(size_of(named().fixed64(21, 77)) == 77);
  CHECK(size_of(named().fixed32(23, 77)) == 77);
  CHECK(size_of(named().fixed64(25, 77)) == 77);
  CHECK(contains(thrown([&] { return size_of(named().text(29, "77")); }),
                 "t.et: node 1 ('c'): its comm_size is no whole number"));
}

TEST_CASE("process groups come from metadata nodes or a file", "[workloads][readers][chakra]") {
  const auto call = [](std::string_view group) {
    return collective(2, 0, 64).with_text("pg_name", group);
  };
  SECTION("metadata of PyTorch, with one name for two groups") {
    const auto nodes = [&](const std::string& ranks) {
      return std::vector<TraceNode>{
          TraceNode(1, "## process_group:init ##", kMetadataNode)
              .inputs(R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": []}, )"
                      R"({"pg_name": "3", "pg_desc": "mesh_tp", "ranks": )" +
                      ranks + "}]']"),
          call("3").after({1}), collective(4, 0, 32).with_text("pg_name", "0")};
    };
    const JobGraph job =
        job_of({nodes("[0, 1]"), nodes("[0, 1]"), nodes("[2, 3]"), nodes("[2, 3]")});
    CHECK(job.programs.size() == 1);
    const JobOp& tp = job.program(3).ops[0];
    CHECK(job.group(3, tp).ranks == std::vector<std::int32_t>{2, 3});
    CHECK(job.group(0, tp).ranks == std::vector<std::int32_t>{0, 1});
    CHECK(job.communicators[at(job.group(3, tp).communicator)].name == "mesh_tp");
    const JobOp& all = job.program(3).ops[1];
    CHECK(job.group(3, all).ranks == std::vector<std::int32_t>{0, 1, 2, 3});
    CHECK(job.communicators[at(job.group(3, all).communicator)].name == "default_pg");
  }
  SECTION("file of groups") {
    const TemporaryFile file(R"({"1": [0, 2], "2": [1, 3]})", "groups.json");
    const std::vector<std::vector<TraceNode>> ranks = {
        {call("1")}, {call("2")}, {call("1")}, {call("2")}};
    const JobGraph job = job_of(ranks, {.groups_file = file.path()});
    CHECK(job.programs.size() == 1);
    CHECK(job.group(2, job.program(2).ops[0]).ranks == std::vector<std::int32_t>{0, 2});
    CHECK(chakra_refusal(ranks) ==
          "t.et: node 2 ('c'): its process group '1' is not defined; expected a metadata node with "
          "the group, or a file of groups");
    for (const char* wrong : {"[1]", "{", R"({"1": [-1]})", R"({"1": [[0]]})", R"({"1": []})"}) {
      const TemporaryFile other(wrong, "wrong.json");
      CHECK(contains(thrown([&] { return job_of(ranks, {.groups_file = other.path()}); }),
                     "wrong.json: "));
    }
  }
  SECTION("group of one rank") {
    const TemporaryFile file(R"({"1": [0]})", "groups.json");
    const JobGraph job = job_of({{call("1").lasts(4)}, {TraceNode(1, "a", kCompNode)}},
                                {.groups_file = file.path()});
    CHECK(job.program(0).ops[0].kind == JobOpKind::Compute);
    CHECK(job.program(0).ops[0].seconds == Approx(4e-6));
  }
}

TEST_CASE("dimensions of ASTRA-sim's topology must all be involved",
          "[workloads][readers][chakra]") {
  const auto nodes = [](std::string_view flags) {
    return std::vector<TraceNode>{collective(1, 0, 8).with_flags("involved_dim", flags)};
  };
  using namespace std::string_view_literals;
  CHECK(job_of({nodes("\1\1"sv), nodes("\1\1"sv)}).program(0).size() == 1);
  CHECK(contains(
      chakra_refusal(std::vector<std::vector<TraceNode>>{nodes("\1\0"sv), nodes("\1\0"sv)}),
      "its involved_dim selects some dimensions of ASTRA-sim's topology"));
}

TEST_CASE("messages have peers, tags and streams", "[workloads][readers][chakra]") {
  const auto message = [](std::uint64_t type, std::int64_t from, std::int64_t to) {
    return TraceNode(1, "m", type)
        .with("comm_src", from)
        .with("comm_dst", to)
        .with("comm_size", 10)
        .with("comm_tag", 6);
  };
  const JobGraph job = job_of({{message(kSendNode, 0, 1), TraceNode(2, "a", kCompNode).after({1})},
                               {message(kRecvNode, 0, 1)}});
  const JobOp& send = job.program(0).ops[0];
  CHECK(send.kind == JobOpKind::Send);
  CHECK(send.peer == 1);
  CHECK(send.tag == 6);
  CHECK(send.bytes == 10);
  CHECK(job.streams[at(send.stream)] == "to 1, tag 6");
  CHECK(job.program(1).ops[0].kind == JobOpKind::Recv);
  CHECK(job.streams[at(job.program(1).ops[0].stream)] == "from 0, tag 6");
  const auto two = [&](const TraceNode& node) {
    return chakra_refusal(
        std::vector<std::vector<TraceNode>>{{node}, {TraceNode(1, "a", kCompNode)}});
  };
  CHECK(contains(two(message(kSendNode, 1, 0)),
                 "its comm_src is 1, but the trace is that of rank 0"));
  CHECK(contains(two(message(kSendNode, 0, 2)), "its comm_dst is 2, but the job has ranks 0 to 1"));
  CHECK(contains(two(TraceNode(1, "m", kRecvNode).with("comm_size", 1)), "it has no comm_src"));
  CHECK(contains(two(message(kSendNode, 0, 1)), "rank 1 has no matching receive (tag 6)"));
}

TEST_CASE("streams of a trace are kept, and communication can be one at a time",
          "[workloads][readers][chakra]") {
  const std::vector<TraceNode> traced = {TraceNode(1, "k", kCompNode).with("stream", 7),
                                         collective(2, 0, 8).with("stream", 20)};
  const JobGraph job = job_of({traced, traced});
  CHECK(job.streams == std::vector<std::string>{"stream 7", "stream 20"});
  const std::vector<TraceNode> plain = {collective(1, 0, 8),
                                        TraceNode(2, "m", kMemLoadNode).lasts(1)};
  const JobGraph free = job_of({plain, plain});
  CHECK(free.streams == std::vector<std::string>{"collectives of group 0", "memory"});
  const JobGraph serial = job_of({plain, plain}, {.one_communication = true});
  CHECK(serial.streams == std::vector<std::string>{"communication"});
}

TEST_CASE("wrong Chakra nodes are refused with their numbers", "[workloads][readers][chakra]") {
  const auto one = [](const TraceNode& node) {
    return thrown([&] { return job_of({{node}, {TraceNode(1, "a", kCompNode)}}); });
  };
  CHECK(one(TraceNode(4, "x", 8)) == "t.et: node 4 ('x'): its type is 8; expected 1 to 7");
  CHECK(contains(one(TraceNode(4, "x", 0)), "its type is 0; expected 1 to 7"));
  CHECK(
      contains(one(TraceNode(4, "x", kCompNode).after({4})), "node 4 ('x'): it waits for itself"));
  CHECK(contains(one(TraceNode(4, "x", kCollNode).with("comm_size", 1)), "it has no comm_type"));
  CHECK(contains(one(TraceNode(4, "x", kCollNode).with("comm_type", 1)), "it has no comm_size"));
  CHECK(contains(one(collective(4, 10, 1)), "its comm_type is 10; expected 0 to 9"));
  CHECK(contains(one(collective(4, 0, 0)), "its comm_size is 0; expected at least 1 byte"));
  CHECK(contains(one(collective(4, 0, -5)), "its comm_size is -5; expected at least 1 byte"));
  CHECK(contains(one(collective(4, 2, std::int64_t{1} << 62)), "is too large for 2 ranks"));
  CHECK(contains(one(collective(4, 0, std::numeric_limits<std::int64_t>::max())),
                 "node 4): its size is 9223372036854775807 bytes; expected at most 16TiB"));
  CHECK(contains(one(TraceNode(4, "x", kCompNode).with("num_ops", -1)),
                 "its num_ops is -1; expected a number"));
  CHECK(contains(one(collective(4, 5, 8).with("root", 2)),
                 "its root, rank 2, is not in its process group"));
  CHECK(contains(chakra_refusal(std::vector<std::vector<TraceNode>>{
                     {TraceNode(1, "a", kCompNode), TraceNode(1, "b", kCompNode)}}),
                 "node 1 ('b'): a node before it has the same id"));
  CHECK(contains(
      one(TraceNode(1, "g", kMetadataNode).inputs(R"([{"pg_name": "1", "ranks": [[1]]}])")),
      "a process group has no name, or ranks that are no list"));
  CHECK(contains(thrown([] { return chakra_job({}); }), "a job needs at least one trace"));
  // Calls that do not match are found by the checks of all jobs.
  CHECK(contains(chakra_refusal(std::vector<std::vector<TraceNode>>{{collective(1, 0, 8)},
                                                                    {collective(1, 0, 16)}}),
                 "is allreduce of 16 B, but rank 0 makes allreduce of 8 B"));
}

TEST_CASE("damaged Chakra files are refused with the byte", "[workloads][readers][chakra]") {
  const std::string good =
      chakra_bytes({TraceNode(1, "a", kCompNode), TraceNode(2, "b", kCompNode).after({1})});
  CHECK(chakra_refusal(std::string()) == "t.et: it is empty; expected a Chakra execution trace");
  CHECK(chakra_refusal(TraceNode(1, "a", kCompNode).delimited()) ==
        "t.et: it does not begin with the metadata of a Chakra execution trace");
  // Every cut is an error, except between messages.
  std::vector<std::size_t> ends = {chakra_header().size()};
  ends.push_back(ends.back() + TraceNode(1, "a", kCompNode).delimited().size());
  for (std::size_t size = 1; size < good.size(); ++size) {
    const bool whole = std::find(ends.begin(), ends.end(), size) != ends.end();
    INFO(size);
    CHECK((chakra_refusal(good.substr(0, size)) == "(nothing thrown)") == whole);
  }
  CHECK(contains(chakra_refusal(good.substr(0, good.size() - 1)), "but the file ends after"));
  CHECK(contains(chakra_refusal(chakra_header() + "\xff\xff\xff\xff\x0f"),
                 "a message of 4294967295 bytes begins here, but the file ends after 0"));
  CHECK(contains(chakra_refusal(chakra_header() + std::string(11, '\xff')),
                 "found no length of a message"));
  CHECK(contains(chakra_refusal(chakra_header() + "\x02\x08\xff"),
                 "field 1 is truncated or no number"));
  CHECK(contains(chakra_refusal(chakra_header() + "\x02\x12\x05"),
                 "field 2 has 5 bytes, but its message ends after 0"));
  CHECK(contains(chakra_refusal(chakra_header() + "\x01\x0b"), "field 1 has wire type 3"));
  CHECK(contains(chakra_refusal(chakra_header() + std::string("\x01\x00", 2)),
                 "byte 9: found no field of a protobuf message"));
  CHECK(contains(thrown([&] { return read_chakra_node_stream(good, "t.et", 1); }),
                 "the traces of the job have more than"));
}

TEST_CASE("the files of a job are found by their prefix", "[workloads][readers][chakra]") {
  const TemporaryFolder folder;
  const std::string bytes = chakra_bytes({collective(1, 0, 8)});
  const std::string prefix = folder / "train.v1";
  CHECK(contains(thrown([&] { return chakra_files(prefix); }), "train.v1.0.et' does not exist"));
  for (const char* rank : {"0", "1", "10", "01"}) write_file(prefix + "." + rank + ".et", bytes);
  write_file(folder / "train.0.et", bytes);
  write_file(folder / "single.et", bytes);
  const std::string missing = thrown([&] { return chakra_files(prefix); });
  CHECK(contains(missing, "train.v1.2.et' is missing, but there is "));
  for (int rank = 2; rank < 10; ++rank) {
    write_file(prefix + "." + std::to_string(rank) + ".et", bytes);
  }
  const std::vector<std::string> files = chakra_files(prefix);
  REQUIRE(files.size() == 11);
  CHECK(files[10] == prefix + ".10.et");
  CHECK(chakra_files(prefix + ".4.et") == files);
  CHECK(chakra_files(folder / "single.et") == std::vector<std::string>{folder / "single.et"});
  const JobGraph job = read_chakra(files);
  CHECK(job.ranks == 11);
  CHECK(job.programs.size() == 1);
  CHECK(job.name == "train.v1");
  CHECK(contains(thrown([&] { return read_chakra({folder / "none.et"}); }), "none.et"));
}
