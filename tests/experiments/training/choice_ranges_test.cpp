// Tests of choices by size as text, next to published choices.
#include "experiments/training/choice_ranges.hpp"

#include "experiments/training/sample_part.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

TEST_CASE("neighbouring sizes with the same configuration are one range",
          "[experiments][choice-ranges]") {
  const EvaluatedPart part = test::sample_part();
  const std::vector<ChoiceRange> ranges = choice_ranges(part.runs[0], "allreduce");
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].from == 1024);
  CHECK(ranges[0].to == 11604);
  CHECK(ranges[0].config == "all-pairs LL c4 r1");
  CHECK(ranges[1].from == 1 << 20);
  CHECK(ranges[1].to == 1 << 20);
  CHECK(choice_ranges(part.runs[0], "allgather").empty());
}

TEST_CASE("choices and the papers' regimes as text", "[experiments][choice-ranges]") {
  std::vector<PublishedRow> regimes = published_regimes();
  std::erase_if(regimes, [](const PublishedRow& row) { return row.source != "GC3 Fig 7a"; });
  CHECK(
      choices_text(test::sample_part(), regimes) ==
      "held-out on ndv4, allreduce: choices by size\n"
      "  lstm-ppo, seed 1  1KiB..11.3KiB all-pairs LL c4 r1; 1MiB ring Simple c24 r1 tiles 2MiB\n"
      "  lstm-ppo, seed 2  1KiB all-pairs LL c4 r1; 1MiB ring Simple c24 r1 tiles 2MiB\n"
      "  svm               1KiB all-pairs LL c4 r1; 1MiB ring Simple c24 r1 tiles 2MiB\n"
      "  GC3 Fig 7a        1KiB..8KiB all-pairs r=2 LL: about NCCL's; 16KiB..256KiB ring ch=8 LL; "
      "512KiB..1MiB all-pairs r=4 LL128; 2MiB..8MiB ring ch=4 LL: about NCCL's\n");
}

TEST_CASE("the regimes built into the program", "[experiments][choice-ranges]") {
  const std::vector<PublishedRow> regimes = published_regimes();
  const auto count = [&](const std::string& fabric, const std::string& collective) {
    return std::ranges::count_if(regimes, [&](const PublishedRow& row) {
      return row.collective == collective && is_of_fabric(row, fabric);
    });
  };
  // The rows come from MSCCLang Fig 8a and Sec 7.1.1 and GC3 Fig 7a, whose row about all-pairs only
  // is not a regime.
  CHECK(count("ndv4", "allreduce") == 11);
  CHECK(count("ndv4 nodes=2", "allreduce") == 4);
  CHECK(count("ndv4 nodes=3", "allreduce") == 0);
  CHECK(count("dgx1", "allgather") == 3);
  CHECK(count("frontier nodes=256", "reducescatter") == 1);
}

}  // namespace
}  // namespace cclgym
