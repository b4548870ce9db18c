#include "workloads/readers/goal_reader.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::string refusal(const std::string& text) {
  const std::string message = thrown([&] { return read_goal(text, "s.goal"); });
  UNSCOPED_INFO(message);
  return message;
}

// Streams and lines of a rank's operations, in the order of its program: "cpu 0:3".
std::vector<std::string> placed(const JobGraph& job, std::int32_t rank) {
  std::vector<std::string> list;
  for (const JobOp& op : job.program(rank).ops) {
    list.push_back(job.streams[at(op.stream)] + ":" + std::to_string(op.origin));
  }
  return list;
}

// Index of the operation of a line that is not the marker of its start.
std::int32_t op_of_line(const JobGraph& job, std::int32_t rank, std::int64_t line) {
  const RankProgram& program = job.program(rank);
  for (std::int32_t i = 0; i < program.size(); ++i) {
    const JobOp& op = program.ops[at(i)];
    if (op.origin == line && job.names[at(op.name)] != "start") return i;
  }
  return -1;
}

std::vector<std::int32_t> dependencies(const RankProgram& program, std::int32_t op) {
  return {program.deps.begin() + program.dep_begin[at(op)],
          program.deps.begin() + program.dep_begin[at(op) + 1]};
}

}  // namespace

TEST_CASE("a GOAL schedule becomes a job", "[workloads][readers][goal]") {
  const JobGraph job = read_goal(
      "// two ranks\n"
      "num_ranks 2\r\n"
      "rank 0 {\n"
      "  l1: calc 1000 cpu 3\n"
      "  l2: send 10b to 1 tag 5 cpu 1 nic 2\n"
      "  l2 requires l1\n"
      "}\n"
      "/* the\n other */ rank 1\n{ a: recv 10 b from 0 tag 5; calc 7; b: calc 0\n b requires a }",
      "dir/s.goal");
  CHECK(job.name == "s");
  CHECK(job.ranks == 2);
  CHECK(job.communicators == std::vector<Communicator>{{"world"}});
  CHECK(job.groups == std::vector<ProcessGroup>{{0, {0, 1}}});
  const RankProgram& first = job.program(0);
  REQUIRE(first.size() == 2);
  CHECK(first.file == "dir/s.goal");
  CHECK(first.ops[0].seconds == 1e-6);
  CHECK(placed(job, 0) == std::vector<std::string>{"cpu 3:4", "nic 2 lane 0:5"});
  CHECK(first.ops[1].kind == JobOpKind::Send);
  CHECK(first.ops[1].bytes == 10);
  CHECK(first.ops[1].peer == 1);
  CHECK(first.ops[1].tag == 5);
  CHECK(dependencies(first, 1) == std::vector<std::int32_t>{0});
  const RankProgram& second = job.program(1);
  REQUIRE(second.size() == 3);
  const std::int32_t recv = 0;
  CHECK(second.ops[at(recv)].kind == JobOpKind::Recv);
  CHECK(second.ops[at(recv)].origin == 10);
  CHECK(second.ops[1].seconds == 7e-9);
  CHECK(dependencies(second, 2) == std::vector<std::int32_t>{recv});
}

TEST_CASE("messages without dependencies do not wait for each other",
          "[workloads][readers][goal]") {
  const JobGraph job = read_goal(
      "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 1b to 1 tag 2\nc: recv 1b from 1\n"
      "d: send 1b to 1 tag 3\nd requires c\n}\n"
      "rank 1 {\nrecv 1b from 0 tag 1\nrecv 1b from 0 tag 2\nsend 1b to 0\nrecv 1b from 0 tag 3\n}",
      "s.goal");
  // d follows c anyway, so it has c's stream.
  CHECK(placed(job, 0) == std::vector<std::string>{"nic 0 lane 0:3", "nic 0 lane 1:4",
                                                   "nic 0 lane 2:5", "nic 0 lane 2:6"});
  std::vector<std::string> streams = placed(job, 1);
  std::sort(streams.begin(), streams.end());
  CHECK(streams.size() == 4);
  CHECK(streams.back().starts_with("nic 0 lane 3"));
}

TEST_CASE("a stream of messages goes on through calcs", "[workloads][readers][goal]") {
  std::string text = "num_ranks 2\nrank 0 {\n";
  std::string other = "rank 1 {\n";
  for (int k = 0; k < 100; ++k) {
    const std::string n = std::to_string(k);
    text += "s" + n + ": send 8b to 1 tag " + n + "\nc" + n + ": calc 5\nc" + n + " requires s" +
            n + "\n";
    if (k > 0) text += "s" + n + " requires c" + std::to_string(k - 1) + "\n";
    other += "recv 8b from 0 tag " + n + "\n";
  }
  const JobGraph job = read_goal(text + "}\n" + other + "}\n", "s.goal");
  for (const JobOp& op : job.program(0).ops) {
    CHECK(job.streams[at(op.stream)] == (op.kind == JobOpKind::Send ? "nic 0 lane 0" : "cpu 0"));
  }
  CHECK(job.streams.size() == 101);  // all receives of rank 1 may overlap
}

TEST_CASE("the order of calcs on a CPU never contradicts dependencies",
          "[workloads][readers][goal]") {
  // In the order of the text, rank 0 would wait for itself: line 3 waits for line 5 on its CPU,
  // and line 4 for a message that rank 1 sends only after it has heard from rank 0.
  const JobGraph job = read_goal(
      "num_ranks 2\nrank 0 {\n"
      "a: calc 10\nb: calc 10\nc: calc 5\nr: recv 4b from 1\ns: send 4b to 1\n"
      "a requires c\nb requires r\ns requires a\n}\n"
      "rank 1 {\nr: recv 4b from 0\ns: send 4b to 0\ns requires r\n}",
      "s.goal");
  std::vector<std::int64_t> lines;
  for (const JobOp& op : job.program(0).ops) {
    if (op.kind == JobOpKind::Compute) lines.push_back(op.origin);
  }
  CHECK(lines == std::vector<std::int64_t>{5, 3, 4});
}

TEST_CASE("irequires waits for the start of an operation", "[workloads][readers][goal]") {
  const JobGraph job = read_goal(
      "num_ranks 1\nrank 0 {\na: calc 10\nb: calc 100\nc: calc 1 cpu 1\nb requires a\n"
      "c irequires b\n}",
      "s.goal");
  const RankProgram& program = job.program(0);
  REQUIRE(program.size() == 4);
  const std::int32_t b = op_of_line(job, 0, 4);
  const std::int32_t c = op_of_line(job, 0, 5);
  const JobOp& marker = program.ops[at(b - 1)];
  CHECK(job.names[at(marker.name)] == "start");
  CHECK(marker.seconds == 0);
  CHECK(marker.stream == program.ops[at(b)].stream);
  CHECK(dependencies(program, b - 1) == std::vector<std::int32_t>{op_of_line(job, 0, 3)});
  CHECK(dependencies(program, b).empty());
  CHECK(dependencies(program, c) == std::vector<std::int32_t>{b - 1});
}

TEST_CASE("sends that wait for each other are buffered", "[workloads][readers][goal]") {
  const JobGraph job = read_goal(
      "num_ranks 2\nrank 0 {\ns: send 0b to 1\nr: recv 0b from 1\nr requires s\n}\n"
      "rank 1 {\ns: send 0b to 0\nr: recv 0b from 0\nr requires s\n}",
      "s.goal");
  CHECK(job.program(0).size() == 2);
  CHECK(job.program(0).ops[0].bytes == 1);  // messages of no bytes have one
  CHECK(job.programs.size() == 2);
}

TEST_CASE("wrong GOAL schedules are refused with the place", "[workloads][readers][goal]") {
  const auto body = [](const std::string& ops) { return "num_ranks 2\nrank 0 {\n" + ops + "}\n"; };
  const std::string idle = "rank 1 { }\n";
  CHECK(refusal("") ==
        "s.goal:1:1: found the end of the text; a schedule starts with its number of ranks; "
        "expected 'num_ranks N'");
  CHECK(contains(refusal("num_ranks -2"), "s.goal:1:11: the number of ranks is negative"));
  CHECK(contains(refusal("num_ranks 0"), "s.goal:1:11: the number of ranks is 0; expected 1 to"));
  CHECK(contains(refusal("num_ranks 99999999999999999999"), "expected less than 2^64"));
  for (const char* const size : {"17592186044417", "9223372036854775808", "18446744073709551615"}) {
    const std::string message = refusal(std::string("num_ranks 2\nrank 0 {\n  send ") + size +
                                        "b to 1\n}\nrank 1 {\n  recv " + size + "b from 0\n}\n");
    CHECK(contains(message, "s.goal:3:"));
    CHECK(contains(message, std::string("its size is ") + size + " bytes; expected at most 16TiB"));
  }
  CHECK(contains(refusal("num_ranks 2\nrank 2 { }"), "s.goal:2:6: found rank 2, but the schedule"));
  CHECK(
      contains(refusal("num_ranks 2\nrank 0 { }\nrank 0 { }"), "s.goal:3:6: rank 0 has a second"));
  CHECK(contains(refusal("num_ranks 2\nrank 0 { }\n"), "s.goal:3:1: rank 1 has no block"));
  CHECK(contains(refusal("num_ranks 2\nrank 0 calc"), "s.goal:2:8: found 'calc'; expected '{'"));
  CHECK(refusal("num_ranks 2\nrank 0 {\ncalc 5\n") ==
        "s.goal:4:1: found the end of the text; expected '}', which ends the block of rank 0 of "
        "line 2");
  CHECK(contains(refusal(body("calc -5\n")), "s.goal:3:6: the duration is negative"));
  CHECK(contains(refusal(body("calc 5 nic 0\n")), "s.goal:3:8: found 'nic'; expected cpu or"));
  CHECK(contains(refusal(body("calc 5 calc 6\n")), "s.goal:3:8: found 'calc'"));
  CHECK(contains(refusal(body("send 5 to 1\n")), "s.goal:3:8: found 'to'; expected 'b'"));
  CHECK(contains(refusal(body("send 5b from 1\n")), "found 'from'; expected 'to'"));
  CHECK(contains(refusal(body("send 5b to 0\n")), "s.goal:3:12: rank 0 sends to itself"));
  CHECK(contains(refusal(body("send 5b to 7\n")), "the receiver is 7; expected 0 to 1"));
  CHECK(contains(refusal(body("send 5b to 1 cpu 256\n")), "the CPU is 256; expected 0 to 255"));
  CHECK(contains(refusal(body("send 5b to 1 tag 1 tag 2\n")), "s.goal:3:20: found 'tag'"));
  CHECK(contains(refusal(body("recv 5b from -1\n")), "the sender is -1 (any)"));
  CHECK(contains(refusal(body("recv 5b from 1 tag -1\n")), "the tag is -1 (any)"));
  CHECK(contains(refusal(body("a: calc 1\nb requires a\n") + idle),
                 "s.goal:4:1: label 'b' is not defined in the block of rank 0"));
  CHECK(contains(refusal(body("label1: calc 1\nlabel1 requires labl1\n") + idle),
                 "s.goal:4:17: label 'labl1' is not defined in the block of rank 0; did you mean "
                 "'label1'?"));
  CHECK(contains(refusal(body("a: calc 1\na: calc 2\n")),
                 "s.goal:4:1: label 'a' is given twice; rank 0 has it in line 3 already"));
  CHECK(contains(refusal(body("a: calc 1\nb: calc 1\na requires b\nb requires a\n") + idle),
                 "s.goal:3:4: this calc of rank 0 waits for itself through its dependencies"));
  CHECK(contains(refusal(body("a: calc 1\na irequires a\n") + idle), "waits for itself"));
  CHECK(contains(refusal(body("send 5b to 1\nsend 5b to 1\n") + "rank 1 {\nrecv 5b from 0\n}"),
                 "s.goal:4:1: send without recv: rank 0 sends 2 messages with tag 0 to rank 1, "
                 "which receives 1"));
  CHECK(contains(refusal(body("recv 5b from 1\n") + idle), "s.goal:3:1: recv without send"));
  CHECK(contains(refusal(body("send 5b to 1\n") + "rank 1 {\nrecv 6b from 0\n}"),
                 "it receives 6 B, but rank 0 sends 5 B"));
  CHECK(contains(refusal(body("r: recv 5b from 1\ns: send 5b to 1\ns requires r\n") +
                         "rank 1 {\nr: recv 5b from 0\ns: send 5b to 0\ns requires r\n}"),
                 "s.goal:3:4: deadlock: this recv of rank 0 waits for rank 1"));
  CHECK(contains(refusal("/* num_ranks 2"), "s.goal:1:1: the comment has no end"));
  CHECK(contains(refusal("num_ranks 1\nrank 0 { \x01 }"), "s.goal:2:10: found '\\x01'"));
}

TEST_CASE("GOAL schedules beyond the limits are refused", "[workloads][readers][goal]") {
  const std::string text = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nb requires a\n}";
  const auto limited = [&](const JobLimits& limits) {
    return thrown([&] { return read_goal(text, "s.goal", limits); });
  };
  CHECK(limited({}) == "(nothing thrown)");
  CHECK(contains(limited({.ops = 1}), "s.goal:4:4: the schedule has more than 1 operations"));
  CHECK(contains(limited({.dependencies = 0}), "s.goal:5:12: the schedule has more than 0"));
  CHECK(contains(limited({.ranks = 0}), "the number of ranks is 1"));
  CHECK(contains(limited({.goal_bytes = 10}), "bytes; expected at most 10"));
  const TemporaryFolder folder;
  write_file(folder.path() + "/s.goal", text);
  CHECK(read_goal_file(folder.path() + "/s.goal").program(0).size() == 2);
  CHECK(contains(thrown([&] { return read_goal_file("/nowhere/s.goal"); }), "/nowhere/s.goal"));
}

TEST_CASE("random GOAL schedules keep their dependencies", "[workloads][readers][goal]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const auto ranks = static_cast<int>(random.integer(2, 5));
    // A global order of operations, so that there is no deadlock; lines of a rank are shuffled.
    std::vector<std::vector<std::string>> lines(static_cast<std::size_t>(ranks));
    std::vector<int> ops(static_cast<std::size_t>(ranks), 0);
    std::size_t edges = 0;
    const auto add = [&](int rank, const std::string& op) {
      const auto r = static_cast<std::size_t>(rank);
      const std::string label = "l" + std::to_string(ops[r]);
      lines[r].push_back(label + ": " + op);
      for (int k = 0; k < 2 && ops[r] > 0; ++k) {
        if (random.uniform() < 0.5) continue;
        lines[r].push_back(label + (random.uniform() < 0.3 ? " irequires l" : " requires l") +
                           std::to_string(random.integer(0, ops[r] - 1)));
        ++edges;
      }
      ++ops[r];
    };
    for (int k = 0; k < 60; ++k) {
      const auto from = static_cast<int>(random.integer(0, ranks - 1));
      if (random.uniform() < 0.4) {
        add(from, "calc " + std::to_string(random.integer(0, 1000)) + " cpu " +
                      std::to_string(random.integer(0, 1)));
        continue;
      }
      const int to = (from + static_cast<int>(random.integer(1, ranks - 1))) % ranks;
      const std::string tag = " tag " + std::to_string(k);
      add(from, "send 64b to " + std::to_string(to) + tag);
      add(to, "recv 64b from " + std::to_string(from) + tag);
    }
    std::string text = "num_ranks " + std::to_string(ranks) + "\n";
    for (int rank = 0; rank < ranks; ++rank) {
      auto& own = lines[static_cast<std::size_t>(rank)];
      for (std::size_t i = own.size(); i > 1; --i) {
        std::swap(
            own[i - 1],
            own[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
      }
      text += "rank " + std::to_string(rank) + " {\n";
      for (const std::string& line : own) text += line + "\n";
      text += "}\n";
    }
    INFO(text);
    const JobGraph job = read_goal(text, "s.goal");  // check_job has passed
    std::size_t found = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankProgram& program = job.program(rank);
      int own = 0;
      for (const JobOp& op : program.ops) own += job.names[at(op.name)] == "start" ? 0 : 1;
      CHECK(own == ops[static_cast<std::size_t>(rank)]);
      for (std::int32_t i = 0; i < program.size(); ++i) {
        for (const std::int32_t on : dependencies(program, i)) CHECK(on < i);
      }
      found += program.deps.size();
    }
    CHECK(found == edges);
  }
}

TEST_CASE("the longest calc of a GOAL schedule is read", "[workloads][readers][goal]") {
  const JobGraph job = read_goal("num_ranks 1\nrank 0 { calc 18446744073709551615 }", "s.goal");
  CHECK(job.program(0).ops[0].seconds == 18446744073709551616.0 / 1e9);
}
