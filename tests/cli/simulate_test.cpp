// cclgym simulate from the outside.
#include <nlohmann/json.hpp>

#include "../experiments/temporary_folder.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace cclgym::test {
namespace {

// simulate on an NDv4 with these options, the ones given later going first.
Ended simulate(std::vector<std::string> options, const std::string& folder = ".") {
  options.insert(options.begin(), {"simulate", "--fabric", "ndv4"});
  return run_program(options, folder);
}

std::string refusal(const std::vector<std::string>& options, const std::string& folder = ".") {
  const Ended ended = simulate(options, folder);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  return ended.err;
}

const std::vector<std::string>& ring_allreduce() {
  static const std::vector<std::string> options{"--collective", "allreduce", "--algorithm",
                                                "ring",         "--size",    "1MiB"};
  return options;
}

std::vector<std::string> ring_with(const std::vector<std::string>& more) {
  std::vector<std::string> options = ring_allreduce();
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

TEST_CASE("simulate takes the values that experiments take") {
  CHECK(refusal(ring_with({"--channels", "65"})) ==
        "error: --channels: channels is '65'; expected >= 1, <= 64\n");
  CHECK(refusal(ring_with({"--threads", "31"})) ==
        "error: --threads: threads is '31'; expected >= 32, <= 1024, a multiple of 32\n");
  CHECK(refusal(ring_with({"--datatype", "float33"})).starts_with("error: --datatype: "));
  CHECK(simulate(ring_with({"--channels", "16", "--threads", "1024"})).code == 0);
}

TEST_CASE("simulate: sizes are multiples of the type's elements") {
  const std::vector<std::string> odd{"--collective", "allreduce", "--algorithm",
                                     "ring",         "--size",    "1022B"};
  CHECK(refusal(odd).starts_with("error: --size: allreduce of 1022 B is not a multiple of 4 B"));
  std::vector<std::string> half = odd;
  half.insert(half.end(), {"--datatype", "float16"});
  CHECK(simulate(half).code == 0);
}

TEST_CASE("simulate: a root for collectives that have one") {
  CHECK(refusal(ring_with({"--root", "1"})) ==
        "error: --root: allreduce has no root; leave --root out\n");
  CHECK(simulate(
            {"--collective", "broadcast", "--algorithm", "ring", "--size", "1MiB", "--root", "1"})
            .code == 0);
}

TEST_CASE("simulate --program: what compile wrote takes the time of the algorithm") {
  const TemporaryFolder folder;
  // Of an algorithm that MSCCL's interpreter runs, as it does what is in a file.
  REQUIRE(run_program(
              {"compile", "spread-ring", "--collective", "allreduce", "--gpus", "8", "--channels",
               "2", "--instances", "3", "--protocol", "LL128", "--out", "ring.xml"},
              folder.path())
              .code == 0);
  const auto time_s = [&](const std::vector<std::string>& options) {
    const Ended ended = simulate(options, folder.path());
    REQUIRE(ended.code == 0);
    return nlohmann::json::parse(ended.out).at("time_s").get<double>();
  };
  const double algorithm_s =
      time_s({"--collective", "allreduce", "--algorithm", "spread-ring", "--channels", "2",
              "--instances", "3", "--size", "1MiB", "--protocol", "LL128", "--json"});
  CHECK(time_s({"--program", "ring.xml", "--size", "1MiB", "--json"}) == Approx(algorithm_s));
  CHECK(time_s({"--program", "ring.xml", "--size", "1MiB", "--protocol", "Simple", "--json"}) !=
        Approx(algorithm_s));

  CHECK(refusal({"--program", "ring.xml", "--size", "1MiB", "--channels", "2"}, folder.path()) ==
        "error: --channels: comes with the program; leave it out\n");
  CHECK(refusal({"--program", "ring.xml", "--nodes", "2", "--size", "1MiB"}, folder.path()) ==
        "error: --program: 'ring.xml' is for 8 ranks; fabric 'ndv4' has 16\n");
}

}  // namespace
}  // namespace cclgym::test
