// A policy against the default and the best: ratios and intervals of rows whose answer is known.
#include "calibration/validation.hpp"

#include <fmt/format.h>

#include "../core/thrown.hpp"
#include "../experiments/temporary_folder.hpp"
#include "catch.hpp"
#include "core/text_file.hpp"

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

TEST_CASE("the choice is compared with the default round by round, whatever the rounds are like") {
  Rows rows;
  for (int round = 1; round <= 8; ++round) {
    // The machine is slower in some rounds; the choice always takes 0.8 of the default's time.
    const double slow = round % 3 == 0 ? 5 : 1;
    rows.add("allreduce", 1024, "openmpi-default", round, "default", 100 * slow);
    rows.add("allreduce", 1024, "ring", round, "chosen", 80 * slow, "ok", 32768);
    rows.add("allreduce", 1024, "linear", round, "other", 60 * slow);
    rows.add("allreduce", 4096, "openmpi-default", round, "chosen+default", 200 * slow);
    rows.add("allreduce", 4096, "ring", round, "other", 190 * slow);
  }
  rows.add("broadcast", 64, "naive", 1, "other", 10);  // neither choice nor default: no call
  rows.add("broadcast", 128, "naive", 1, "chosen", 10, "hung");
  const Validation part = rows.read();
  REQUIRE(part.calls.size() == 2);
  const ValidatedCall& first = part.calls[0];
  CHECK(first.ratio == Approx(0.8));
  CHECK(first.ratio_low == Approx(0.8));
  CHECK(first.ratio_high == Approx(0.8));
  CHECK(first.chosen == "ring in 32KiB");
  CHECK(first.best == "linear");
  CHECK(first.over_best() == Approx(80.0 / 60));
  CHECK(first.rounds == 8);
  CHECK(first.configs == 3);
  CHECK(part.calls[1].ratio == Approx(1));
  CHECK(part.ratio == Approx(std::sqrt(0.8)));
  CHECK(part.within_tenth == Approx(0.5));
  CHECK(part.over_best == Approx(std::sqrt(80.0 / 60 * 200 / 190)));
  CHECK(part.default_over_best == Approx(std::sqrt(100.0 / 60 * 200 / 190)));
  // Two calls, 0.8 and 1: resampled, they can be the same one twice.
  CHECK(part.ratio_low == Approx(0.8));
  CHECK(part.ratio_high == Approx(1));
}

TEST_CASE("the interval of a ratio covers 1 where there is nothing but noise") {
  Rows rows;
  for (int call = 0; call < 12; ++call) {
    for (int round = 1; round <= 10; ++round) {
      const double wobble = 1 + 0.1 * (((call * 7 + round * 5) % 11) - 5) / 5.0;
      rows.add("allgather", 64 << call, "openmpi-default", round, "default", 100);
      rows.add("allgather", 64 << call, "ring", round, "chosen", 100 * wobble);
    }
  }
  const Validation part = rows.read();
  CHECK(part.ratio_low < 1);
  CHECK(part.ratio_high > 1);
  CHECK(part.ratio_high / part.ratio_low < 1.06);
}

TEST_CASE("the plan of a validation measures the ways of a call in turn") {
  const MpiConfig by_default{std::string(kMpiDefault), 0, 0};
  const MpiConfig ring{"ring", 4, 0};
  const std::vector<ValidationCall> calls{
      {CollectiveKind::AllReduce, 1024, ring, {by_default, ring}},
      {CollectiveKind::AllReduce, 4096, by_default, {by_default, ring}}};
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
  CHECK(plan.cells[3].back() == "other");
  CHECK(plan.blocks == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
}

TEST_CASE("a file that is no validation is refused at its place") {
  Rows rows;
  rows.add("allreduce", 1024, "ring", 1, "chosen", 80);
  CHECK(thrown([&] { (void)rows.read(); }).find("has no call with rows of the choice") !=
        std::string::npos);
  rows.text = "a,b\n1,2\n";
  CHECK(thrown([&] { (void)rows.read(); }).find("rows.csv:1:1: there is no column collective") !=
        std::string::npos);
}

TEST_CASE("a validation as text, CSV and page") {
  Rows rows;
  for (int round = 1; round <= 3; ++round) {
    rows.add("allreduce", 1024, "openmpi-default", round, "default", 100);
    rows.add("allreduce", 1024, "ring", round, "chosen", 80);
  }
  const std::vector<Validation> parts{rows.read()};
  CHECK(validation_text(parts).find("lab                      1    0.800   0.800 .. 0.800") !=
        std::string::npos);
  CHECK(validation_csv(parts).find("lab,allreduce,1024,ring,ring,2,3,100.0000,80.0000,80.0000,"
                                   "0.80000,0.80000,0.80000") != std::string::npos);
  const std::string page = validation_html(parts);
  CHECK(page.find("\"chosen\":\"ring\"") != std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
