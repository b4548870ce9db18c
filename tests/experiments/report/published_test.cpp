// Tests of published speedups: reading, verdicts, and texts.
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::experiment_of;
using test::row;

const std::string kHeader =
    "fabric,servers,gpus,collective,size_from,size_to,variant,algorithm,protocol,channels,"
    "instances,judged_by,speedup_low,speedup_high,baseline,source\n";

std::vector<PublishedRow> read(const std::string& lines) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "p.csv", kHeader + lines);
  return read_published(folder / "p.csv");
}

// The error message for a line, from the first colon after the file's name.
std::string published_refusal(const std::string& line) {
  try {
    (void)read(line + "\n");
  } catch (const UserError& error) {
    const std::string message = error.what();
    return message.substr(message.find("p.csv:") + 5);
  }
  return "(no error)";
}

// Results of a tuner at 100 us, a ring and two all-pairs configurations, at 1 KiB, 2 KiB and 4 KiB.
std::vector<ResultRow> simulated_rows() {
  std::vector<ResultRow> rows;
  for (const std::uint64_t bytes : {1024U, 2048U, 4096U}) {
    rows.push_back(row("ring", "Simple", 8, bytes, 100));
    rows.back().algorithm = "nccl-default:2.8.4";
  }
  const auto add = [&](const std::string& algorithm, const std::string& protocol, int instances,
                       double at_1k, double at_2k, double at_4k) {
    const std::array times{at_1k, at_2k, at_4k};
    for (std::size_t i = 0; i < 3; ++i) {
      rows.push_back(row(algorithm, protocol, 1, std::uint64_t{1024} << i, times[i]));
      rows.back().instances = instances;
      rows.back().cell_key += "/r" + std::to_string(instances);
    }
  };
  add("all-pairs", "LL", 2, 50, 50, 125);
  add("all-pairs", "LL", 4, 80, 40, 200);
  add("spread-ring", "LL128", 8, 200, 62.5, 100);
  return rows;
}

// Beginning of a row of the sample, with the columns "fabric,…,size_to".
std::string sample_line(const std::string& sizes, const std::string& rest) {
  return "ndv4,1,8,allreduce," + sizes + "," + rest + ",nccl-default:2.8.4,Fig 1\n";
}

std::vector<PublishedBlock> compare(const std::string& lines,
                                    const std::vector<ResultRow>& rows = simulated_rows()) {
  return compare_published(experiment_of(rows, false), rows, read(lines));
}

TEST_CASE("published rows are read with their ranges and variants", "[experiments][published]") {
  const std::vector<PublishedRow> rows = read(
      "# a comment\n"
      "ndv4,2,16,all_reduce,1KiB,1MiB,ring,spread-ring,LL|LL128,4|8,,best,1,1.5,"
      "nccl-default:2.8.4,Fig 8\n"
      "dgx2,1,16,alltoall,2MiB,,none,,,,,fallback,1.0,1.0,two-step-composed,Fig 7\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].number == 1);
  CHECK(rows[0].servers == 2);
  CHECK(rows[0].gpus == 16);
  CHECK(rows[0].collective == "allreduce");
  CHECK(rows[0].range_text() == "1KiB..1MiB");
  CHECK(rows[0].protocols == std::vector<Protocol>{Protocol::LL, Protocol::LL128});
  CHECK(rows[0].channels == std::vector<int>{4, 8});
  CHECK(rows[0].instances.empty());
  CHECK(rows[0].has_variant());
  CHECK(rows[0].covers(1024));
  CHECK(rows[0].covers(1 << 20));
  CHECK_FALSE(rows[0].covers(1023));
  CHECK_FALSE(rows[0].covers((1 << 20) + 1));
  CHECK(rows[0].selects(row("spread-ring", "LL", 4, 1024, 1)));
  CHECK_FALSE(rows[0].selects(row("ring", "LL", 4, 1024, 1)));
  CHECK_FALSE(rows[0].selects(row("spread-ring", "Simple", 4, 1024, 1)));
  CHECK_FALSE(rows[0].selects(row("spread-ring", "LL", 2, 1024, 1)));
  CHECK(rows[1].range_text() == "2MiB..");
  CHECK(rows[1].covers(std::uint64_t{1} << 50U));
  CHECK_FALSE(rows[1].has_variant());
  CHECK(rows[1].where.line == 4);
}

TEST_CASE("wrong published rows are refused with their line", "[experiments][published]") {
  const std::string good = "ndv4,1,8,allreduce,1KiB,2KiB,v,ring,LL,1,1,best,1,2,ring,Fig 1";
  REQUIRE(read(good + "\n").size() == 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return published_refusal(line);
  };
  CHECK(with("ndv4,1,8", ",1,8") == ":2:1: fabric is empty; expected a name");
  CHECK(with("ndv4,1,8", "ndv4,x,8") == ":2:6: servers is 'x'; expected a whole number");
  CHECK(with("ndv4,1,8", "ndv4,0,8") == ":2:1: servers is 0; expected at least 1");
  CHECK(with("ndv4,1,8", "ndv4,1,0") == ":2:1: gpus is 0; expected at least 1");
  CHECK(with("allreduce", "alreduce").starts_with(":2:1: unknown collective 'alreduce'"));
  CHECK(with("1KiB", "1Mb").starts_with(":2:1: size_from has the unknown unit 'Mb'"));
  CHECK(with("2KiB", "512B") == ":2:1: size_to is 512B; expected at least size_from, 1KiB");
  CHECK(with("ring,LL", "rign,LL").starts_with(":2:1: unknown algorithm 'rign'"));
  CHECK(with("LL", "LL|") == ":2:1: unknown protocol ''; expected one of LL, LL128, Simple");
  CHECK(with("LL", "LL129").starts_with(":2:1: unknown protocol 'LL129'"));
  CHECK(with("LL,1,1", "LL,1|0,1") == ":2:1: channels is 0; expected 1 .. 1024");
  CHECK(with("LL,1,1", "LL,1,a").starts_with(":2:1: instances"));
  CHECK(with("best", "bset") ==
        ":2:1: unknown judged_by 'bset'; expected one of best, variant, fallback (did you mean "
        "'best'?)");
  CHECK(with("best,1,2", "best,nan,2") == ":2:1: speedup_low is nan; expected a positive number");
  CHECK(with("best,1,2", "best,2,1.5") ==
        ":2:1: speedup_high is 1.5; expected at least speedup_low, 2");
  CHECK(with("ring,Fig", "rnig,Fig").starts_with(":2:1: unknown baseline 'rnig'"));
  CHECK(with("ring,LL,1,1,best", ",,,,variant")
            .starts_with(":2:1: judged_by is variant, but algorithm, protocol, channels"));
  CHECK(published_refusal("ndv4,1,8").starts_with(":2:1: found 3 fields; expected 16"));
}

TEST_CASE("a row holds if every simulated size of its range is within the tolerance",
          "[experiments][published]") {
  // Best speedups: 2.0 (all-pairs r=2), 2.5 (r=4), 1.0 (ring). Bounds: 0.75 and 1.25 times the
  // published value.
  const auto best = [](const std::string& rest) {
    const std::vector<PublishedBlock> blocks = compare(sample_line("1KiB,2KiB", rest));
    return blocks.at(0).rows.at(0).judged();
  };
  CHECK(best("v,,,,,best,2.0,2.0").holds());  // [1.5, 2.5], both ends included
  CHECK(best("v,,,,,best,2.6,2.6").holds());  // [1.95, 3.25]
  CHECK(best("v,,,,,best,1,1.99").miss == Approx(2.5 / (1.25 * 1.99) - 1));
  CHECK(best("v,,,,,best,1,1.99").miss_bytes == 2048);
  CHECK_FALSE(best("v,,,,,best,1,1.99").holds());
  CHECK(best("v,,,,,best,3,4").miss == Approx(2.0 / 2.25 - 1));
  CHECK(best("v,,,,,best,3,4").miss_bytes == 1024);
  CHECK(verdict_text(best("v,,,,,best,3,4")) == "low 11 %");
  CHECK(verdict_text(best("v,,,,,best,1,1.5")) == "high 33 %");
  CHECK(verdict_text(best("v,,,,,best,2,2")) == "holds");
  // If both bounds are missed, the larger miss counts.
  CHECK(verdict_text(best("v,,,,,best,2.7,2.7")) == "low 1 %");
}

TEST_CASE("a row that holds has its margin, and the verdict of the null model",
          "[experiments][published]") {
  const auto row_of = [](const std::string& rest) {
    return compare(sample_line("1KiB,2KiB", rest)).at(0).rows.at(0);
  };
  // The speedups are 2.0 and 2.5; the bounds are 0.75 x low and 1.25 x high.
  CHECK(row_of("v,,,,,best,2.0,2.4").judged().margin == Approx(1 - 2.5 / 3));
  CHECK(row_of("v,,,,,best,2.6,3.0").judged().margin == Approx(2.0 / 1.95 - 1));
  CHECK(row_of("v,,,,,best,2.0,2.0").judged().margin == 0);
  CHECK(row_of("v,,,,,best,3,4").judged().margin == 0);  // the row does not hold
  CHECK(null_model_holds(row_of("v,,,,,best,1,1").row));
  CHECK(null_model_holds(row_of("v,,,,,best,0.5,0.8").row));
  CHECK_FALSE(null_model_holds(row_of("v,,,,,best,0.5,0.79").row));
  CHECK(null_model_holds(row_of("v,,,,,best,1.33,3").row));
  CHECK_FALSE(null_model_holds(row_of("v,,,,,best,1.34,3").row));
  int held = 0;
  for (const PublishedRow& row :
       read_published(test::source_path("experiments/published/msccl-speedups.csv"))) {
    held += null_model_holds(row) ? 1 : 0;
  }
  CHECK(held == 18);
}

TEST_CASE("a variant is judged by its own configurations, and named ones are shown beside the best",
          "[experiments][published]") {
  const std::vector<PublishedBlock> blocks =
      compare(sample_line("1KiB,4KiB", "r=2,all-pairs,LL,,2,variant,1,2") +
              sample_line("1KiB,4KiB", "r=2,all-pairs,LL,,2,best,1,2") +
              sample_line("1KiB,1KiB", "r=16,all-pairs,,,16,variant,1,2"));
  REQUIRE(blocks.size() == 1);
  const std::vector<PublishedComparison>& rows = blocks[0].rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].judged().low() == Approx(0.8));
  CHECK(rows[0].judged().high() == Approx(2.0));
  CHECK(rows[0].judged().holds());
  CHECK(winner_text(blocks[0], rows[0]) == "all-pairs LL c1 r2");
  CHECK(rows[1].judged().high() == Approx(2.5));
  REQUIRE(rows[1].variant);
  CHECK(rows[1].variant->high() == Approx(2.0));
  CHECK(winner_text(blocks[0], rows[1]) == "all-pairs LL c1 r2 +2");
  CHECK_FALSE(rows[2].judged().simulated());
  CHECK_FALSE(rows[2].judged().holds());
  CHECK(verdict_text(rows[2].judged()) == "not simulated");
  CHECK(winner_text(blocks[0], rows[2]) == "-");
}

TEST_CASE("the baseline is used where nothing is faster", "[experiments][published]") {
  const std::vector<ResultRow> all = simulated_rows();
  // Speedups of ring alone: 0.5, 1.6, 1.0.
  std::vector<ResultRow> rows(all.begin(), all.begin() + 3);
  rows.insert(rows.end(), all.end() - 3, all.end());
  const std::string line = sample_line("1KiB,", "none,,,,,fallback,1,1");
  const PublishedVerdict verdict = compare(line, rows).at(0).rows.at(0).judged();
  REQUIRE(verdict.points.size() == 3);
  CHECK(verdict.points[0].speedup == 1);
  CHECK(verdict.points[0].series == kBaselineSeries);
  CHECK(verdict.points[1].speedup == Approx(1.6));
  CHECK_FALSE(verdict.holds());
  // The baseline is also used if there is no other configuration.
  rows.resize(3);
  const std::vector<PublishedBlock> alone = compare(line, rows);
  CHECK(alone.at(0).rows.at(0).judged().holds());
  CHECK(winner_text(alone.at(0), alone.at(0).rows.at(0)) == "the baseline");
}

TEST_CASE("a row belongs to its fabric, number of GPUs, collective and baseline",
          "[experiments][published]") {
  const std::string rest = ",1KiB,2KiB,v,,,,,best,1,2,";
  const auto count = [&](const std::string& line) { return compare(line + "\n").size(); };
  CHECK(count("ndv4,1,8,allreduce" + rest + "nccl-default:2.8.4,f") == 1);
  CHECK(count("ndv4,1,8,allreduce" + rest + "all-pairs,f") == 1);
  CHECK(count("dgx2,1,8,allreduce" + rest + "nccl-default:2.8.4,f") == 0);
  CHECK(count("ndv4,2,8,allreduce" + rest + "nccl-default:2.8.4,f") == 0);
  CHECK(count("ndv4,1,16,allreduce" + rest + "nccl-default:2.8.4,f") == 0);
  CHECK(count("ndv4,1,8,allgather" + rest + "nccl-default:2.8.4,f") == 0);
  CHECK(count("ndv4,1,8,allreduce" + rest + "two-step-composed,f") == 0);
  // Baselines of other rows are not candidates.
  const std::vector<PublishedBlock> blocks =
      compare("ndv4,1,8,allreduce" + rest + "nccl-default:2.8.4,f\nndv4,1,8,allreduce" + rest +
              "all-pairs,f\n");
  REQUIRE(blocks.size() == 2);
  for (const PublishedBlock& block : blocks) {
    REQUIRE(block.series.size() == 1);
    CHECK(block.series[0].config.algorithm == "spread-ring");
  }
  // Speedups are relative to the fastest of the baseline's configurations at each size.
  CHECK(blocks[1].series[0].points[0].speedup == Approx(50 / 200.0));
  CHECK(blocks[1].series[0].points[1].speedup == Approx(40 / 62.5));
}

TEST_CASE("speedups are medians over the seeds, each over the baseline of its seed",
          "[experiments][published]") {
  std::vector<ResultRow> rows;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    rows.push_back(row("ring", "Simple", 1, 1024, 100.0 * static_cast<double>(seed), seed));
    rows.push_back(row("tree", "Simple", 1, 1024, seed == 3 ? 50 : 100, seed));
  }
  const std::vector<PublishedBlock> blocks =
      compare("ndv4,1,8,allreduce,1KiB,1KiB,v,,,,,best,2,2,ring,f\n", rows);
  CHECK(blocks.at(0).best.at(0).speedup == Approx(2));
}

TEST_CASE("the printed comparison, exactly", "[experiments][published]") {
  const std::string lines = sample_line("1KiB,2KiB", "r=2 LL,all-pairs,LL,,2,best,1.5,1.8") +
                            sample_line("2KiB,4KiB", "r=2,all-pairs,,,2,variant,1,1") +
                            sample_line("4KiB,", "none,,,,,fallback,1,1") +
                            sample_line("1MiB,", "ring,spread-ring,,,,best,12,14.5");
  const std::vector<PublishedBlock> blocks = compare(lines);
  CHECK(published_text(blocks, 4) == R"(
published speedups beside the simulated ones; a row holds if all of its range lies within 0.75 x low to 1.25 x high

ndv4, allreduce: speedup over nccl-default:2.8.4
  source  sizes       published     simulated                    margin  if all 1  by                       published variant  its own
                      x             x                                                                                          x
  Fig 1   1KiB..2KiB  1.50 to 1.80  2.00 to 2.50  high 11 %              misses    all-pairs LL c1 r2 +1    r=2 LL             2.00     holds
  Fig 1   2KiB..4KiB  1.00          0.80 to 2.00  high 60 %              holds     all-pairs LL c1 r2       r=2                -
  Fig 1   4KiB..      1.00          1.00          holds          20.0 %  holds     spread-ring LL128 c1 r8  none               -
  Fig 1   1MiB..      12.0 to 14.5  -             not simulated          misses    -                        ring               -        not simulated

1 of 4 published rows hold, 1 not simulated; by the variant that the publication names, 1 of 3
a speedup of 1 throughout would hold 2; of the 2 rows that it would miss, 0 hold
)");
  CHECK(
      published_csv(blocks) ==
      R"(row,fabric,servers,ranks,collective,baseline,source,size_from,size_to,published_low,published_high,judged_by,sizes,simulated_low,simulated_high,verdict,miss,miss_size,margin,null_verdict,winner,variant,variant_low,variant_high,variant_verdict
1,ndv4,1,8,allreduce,nccl-default:2.8.4,Fig 1,1KiB,2KiB,1.5,1.8,best,2,2,2.5,misses,0.11111111111111116,2KiB,nan,misses,all-pairs LL c1 r2 +1,r=2 LL,2,2,holds
2,ndv4,1,8,allreduce,nccl-default:2.8.4,Fig 1,2KiB,4KiB,1,1,variant,2,0.8,2,misses,0.6000000000000001,2KiB,nan,holds,all-pairs LL c1 r2,r=2,0.8,2,misses
3,ndv4,1,8,allreduce,nccl-default:2.8.4,Fig 1,4KiB,,1,1,fallback,1,1,1,holds,0,,0.19999999999999996,holds,spread-ring LL128 c1 r8,none,nan,nan,
4,ndv4,1,8,allreduce,nccl-default:2.8.4,Fig 1,1MiB,,12,14.5,best,0,nan,nan,not-simulated,0,,nan,misses,-,ring,nan,nan,not-simulated
)");
  CHECK(published_text({}, 0).empty());
  CHECK(published_text({}, 2) ==
        "\nnone of the 2 published rows has results for its fabric, collective and baseline "
        "here\n");
}

TEST_CASE("each row of the MSCCL papers belongs to one of the shipped experiments",
          "[experiments][published]") {
  const std::string folder = test::source_path("experiments/");
  const std::vector<PublishedRow> rows = read_published(folder + "published/msccl-speedups.csv");
  REQUIRE(rows.size() == 25);
  std::vector<int> covered(rows.size(), 0);
  for (const std::string name : {"8a-ndv4-allreduce", "8b-dgx2-allreduce", "8c-ndv4x2-allreduce",
                                 "8d-dgx2x2-allreduce", "8e-ndv4x32-alltoall", "8f-dgx2x4-alltoall",
                                 "8g-ndv4x3-alltonext", "8h-dgx2x4-alltonext"}) {
    const Experiment experiment = load_experiment(folder + "msccl-fig" + name + ".yaml");
    CHECK(experiment.published ==
          std::vector<std::string>{folder + "published/msccl-speedups.csv"});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const PublishedRow& published = rows[i];
      bool of_baseline = false;
      bool of_size = false;
      for (const Cell& cell : experiment.cells) {
        if (to_string(cell.call.collective) != published.collective) continue;
        if (!published.is_of(experiment.fabrics[cell.fabric])) continue;
        of_baseline |= cell.named() == published.baseline;
        of_size |= published.covers(cell.call.bytes);
      }
      if (of_baseline && of_size) ++covered[i];
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i + 1);
    CHECK(covered[i] == 1);
  }
}

}  // namespace
}  // namespace cclgym
