// Tests of cclgym describe nccl-log as a process.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

// Two GPUs of one node; the choice is not the one with the least predicted time.
std::string log() {
  const std::string rank_0 = "0: alpha0:7000:7100 [0] NCCL INFO ";  // srun -l
  const std::string rank_1 = "1: alpha0:7001:7101 [1] NCCL INFO ";
  return "0: NCCL version 2.27.5+cuda12.9\n" + rank_0 + "Channel 00/02 : 0 1\n" + rank_0 +
         "Channel 01/02 : 0 1\n" + rank_0 + "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1\n" +
         rank_0 + "  Algorithm   |       Tree      |    Ring     |\n" + rank_0 +
         "  Protocol    |  LL |  LL128 |  Simple |  LL |  LL128 |  Simple |\n" + rank_0 +
         "  AllReduce | 9.0/ 2.0 | 0.0/ 0.0 | 30.0/ 20.0 | 8.0/ 3.0 | 0.0/ 0.0 | 20.0/ 24.0 |\n" +
         rank_0 + "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0xa - Init COMPLETE\n" +
         rank_1 + "Trees [0] -1/-1/-1->1->0 [1] 0/-1/-1->1->-1\n" + rank_1 +
         "comm 0x2 rank 1 nranks 2 cudaDev 1 busId 2 commId 0xa - Init COMPLETE\n" + rank_0 +
         "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n" + rank_0 +
         "AllReduce: 1073741824 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..1}\n";
}

TEST_CASE("describe nccl-log shows rings, trees, what NCCL chose, and why", "[cli][debug-log]") {
  const TemporaryFolder folder;
  write_file(folder / "job.log", log());
  const Ended ended = run_program({"describe", "nccl-log", "job.log"}, folder.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  INFO(ended.out);
  const auto has = [&](const std::string& text) {
    return ended.out.find(text) != std::string::npos;
  };
  CHECK(ended.out.starts_with("job.log: NCCL 2.27.5, 1 communicator\n"));
  CHECK(has("\ncommunicator 0xa: 2 ranks, 1 node, 2 channels\n"));
  CHECK(has("\n  channels  ring\n  0-1       0 1\n"));
  CHECK(has("\n  0         0 1\n  1         1 0\n"));
  CHECK(has("  allreduce   1KiB to 32KiB  Ring LL "));
  CHECK(has("least predicted time\n"));
  CHECK(has(" times the least: "));

  const Ended json = run_program({"describe", "nccl-log", "job.log", "--json"}, folder.path());
  REQUIRE(json.code == 0);
  const nlohmann::json one = nlohmann::json::parse(json.out).at("communicators").at(0);
  CHECK(one.at("rings").at(0).at("ranks") == nlohmann::json::array({0, 1}));
  CHECK(one.at("trees").at(1).at("parents").at("0") == 1);
  CHECK(one.at("estimates").size() == 4);
  CHECK(one.at("choices").at(0).at("least") == true);
  CHECK(one.at("choices").at(1).at("best_other").at("algorithm") == "Ring");
}

TEST_CASE("describe nccl-log refuses what is no log of NCCL, and options of fabrics",
          "[cli][debug-log]") {
  const TemporaryFolder folder;
  write_file(folder / "no.log", "hello\n");
  const Ended no = run_program({"describe", "nccl-log", "no.log"}, folder.path());
  CHECK(no.code == 2);
  CHECK(no.out.empty());
  CHECK(no.err.find("NCCL_DEBUG=INFO") != std::string::npos);
  write_file(folder / "job.log", log());
  const Ended nodes =
      run_program({"describe", "nccl-log", "job.log", "--nodes", "2"}, folder.path());
  CHECK(nodes.code == 2);
  CHECK(nodes.err.find("is for `describe fabric`") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
