#include "calibration/cuda/cuda_testing.hpp"
#include "calibration/cuda/nccl/nccl_log.hpp"
#include "core/error.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "support/catch.hpp"

namespace cclgym {

namespace {

constexpr const char* kCsv =
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n"
    "allreduce,0,65536,tree,ll,2,-1,-1\n"
    "allreduce,65537,1099511627776,ring,simple,8,-1,-1\n"
    "broadcast,0,1099511627776,ring,ll128,-1,-1,-1\n";

std::string line(const std::string& what) { return "gpu-1:4711:4723 [0] NCCL INFO " + what + "\n"; }

constexpr LoggedCommunicator kFour{.ranks = 4, .version = {2, 28, 9}, .channels = 0};

NcclAgreement agreement_of(const std::string& what) {
  const RowChoices choices(kCsv, "p.csv", 4, 1);
  return agreement(read_nccl_log(line(what), "log").at(0), choices, kFour);
}

}  // namespace

TEST_CASE("NCCL's lines about its choices are read in the spelling of any release",
          "[calibration][cuda-nccl-log]") {
  const std::string text =
      "NCCL version 2.28.9+cuda13.0\n" +
      line("AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}") +
      line("Using network Socket") +
      line("ReduceScatter: 512 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={2..3}") +
      line("AllReduce: 8 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..0}") +
      line("AllReduce: 8 Bytes -> Algo NVLSTree proto Simple channel{Lo..Hi}={0..0}") +
      line("AllGather [Symmetric]: 8 Bytes -> Kernel LL nchannels 1 nthreads 64 nWorks 1") +
      "AllGather: 8 Bytes -> Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={0..1}\r\n";
  const std::vector<NcclDecision> found = read_nccl_log(text, "log", 10);
  REQUIRE(found.size() == 5);
  CHECK(found[0].collective == CCLGYM_NCCL_ALLREDUCE);
  CHECK(found[0].bytes == 1048576);
  CHECK(found[0].algorithm == CCLGYM_NCCL_RING);
  CHECK(found[0].protocol == CCLGYM_NCCL_SIMPLE);
  CHECK(found[0].channels == 8);
  CHECK(found[0].line == 11);
  CHECK(found[1].protocol == CCLGYM_NCCL_LL128);
  CHECK(found[1].channels == 2);
  CHECK(found[2].algorithm == 5);
  CHECK(found[3].algorithm == 5);
  CHECK(found[4].algorithm == 2);
}

TEST_CASE("names and numbers that NCCL does not have are errors with the line",
          "[calibration][cuda-nccl-log]") {
  const auto message = [](const std::string& what) {
    try {
      (void)read_nccl_log("\n" + line(what), "nccl.log");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  using test::has_text;
  CHECK_THAT(message("AllReduce: 8 Bytes -> Algo SPIRAL proto LL channel{Lo..Hi}={0..0}"),
             has_text("nccl.log:2: the algorithm is 'SPIRAL'"));
  CHECK_THAT(message("AllReduce: 8 Bytes -> Algo RING proto LL256 channel{Lo..Hi}={0..0}"),
             has_text("the protocol"));
  CHECK_THAT(message("AllSing: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"),
             has_text("the collective"));
  CHECK_THAT(message("AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={3..1}"),
             has_text("the last channel"));
  CHECK_THAT(message("AllReduce: 8 Bytes -> Algo RING proto LL time 4"), has_text("nccl.log:2"));
  CHECK_THAT(message("AllReduce: x Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"),
             has_text("the size"));
}

TEST_CASE("calls are compared with the choices, and fewer channels are explained by the traffic",
          "[calibration][cuda-nccl-log]") {
  using A = NcclAgreement;
  const std::string big = "AllReduce: 4194304 Bytes -> Algo ";
  CHECK(agreement_of(big + "RING proto SIMPLE channel{Lo..Hi}={0..7}") == A::Same);
  CHECK(agreement_of(big + "RING proto LL channel{Lo..Hi}={0..7}") == A::Different);
  CHECK(agreement_of(big + "TREE proto SIMPLE channel{Lo..Hi}={0..7}") == A::Different);
  // 4 MiB is enough for all 8 channels, so 4 are not explained.
  CHECK(agreement_of(big + "RING proto SIMPLE channel{Lo..Hi}={0..3}") == A::Channels);
  // NCCL 2.28 gives each channel at least 16 KiB of traffic, and counts AllReduce twice and LL four
  // times. So 1 KiB counts as 8 KiB, too little for a second channel, and 8 KiB as 64 KiB, enough
  // for two channels.
  CHECK(agreement_of("AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}") ==
        A::FewerByModel);
  CHECK(agreement_of("AllReduce: 8192 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}") ==
        A::Same);
  CHECK(agreement_of("AllReduce: 8192 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}") ==
        A::Channels);
  // The tuner chose -1 for Broadcast, which allows any number of channels.
  CHECK(agreement_of("Broadcast: 8 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..4}") ==
        A::Same);
  CHECK(agreement_of("AllGather: 8 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..4}") ==
        A::NotChosen);
}

TEST_CASE("NCCL logs the bytes of one rank, and a tuner is asked about those of all",
          "[calibration][cuda-nccl-log]") {
  // As logged by 2.28.9 for an AllGather of 256 KiB on four ranks.
  const RowChoices choices(
      "allgather,0,65536,ring,ll,1,-1,-1\nallgather,65537,1099511627776,ring,simple,2,-1,-1\n",
      "p.csv", 4, 4);
  const auto found = read_nccl_log(
      line("AllGather: 65536 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}") +
          line("ReduceScatter: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}") +
          line("AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"),
      "log");
  REQUIRE(found.size() == 3);
  CHECK(call_bytes(found[0], 4) == 262144);
  CHECK(call_bytes(found[1], 4) == 32);
  CHECK(call_bytes(found[2], 4) == 8);
  CHECK(agreement(found[0], choices, kFour) == NcclAgreement::Same);
}

TEST_CASE("a communicator with fewer channels than chosen explains them",
          "[calibration][cuda-nccl-log]") {
  using A = NcclAgreement;
  const RowChoices choices(kCsv, "p.csv", 4, 1);
  const std::string made = line("4 coll channels, 4 collnet channels, 0 nvls channels, 4 p2p");
  const std::string four = line(
      "AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE "
      "channel{Lo..Hi}={0..3}");
  const std::string three = line(
      "AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE "
      "channel{Lo..Hi}={0..2}");
  const std::vector<NcclDecision> found = read_nccl_log(four + made + four + three, "log");
  REQUIRE(found.size() == 3);
  CHECK(found[0].channels_of_communicator == 0);
  CHECK(found[1].channels_of_communicator == 4);
  CHECK(agreement(found[0], choices, kFour) == A::Channels);
  CHECK(agreement(found[1], choices, kFour) == A::FewerByCommunicator);
  CHECK(agreement(found[2], choices, kFour) == A::Channels);
  // The number may be known from an earlier part of the log.
  CHECK(read_nccl_log(four, "log", 1, 4).at(0).channels_of_communicator == 4);
  const NcclLogCheck check = check_nccl_log(found, choices, kFour);
  CHECK(check.explained_share() == Approx(1.0 / 3));
  CHECK_THAT(nccl_log_text(check), test::has_text("the communicator has no more channels"));
}

TEST_CASE("shares count the calls for which the tuner made a choice",
          "[calibration][cuda-nccl-log]") {
  std::string text;
  for (int i = 0; i < 98; ++i) {
    text += line("AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}");
  }
  text += line("AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}");
  text += line("AllReduce: 4194304 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..7}");
  text += line("AllGather: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}");
  const RowChoices choices(kCsv, "p.csv", 4, 1);
  const NcclLogCheck check = check_nccl_log(read_nccl_log(text, "log"), choices, kFour);
  CHECK(check.calls == 101);
  CHECK(check.chosen() == 100);
  CHECK(check.same_share() == Approx(0.98));
  CHECK(check.explained_share() == Approx(0.99));
  REQUIRE(check.disagreements.size() == 2);
  CHECK(check.disagreements[0].agreement == NcclAgreement::FewerByModel);
  CHECK(check.disagreements[1].first.line == 100);
  const std::string report = nccl_log_text(check);
  CHECK_THAT(report, test::has_text("98.00 % with its algorithm"));
  CHECK_THAT(report, test::has_text("nvls/Simple/8, chosen ring/Simple/8"));
}

TEST_CASE("an empty log has no share", "[calibration][cuda-nccl-log]") {
  const RowChoices choices(kCsv, "p.csv", 4, 1);
  const NcclLogCheck check = check_nccl_log({}, choices, kFour);
  CHECK(check.chosen() == 0);
  CHECK(check.same_share() == 0);
}

}  // namespace cclgym
