// Tests of ratios and intervals of a policy relative to the default and the best, for rows with
// known results.
#include "calibration/validate/validation.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

struct Rows {
  TemporaryFolder folder{};
  std::string path = folder / "rows.csv";
  std::string text =
      "collective,size_bytes,algorithm,segment_bytes,round,role,status,time_us_median\n";
  void add(const char* collective, int bytes, const char* algorithm, int round, const char* role,
           double time_us, const char* status = "ok", int segment = 0) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", collective, bytes, algorithm, segment, round,
                        role, status, time_us);
  }
  [[nodiscard]] Validation read() const {
    write_text_file(path, text);
    return read_validation(path, "lab");
  }
};

TEST_CASE("the choice is compared with the default round by round, also in slow rounds",
          "[calibration][validation]") {
  Rows rows;
  for (int round = 1; round <= 8; ++round) {
    // All calls are slower in some rounds. The choice always takes 0.8 times as long as the
    // default.
    const double slow = round % 3 == 0 ? 5 : 1;
    rows.add("allreduce", 1024, "openmpi-default", round, "default", 100 * slow);
    rows.add("allreduce", 1024, "ring", round, "chosen", 80 * slow, "ok", 32768);
    rows.add("allreduce", 1024, "linear", round, "other", 60 * slow);
    rows.add("allreduce", 4096, "openmpi-default", round, "chosen+default", 200 * slow);
    rows.add("allreduce", 4096, "ring", round, "other", 190 * slow);
  }
  rows.add("broadcast", 64, "naive", 1, "other", 10);  // neither choice nor default, so no call
  rows.add("broadcast", 128, "naive", 1, "chosen", 10, "hung");
  const Validation part = rows.read();
  REQUIRE(part.calls.size() == 2);
  const ValidatedCall& first = part.calls[0];
  CHECK(first.ratio.mean == Approx(0.8));
  CHECK(first.ratio.low == Approx(0.8));
  CHECK(first.ratio.high == Approx(0.8));
  CHECK(first.chosen == "ring in 32KiB");
  CHECK(first.best == "linear");
  CHECK(first.over_best() == Approx(80.0 / 60));
  CHECK(first.rounds == 8);
  CHECK(first.configs == 3);
  CHECK(part.calls[1].ratio.mean == Approx(1));
  CHECK(part.ratio.mean == Approx(std::sqrt(0.8)));
  CHECK(part.within_tenth == Approx(0.5));
  CHECK(part.over_best == Approx(std::sqrt(80.0 / 60 * 200 / 190)));
  CHECK(part.default_over_best == Approx(std::sqrt(100.0 / 60 * 200 / 190)));
  // The two calls have ratios 0.8 and 1, and a resample may take the same call twice.
  CHECK(part.ratio.low == Approx(0.8));
  CHECK(part.ratio.high == Approx(1));
}

TEST_CASE("the interval of a ratio covers 1 for pure noise", "[calibration][validation]") {
  Rows rows;
  for (int call = 0; call < 12; ++call) {
    for (int round = 1; round <= 10; ++round) {
      const double wobble = 1 + 0.1 * (((call * 7 + round * 5) % 11) - 5) / 5.0;
      rows.add("allgather", 64 << call, "openmpi-default", round, "default", 100);
      rows.add("allgather", 64 << call, "ring", round, "chosen", 100 * wobble);
    }
  }
  const Validation part = rows.read();
  CHECK(part.ratio.low < 1);
  CHECK(part.ratio.high > 1);
  CHECK(part.ratio.high / part.ratio.low < 1.06);
}

TEST_CASE("the plan of a validation interleaves the configurations of a call",
          "[calibration][validation]") {
  const MpiConfig by_default{std::string(kMpiDefault), 0, 0};
  const MpiConfig ring{"ring", 4, 0};
  const std::vector<ValidationCall> calls{
      {CollectiveKind::AllReduce, 1024, ring, {by_default, ring}, std::nullopt},
      {CollectiveKind::AllReduce, 4096, by_default, {by_default, ring}, ring}};
  const SweepPlan plan = validation_plan({.system = "lab",
                                          .config = "",
                                          .collectives = {},
                                          .sizes = {},
                                          .segments = {},
                                          .algorithms = {}},
                                         {{"ranks", "4"}, {"nodes", "4"}}, calls, 3);
  REQUIRE(plan.cells.size() == 12);
  CHECK(plan.columns.back() == "role");
  CHECK(plan.cells[0].back() == "default");
  CHECK(plan.cells[1].back() == "chosen");
  CHECK(plan.cells[2].back() == "chosen+default");
  CHECK(plan.cells[3].back() == "swept");
  CHECK(plan.blocks == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
}

TEST_CASE("the choice of a table of the sweep is shown beside the agent's choice",
          "[calibration][validation]") {
  Rows rows;
  for (int round = 1; round <= 4; ++round) {
    rows.add("allreduce", 1024, "openmpi-default", round, "default", 100);
    rows.add("allreduce", 1024, "ring", round, "chosen", 90);
    rows.add("allreduce", 1024, "linear", round, "swept", 60);
    rows.add("allreduce", 4096, "openmpi-default", round, "default", 200);
    rows.add("allreduce", 4096, "ring", round, "chosen+swept", 150);
    rows.add("allreduce", 8192, "openmpi-default", round, "default+swept", 300);
    rows.add("allreduce", 8192, "ring", round, "chosen", 450);
    rows.add("broadcast", 64, "openmpi-default", round, "chosen+default", 10);  // not in the sweep
  }
  const Validation part = rows.read();
  REQUIRE(part.calls.size() == 4);
  CHECK(part.swept_calls == 3);
  REQUIRE(part.swept_ratio);
  CHECK(part.swept_ratio->mean == Approx(std::cbrt(0.6 * 0.75 * 1)));
  CHECK(part.swept_ratio->low == Approx(0.6));  // a resample with the same call three times
  CHECK(part.swept_ratio->high == Approx(1));
  REQUIRE(part.chosen_over_swept);
  CHECK(part.chosen_over_swept->mean == Approx(std::cbrt(1.5 * 1 * 1.5)));
  CHECK(part.swept_within_tenth == 1);
  CHECK(part.calls[0].swept == "linear");
  CHECK(part.calls[0].swept_ratio->mean == Approx(0.6));
  CHECK_FALSE(part.calls[3].swept_ratio);
  CHECK(part.worst().bytes == 8192);
  const std::string text = validation_text({part});
  CHECK(text.find("sweep's best       3     0.766") != std::string::npos);
  CHECK(text.find("lab: chosen / sweep's best 1.310 (1.000 .. 1.500)\n"
                  "lab: worst call allreduce of 8KiB, 1.50 times the default (ring)\n") !=
        std::string::npos);
  rows.add("allreduce", 1024, "tree", 5, "chosen+fastest", 1);
  CHECK(thrown([&] {
          (void)rows.read();
        }).find("unknown role 'chosen+fastest'; expected chosen, default") != std::string::npos);
}

TEST_CASE("the shipped rows of the netlab have the sweep's fastest configuration of every call",
          "[calibration][validation]") {
  // Figures printed in docs/calibration.md.
  const std::map<std::string, std::array<double, 2>> ratios{{"idle-1", {0.824, 0.809}},
                                                            {"traffic-1", {0.866, 0.879}},
                                                            {"idle-2", {0.777, 0.746}},
                                                            {"traffic-2", {0.819, 0.802}}};
  for (const auto& [label, expected] : ratios) {
    const Validation part = read_validation(
        source_path("calibration/results/netlab/validation/") + label + ".rows.csv", label);
    INFO(label);
    CHECK(part.ratio.mean == Approx(expected[0]).margin(0.0005));
    CHECK(part.swept_calls == part.calls.size());
    REQUIRE(part.swept_ratio);
    CHECK(part.swept_ratio->mean == Approx(expected[1]).margin(0.0005));
  }
}

TEST_CASE("a file that is not a validation is refused at its place", "[calibration][validation]") {
  Rows rows;
  rows.add("allreduce", 1024, "ring", 1, "chosen", 80);
  CHECK(thrown([&] { (void)rows.read(); }).find("has no call with rows of the choice") !=
        std::string::npos);
  rows.text = "a,b\n1,2\n";
  CHECK(thrown([&] { (void)rows.read(); }).find("rows.csv:1:1: column collective is missing") !=
        std::string::npos);
}

TEST_CASE("a validation as text, CSV and page", "[calibration][validation]") {
  Rows rows;
  for (int round = 1; round <= 3; ++round) {
    rows.add("allreduce", 1024, "openmpi-default", round, "default", 100);
    rows.add("allreduce", 1024, "ring", round, "chosen", 80);
  }
  const std::vector<Validation> parts{rows.read()};
  CHECK(validation_text(parts).starts_with(
      R"(part                 choice         calls  /default             95 %    /best  within 10 %
lab                  chosen             1     0.800   0.800 .. 0.800    1.000        100 %
                     default            1         1                     1.250          0 %

lab: worst call allreduce of 1KiB, 0.80 times the default (ring)
)"));
  CHECK(validation_csv(parts).find("lab,allreduce,1024,ring,ring,2,3,100.0000,80.0000,80.0000,"
                                   "0.80000,0.80000,0.80000,,\n") != std::string::npos);
  const std::string page = validation_html(parts);
  CHECK(page.find("\"chosen\":\"ring\"") != std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
