#include <memory>
#include <string>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/program_entry.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thrown.hpp"

namespace cclgym {

namespace {

template <typename Action>
bool says(Action action, const char* text) {
  return thrown(action).find(text) != std::string::npos;
}

std::shared_ptr<const ThreadBlockProgram> program_of(const char* algorithm, CollectiveKind kind,
                                                     int ranks, int channels) {
  return build_algorithm(algorithm, {.collective = kind, .ranks = ranks, .channels = channels});
}

AlgorithmEntry renamed(const char* algorithm, std::string name) {
  AlgorithmEntry entry = shipped_algorithm(algorithm);
  entry.name = std::move(name);
  return entry;
}

}  // namespace

TEST_CASE("a library is a value: what is added to a copy is not in the original",
          "[collectives][library]") {
  AlgorithmLibrary mine = AlgorithmLibrary::shipped();
  const std::size_t count = mine.entries().size();
  mine.add(renamed("ring", "my-ring"));
  CHECK(mine.entries().size() == count + 1);
  CHECK(mine.index_of("my-ring") == count);
  CHECK(mine.index_of("ring") == 0);
  CHECK(AlgorithmLibrary::shipped().find("my-ring") == nullptr);
  CHECK(mine.names().back() == "my-ring");
  CHECK(AlgorithmLibrary().entries().empty());
}

TEST_CASE("a library refuses names that are taken or not valid", "[collectives][library]") {
  AlgorithmLibrary mine = AlgorithmLibrary::shipped();
  CHECK(says([&] { return mine.add(renamed("ring", "tree")); },
             "there is an algorithm 'tree' already"));
  for (const char* name : {"", "a b", "a/b", "a:b", "-a", ".a", "a,b", "ä"}) {
    INFO(name);
    CHECK_THROWS_AS(mine.add(renamed("ring", name)), UserError);
  }
  CHECK_THROWS_AS(mine.add(renamed("ring", std::string(101, 'a'))), UserError);
  CHECK(says([&] { return mine.at("rign"); }, "ring"));
  AlgorithmEntry empty;
  empty.name = "empty";
  CHECK_THROWS_AS(mine.add(empty), std::logic_error);
}

TEST_CASE("an entry without a count of thread blocks is compiled and counted",
          "[collectives][library]") {
  AlgorithmEntry entry = renamed("all-pairs", "mine");
  entry.thread_blocks = nullptr;
  const AlgorithmRequest request{
      .collective = CollectiveKind::AllReduce, .ranks = 6, .channels = 2};
  CHECK(thread_blocks_per_gpu(entry, request) ==
        thread_blocks_per_gpu(shipped_algorithm("all-pairs"), request));
}

TEST_CASE("a fixed program has one collective, its ranks and its channels",
          "[collectives][library]") {
  const auto program = program_of("all-pairs", CollectiveKind::AllReduce, 6, 2);
  const AlgorithmEntry entry = program_entry("ap", program);
  CHECK(entry.fixed());
  CHECK(supports(entry, CollectiveKind::AllReduce));
  CHECK_FALSE(supports(entry, CollectiveKind::AllGather));
  CHECK_FALSE(check_ranks(entry, 6));
  CHECK(*check_ranks(entry, 8) == "ap does not run on 8 ranks: it needs exactly 6 ranks");
  CHECK_FALSE(check_fixed_program(entry, 2, 1, 0));
  CHECK(check_fixed_program(entry, 3, 1, 0)->find("must be 2, found 3") != std::string::npos);
  CHECK(check_fixed_program(entry, 2, 4, 0)->find("must be 1, found 4") != std::string::npos);
  const AlgorithmRequest request{
      .collective = CollectiveKind::AllReduce, .ranks = 6, .channels = 2};
  CHECK(build_algorithm(entry, request) == program);
  CHECK(thread_blocks_per_gpu(entry, request) == program->most_resident_blocks());
  CHECK_THROWS_AS(trace_algorithm(entry, request), UserError);
  CHECK_FALSE(check_fixed_program(shipped_algorithm("ring"), 3, 4, 5));
}

TEST_CASE("a fixed program of a rooted collective has one root", "[collectives][library]") {
  const auto program = build_algorithm(
      "pipeline", {.collective = CollectiveKind::Broadcast, .ranks = 4, .channels = 1, .root = 2});
  const AlgorithmEntry entry = program_entry("from-2", program);
  CHECK_FALSE(check_fixed_program(entry, program->channels, 1, 2));
  CHECK(check_fixed_program(entry, program->channels, 1, 0)->find("must be 2, found 0") !=
        std::string::npos);
}

TEST_CASE("a program that is wrong is no entry", "[collectives][library]") {
  auto program =
      std::make_shared<ThreadBlockProgram>(*program_of("ring", CollectiveKind::AllReduce, 4, 1));
  program->gpus[1].thread_blocks[0].steps[0].source.index += 1;
  CHECK(says([&] { return program_entry("bad", program); }, "program 'bad' is wrong"));
}

TEST_CASE("the same program may be added twice, another one under its name may not",
          "[collectives][library]") {
  const auto program = program_of("all-pairs", CollectiveKind::AllReduce, 6, 2);
  const auto again = parse_msccl_xml(to_msccl_xml(*program), "again.xml").program;
  AlgorithmLibrary mine = AlgorithmLibrary::shipped();
  mine.add(program_entry("ap", std::make_shared<const ThreadBlockProgram>(again)));
  mine.add(program_entry("ap", std::make_shared<const ThreadBlockProgram>(
                                   parse_msccl_xml(to_msccl_xml(*program), "b.xml").program)));
  CHECK(mine.entries().size() == AlgorithmLibrary::shipped().entries().size() + 1);
  CHECK_THROWS_AS(
      mine.add(program_entry("ap", program_of("ring", CollectiveKind::AllReduce, 6, 2))),
      UserError);
  AlgorithmLibrary other = AlgorithmLibrary::shipped();
  other.add(program_entry("r", program_of("ring", CollectiveKind::AllReduce, 6, 2)));
  other.add_all(mine);
  CHECK(other.entries().size() == mine.entries().size() + 1);
}

TEST_CASE("the hash of a program holds every step and what the contract requires",
          "[collectives][library]") {
  const auto program = program_of("all-pairs", CollectiveKind::AllReduce, 4, 1);
  const std::string hash = program_hash(*program);
  ThreadBlockProgram other = *program;
  other.name = "another";
  CHECK(program_hash(other) == hash);
  other.gpus[3].thread_blocks.back().steps.back().count += 1;
  CHECK(program_hash(other) != hash);
  CHECK(program_hash(*program_of("all-pairs", CollectiveKind::AllReduce, 4, 2)) != hash);
  const auto custom = [&](int index) {
    ThreadBlockProgram changed = *program;
    changed.contract = Contract::custom("mine", 4, {4, 4, 4, 4}, {4, 4, 4, 4}, [=](int, int) {
      return std::optional<RequiredValue>({{0, index}});
    });
    return program_hash(changed);
  };
  CHECK(custom(0) == custom(0));
  CHECK(custom(0) != custom(1));
}

}  // namespace cclgym
