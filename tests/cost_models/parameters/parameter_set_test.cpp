// Tests of reading and writing a set's sources and the rows that it was fitted to.
#include "cost_models/parameters/parameter_set.hpp"

#include "cost_models/parameters/parameter_writer.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "cost_models/parameters/value_source.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

const std::string kValues = R"(kernel_launch: {value: 5us, source: "set by hand: a guess"}
local_copy_rate: {value: 100 GB/s, source: "measured: by copies"}
protocols:
  LL: &one
    step_latency: {value: 1us, source: "set by hand: a guess"}
    efficiency: {value: 0.5, source: "taken over from NCCL: flags"}
    thread_block_rate: {value: 8 GB/s, source: "set by hand: a guess"}
    reduce_rate: {value: 4 GB/s, source: "set by hand: a guess"}
  LL128: *one
  Simple: *one
)";

ParameterSet set_of(const std::string& head, const std::string& values = kValues) {
  return read_parameter_set(parse_yaml("name: mine\n" + head + values, "m.yaml"));
}

std::string error_of(const std::string& head) {
  return thrown([&] { return set_of(head).model.name; });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a set says of its values where they are from", "[cost_models][parameter-set]") {
  const ParameterSet set = set_of(
      "", replaced(kValues, "{value: 100 GB/s, source: \"measured: by copies\"}", "100 GB/s"));
  CHECK(set.source_of("kernel_launch") == "set by hand: a guess");
  CHECK(set.source_of("protocols.LL128.efficiency") == "taken over from NCCL: flags");
  CHECK(set.source_of("local_copy_rate") == kNoSource);
  CHECK(set.source_of("kernel_gap") == kDefaultSource);
}

TEST_CASE("a set says which rows it was fitted to", "[cost_models][parameter-set]") {
  const ParameterSet set = set_of(R"(fitted_to:
  - {system: A, ranks: [4, 8], collectives: allreduce, sizes: [64B..4KiB x4, 5000B], configs: [x, y]}
  - {system: B}
)");
  REQUIRE(set.fitted_to);
  REQUIRE(set.fitted_to->size() == 2);
  const FittedRows& rows = set.fitted_to->front();
  CHECK(rows.sizes == std::set<std::uint64_t>{64, 256, 1024, 4096, 5000});
  CHECK(rows.where.to_string() == "m.yaml:3:5");
  CHECK(rows.hold("A", 8, "allreduce", 1024, "x"));
  CHECK(rows.hold("A", 8, "allreduce", 1024, ""));  // a row without a config may be one of them
  CHECK_FALSE(rows.hold("B", 8, "allreduce", 1024, "x"));
  CHECK_FALSE(rows.hold("A", 16, "allreduce", 1024, "x"));
  CHECK_FALSE(rows.hold("A", 8, "allgather", 1024, "x"));
  CHECK_FALSE(rows.hold("A", 8, "allreduce", 512, "x"));
  CHECK_FALSE(rows.hold("A", 8, "allreduce", 1024, "z"));
  CHECK(set.fitted_to->back().hold("B", 1000, "alltoall", 7, "any"));
  CHECK_FALSE(rows.same_rows(set.fitted_to->back()));

  CHECK(set_of("fitted_to: []\n").fitted_to->empty());
  CHECK(error_of("fitted_to: [{ranks: 4}]\n").find("system") != std::string::npos);
  CHECK(error_of("fitted_to: [{system: A, rank: 4}]\n").starts_with("m.yaml:2:25: "));
  CHECK(error_of("fitted_to: [{system: A, ranks: 1}]\n").starts_with("m.yaml:2:32: "));
  CHECK(error_of("fitted_to: [{system: A, sizes: 64x}]\n").starts_with("m.yaml:2:32: "));
  CHECK(error_of("fitted_to: Polaris\n").starts_with("m.yaml:2:12: "));
}

TEST_CASE("without the rows, a set has seen none only if all its values say so",
          "[cost_models][parameter-set]") {
  REQUIRE(set_of("").fitted_to);
  CHECK(set_of("").fitted_to->empty());
  const auto with = [](const std::string& value) {
    return set_of("", replaced(kValues, "{value: 5us, source: \"set by hand: a guess\"}", value))
        .fitted_to;
  };
  CHECK_FALSE(with("5us"));
  CHECK_FALSE(with("{value: 5us, source: somewhere}"));
  CHECK_FALSE(with("{value: 5us, source: \"fitted to x; no interval\"}"));
  CHECK_FALSE(with("{value: 5us, source: \"taken over from set x: fitted to x; no interval\"}"));
  CHECK(with("{value: 5us, source: \"taken over from set x: measured: there\"}"));
  CHECK(shipped_parameter_set("hockney").fitted_to->empty());
}

TEST_CASE("a set that is written reads back with its sources and rows",
          "[cost_models][parameter-set]") {
  for (const char* name : {"h100-cluster00", "gh200", "openmpi-tcp", "mi50"}) {
    const ParameterSet set = shipped_parameter_set(name);
    const std::string text = to_yaml(set, "a comment");
    const ParameterSet again = read_parameter_set(parse_yaml(text, "set.yaml"));
    CHECK(again.model.canonical_text() == set.model.canonical_text());
    CHECK(again.library == (set.model.name == "openmpi-tcp" ? "OpenMPI" : ""));
    CHECK(again.unmeasured == set.unmeasured);
    REQUIRE(again.fitted_to);
    REQUIRE(again.fitted_to->size() == set.fitted_to->size());
    for (std::size_t i = 0; i < set.fitted_to->size(); ++i) {
      CHECK(again.fitted_to->at(i).same_rows(set.fitted_to->at(i)));
    }
    for (const auto& [parameter, source] : set.sources) {
      CHECK(again.sources.at(parameter) == source);
    }
  }
}

}  // namespace
}  // namespace cclgym::test
