// Tests of parsing the output of the OSU Micro-Benchmarks.
#include "experiments/measured/osu_text.hpp"

#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

std::string osu_log(const std::string& title) {
  return "# OSU " + title +
         " Latency Test v7.3\n"
         "# Datatype: MPI_CHAR.\n"
         "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
         "4                      12.50             12.10             13.00         100\n"
         "1048576               210.25            209.00            212.00         100\n";
}

std::vector<Measurement> read_osu(const std::string& text, int ranks = 8, int nodes = 2) {
  MeasuredFileContext context;
  context.ranks = ranks;
  context.nodes = nodes;
  return read_osu_text(text, "osu.txt", context);
}

TEST_CASE("OSU's sizes are counted as nccl-tests counts them", "[calibration][osu-text]") {
  using enum CollectiveKind;
  const std::vector<std::tuple<std::string, CollectiveKind, int>> tests{
      {"NCCL-CUDA Allreduce", AllReduce, 1},
      {"MPI Reduce_scatter", ReduceScatter, 1},
      {"MPI-CUDA Broadcast", Broadcast, 1},
      {"MPI Reduce", Reduce, 1},
      {"MPI-ROCM Allgather", AllGather, 8},
      {"NCCL All-to-All Personalized Exchange", AllToAll, 8},
      {"MPI Gather", Gather, 8},
      {"MPI Scatter", Scatter, 8}};
  for (const auto& [title, collective, factor] : tests) {
    INFO(title);
    REQUIRE(is_osu_text(osu_log(title)));
    const auto rows = read_osu(osu_log(title));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].collective == collective);
    CHECK(rows[0].bytes == 4U * static_cast<unsigned>(factor));
    CHECK(rows[0].time_s == Approx(12.5e-6));
    CHECK(rows[1].bytes == 1048576U * static_cast<unsigned>(factor));
    CHECK(rows[1].time_us == 210.25);
    CHECK(rows[1].ranks == 8);
    CHECK(rows[1].nodes == 2);
    CHECK(rows[1].where.line == 5);
    CHECK(rows[0].notes.empty() == title.starts_with("NCCL"));
  }
}

TEST_CASE("several benchmarks of OSU follow each other, behind a launcher's prefixes",
          "[calibration][osu-text]") {
  std::string text;
  for (const std::string title : {"NCCL Allreduce", "NCCL Allgather"}) {
    std::string log = osu_log(title);
    for (std::size_t at = 0; at != std::string::npos && at < log.size();) {
      log.insert(at, "0: ");
      at = log.find('\n', at);
      if (at != std::string::npos) ++at;
    }
    text += log;
  }
  const auto rows = read_osu(text);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].collective == CollectiveKind::AllReduce);
  CHECK(rows[2].collective == CollectiveKind::AllGather);
}

TEST_CASE("OSU's output that cannot be used is refused", "[calibration][osu-text]") {
  CHECK_FALSE(is_osu_text("# size count type\n"));
  CHECK(thrown([] { (void)read_osu(osu_log("MPI Non-Blocking Allreduce")); }) ==
        "osu.txt:1:1: the benchmark 'OSU MPI Non-Blocking Allreduce' is not that of a blocking "
        "collective; expected, e.g., 'OSU NCCL Allreduce'");
  std::string text = osu_log("MPI Allreduce");
  text.replace(text.find("210.25"), 6, "-1.000");
  CHECK(thrown([&] { (void)read_osu(text); }).starts_with("osu.txt:5:1: found '1048576  "));
  CHECK(thrown([] { (void)read_osu("# OSU MPI Allreduce Latency Test v7.3\n"); }) ==
        "osu.txt: OSU's benchmark printed no line of results");
  CHECK(thrown([] {
          (void)read_osu_text(osu_log("MPI Allreduce"), "osu.txt", {});
        }).find("give it with --ranks") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
