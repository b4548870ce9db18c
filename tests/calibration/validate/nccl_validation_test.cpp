// Tests of the plan and the rows of a validation on NCCL, without a GPU.
#include "calibration/validate/nccl_validation.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "calibration/validate/validation.hpp"
#include "core/files/text_file.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

// Chooses for AllReduce up to 4 KiB, and leaves larger ones to NCCL.
constexpr const char* kTunerRows = "allreduce,0,4096,ring,ll,2,-1,-1\n";

const TextMap kFourRanks{{"ranks", "4"}, {"nodes", "2"}, {"device", "GPU"}, {"nccl", "2.28.9"}};

NcclValidation wanted_calls() {
  return {.system = "lab",
          .config = "idle",
          .table = nccl_cells({{"collectives", "allreduce"},
                               {"sizes", "1KiB,64KiB"},
                               {"algorithms", "default,ring,tree"},
                               {"protocols", "LL"},
                               {"channels", "2,4"},
                               {"placement", "out"}})};
}

// Cells of a call in one round: "algorithm protocol channels role".
std::vector<std::string> lanes_of(const SweepPlan& plan, const std::string& bytes,
                                  const std::string& round) {
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(plan.columns, name) - plan.columns.begin());
  };
  std::vector<std::string> lanes;
  for (const auto& cell : plan.cells) {
    if (cell[at("size_bytes")] != bytes || cell[at("round")] != round) continue;
    lanes.push_back(fmt::format("{} {} {} {}", cell[at("algorithm")], cell[at("protocol")],
                                cell[at("channels")], cell[at("role")]));
  }
  return lanes;
}

Measurement row_of(std::uint64_t bytes, const char* algorithm, int channels, double time_s,
                   int ranks = 4) {
  Measurement row;
  row.ranks = ranks;
  row.nodes = 2;
  row.bytes = bytes;
  row.time_s = time_s;
  if (*algorithm != '\0') {
    row.named = Config{.algorithm = algorithm, .protocol = Protocol::LL, .channels = channels};
  }
  return row;
}

TEST_CASE("the plan on NCCL has the policy, the default and every configuration in each round",
          "[calibration][nccl-validation]") {
  const RowChoices choices(kTunerRows, "p.csv", 4, 2);
  const SweepPlan plan = nccl_validation_plan(wanted_calls(), kFourRanks, choices, 3);
  // A call of six lanes and one of five, as the policy leaves it to NCCL.
  REQUIRE(plan.cells.size() == 33);
  CHECK(lanes_of(plan, "1024", "2") ==
        std::vector<std::string>{"default default 0 default", "policy default 0 chosen",
                                 "ring LL 2 other", "ring LL 4 other", "tree LL 2 other",
                                 "tree LL 4 other"});
  CHECK(lanes_of(plan, "65536", "3") ==
        std::vector<std::string>{"default default 0 chosen+default", "ring LL 2 other",
                                 "ring LL 4 other", "tree LL 2 other", "tree LL 4 other"});
  // A call and round is one block, within which the sweep shuffles.
  CHECK(plan.blocks.front() == plan.blocks[5]);
  CHECK(plan.blocks[5] != plan.blocks[6]);
  CHECK(plan.blocks.back() == 5);
  CHECK(plan.cells[0][0] == "lab");
  CHECK(plan.cells[0][2] == "4");
  CHECK(plan.cells[0][5] == "idle");
  CHECK(most_nccl_configs(wanted_calls()) == 6);
}

TEST_CASE("with a sweep, the plan on NCCL has what is near its best, and its best",
          "[calibration][nccl-validation]") {
  const RowChoices choices(kTunerRows, "p.csv", 4, 2);
  NcclValidation wanted = wanted_calls();
  wanted.measured_path = "m.csv";
  wanted.within = 1.2;
  wanted.measured = {row_of(1024, "ring", 2, 20e-6),
                     row_of(1024, "nvls-tree", 8, 10e-6),
                     row_of(1024, "tree", 4, 11e-6),
                     row_of(1024, "tree", 4, 13e-6),
                     row_of(1024, "ring", 1, 1e-6, /*ranks=*/8),
                     row_of(1024, "", 0, 5e-6)};
  const SweepPlan plan = nccl_validation_plan(wanted, kFourRanks, choices, 1);
  // The two rows of the tree have the median 12 us, which is just within 1.2 of 10 us.
  CHECK(lanes_of(plan, "1024", "1") ==
        std::vector<std::string>{"default default 0 default", "policy default 0 chosen",
                                 "nvls_tree LL 8 swept", "tree LL 4 other"});
  CHECK(lanes_of(plan, "65536", "1") ==
        std::vector<std::string>{"default default 0 chosen+default"});
  CHECK(most_nccl_configs(wanted) == 6);
  wanted.measured = {row_of(1024, "ring", 2, 1e-6, /*ranks=*/8)};
  CHECK(contains(thrown([&] { (void)nccl_validation_plan(wanted, kFourRanks, choices, 1); }),
                 "m.csv: has no row of 4 ranks on 2 nodes"));
}

TEST_CASE("a policy that leaves every call to NCCL has nothing to compare",
          "[calibration][nccl-validation]") {
  const RowChoices other("allreduce,0,4096,ring,ll,2,1,8\n", "p.csv", 4, 2);
  CHECK(contains(thrown([&] { (void)nccl_validation_plan(wanted_calls(), kFourRanks, other, 1); }),
                 "leaves every one of these calls to NCCL"));
  CHECK(contains(thrown([&] {
                   (void)nccl_shape({{"ranks", "x"}});
                 }),
                 "the worker reports 'x' ranks; expected a number >= 1"));
  CHECK(contains(thrown([&] { (void)nccl_shape({{"ranks", "2"}}); }), "reports '' nodes"));
}

TEST_CASE("rows of NCCL are compared with what NCCL says that it ran",
          "[calibration][nccl-validation]") {
  const TemporaryFolder folder;
  std::string text =
      "collective,size_bytes,algorithm,protocol,channels,round,role,status,time_us_median,"
      "environment,extra\n";
  const auto add = [&](int bytes, const char* config, int round, const char* role, double time_us,
                       const char* extra) {
    text += fmt::format("allreduce,{},{},{},{},ok,{},label=single-GPU loopback;x=1,{}\n", bytes,
                        config, round, role, time_us, extra);
  };
  const char* const asked =
      "as_asked=as chosen;as_asked_share=1;used_algorithm=ring;used_channels=2;used_protocol=LL";
  const char* const used = "used_algorithm=tree;used_channels=4;used_protocol=Simple";
  for (int round = 1; round <= 4; ++round) {
    add(1024, "default,default,0", round, "default", 100, used);
    add(1024, "policy,default,0", round, "chosen", 50, asked);
    add(1024, "ring,LL,4", round, "swept", 40, asked);
    add(1024, "ring,LL,0", round, "other", 45, asked);
    add(65536, "default,default,0", round, "chosen+default", 200, used);
  }
  const std::string path = folder / "n.rows.csv";
  write_text_file(path, text);
  const Validation part = read_validation(path, "lab");
  REQUIRE(part.calls.size() == 2);
  CHECK(part.calls[0].chosen == "policy (ring/LL/2)");
  CHECK(part.calls[0].best == "ring/LL/4");
  CHECK(part.calls[0].swept == "ring/LL/4");
  CHECK(part.calls[0].configs == 4);
  CHECK(part.calls[0].ratio.mean == Approx(0.5));
  CHECK(part.calls[1].chosen == "default (tree/Simple/4)");
  CHECK(part.one_gpu);
  CHECK(part.followed == std::map<std::string, int>{{"as chosen", 1}, {"left to NCCL", 1}});
  const std::string shown = validation_text({part});
  CHECK(contains(shown,
                 "lab: calls in which NCCL ran the policy's choice: as chosen 1, left to NCCL 1\n"
                 "lab: all ranks were on one GPU; the times say nothing about links\n"));
  CHECK(contains(validation_html({part}), "left to NCCL 1\\nlab: all ranks were on one GPU"));
  // The same rows without a column are refused at their header.
  text.replace(text.find("channels"), 8, "chanells");
  write_text_file(path, text);
  CHECK(contains(thrown([&] { (void)read_validation(path, "lab"); }),
                 "n.rows.csv:1:1: column channels is missing"));
}

TEST_CASE("the rows of calibrate nccl have the names of NCCL's tuner",
          "[calibration][nccl-validation]") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  // Rows of a validation have two more columns.
  write_text_file(path,
                  "ranks,nodes,collective,size_bytes,algorithm,protocol,channels,round,role,"
                  "time_us_median,extra\n"
                  "16,2,allreduce,1024,nvls_tree,Simple,4,1,swept,10,\n"
                  "16,2,allreduce,1024,policy,default,0,1,chosen,9,"
                  "used_algorithm=tree;used_protocol=LL;used_channels=2\n");
  const auto rows = read_measured_file(path);
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].named);
  CHECK(rows[0].named->algorithm == "nvls-tree");
  REQUIRE(rows[1].named);
  CHECK(rows[1].named->algorithm == "tree");
}

}  // namespace
}  // namespace cclgym::test
