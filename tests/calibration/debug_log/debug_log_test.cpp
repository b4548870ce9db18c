// Tests of the reader of NCCL_DEBUG's output, on lines as the releases print them.
#include "calibration/debug_log/debug_log.hpp"

#include <fmt/format.h>

#include "calibration/debug_log/debug_reason.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

constexpr std::size_t kAllReduce = static_cast<std::size_t>(NcclCollective::AllReduce);

std::string line_of(int rank, std::string_view message) {
  return fmt::format("alpha{}:{}:{} [{}] NCCL INFO {}\n", rank / 2, 7000 + rank, 7100 + rank,
                     rank % 2, message);
}

// Two nodes of two GPUs, as 2.27 prints them; ranks print in turn.
std::string two_nodes() {
  std::string text = "NCCL version 2.27.5+cuda12.9\n";
  text += line_of(0, "NCCL_PROTO set by environment to ^LL128.");
  for (int rank = 0; rank < 4; ++rank) {
    text += line_of(rank, fmt::format("ncclCommInitRank comm 0x55 rank {} nranks 4 cudaDev {} "
                                      "nvmlDev 0 busId 18000 commId 0x221dee7 - Init START",
                                      rank, rank % 2));
  }
  text += line_of(0,
                  "Pattern 4, crossNic 2, nChannels 2, bw 24.000000/12.500000, type NVL/PXB, "
                  "sameChannels 1");
  text += line_of(0,
                  "Pattern 1, crossNic 2, nChannels 2, bw 40.000000/12.500000, type NVL/PIX, "
                  "sameChannels 0");
  for (int rank = 0; rank < 4; ++rank) {
    text += line_of(rank, fmt::format("comm 0x55 rank {} nRanks 4 nNodes 2 localRanks 2 localRank "
                                      "{} MNNVL 0",
                                      rank, rank % 2));
  }
  text += line_of(0, "Channel 00/02 :    0   1   3   2");
  text += line_of(0, "Channel 01/02 : 0 2 3 1");
  text += line_of(0, "Trees [0] 1/2/-1->0->-1 [1] 1/-1/-1->0->2");
  text += line_of(1, "Trees [0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0");
  text += line_of(2, "Trees [0] 3/-1/-1->2->0 [1] 3/0/-1->2->-1");
  text += line_of(3, "Trees [0] -1/-1/-1->3->2 [1] -1/-1/-1->3->2");
  text += line_of(0,
                  "  Algorithm   |                            Tree                  |"
                  "                            Ring                  |");
  text += line_of(0,
                  "  Protocol    |             LL |          LL128 |         Simple |"
                  "             LL |          LL128 |         Simple |");
  text += line_of(0,
                  " Max NThreads |            512 |            640 |            512 |"
                  "            512 |            640 |            256 |");
  text += line_of(0,
                  "    Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |"
                  "     8.0/   5.0 |     0.0/   0.0 |    20.0/  20.0 |");
  text += line_of(0,
                  "    AllReduce |    10.0/   4.0 |     0.0/   0.0 |    60.0/  16.0 |"
                  "    20.0/   5.0 |     0.0/   0.0 |    70.0/  20.0 |");
  text += line_of(0,
                  "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p "
                  "channels per peer");
  text +=
      line_of(0, "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.");
  for (int rank = 0; rank < 4; ++rank) {
    text += line_of(rank, fmt::format("ncclCommInitRank comm 0x55 rank {} nranks 4 cudaDev {} "
                                      "nvmlDev 0 busId 18000 commId 0x221dee7 - Init COMPLETE",
                                      rank, rank % 2));
  }
  text += line_of(0, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM");
  // A call runs in another thread than the start of its communicator.
  const std::string call = "alpha0:7000:7000 [0] NCCL INFO ";
  text += call + "AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n";
  text += call + "AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n";
  text += call + "AllGather: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}\n";
  text += call + "AllReduce: 8 Bytes -> Algo STAR proto LL channel{Lo..Hi}={0..0}\n";
  return text;
}

TEST_CASE("a log of NCCL_DEBUG gives release, graphs, rings, trees, estimates and choices",
          "[calibration][debug-log]") {
  const DebugLog log = read_debug_log(two_nodes(), "job.log");
  CHECK(log.version == "2.27.5");
  REQUIRE(log.variables.size() == 1);
  CHECK(log.variables[0] == std::pair<std::string, std::string>{"NCCL_PROTO", "^LL128"});
  CHECK(log.tuner.empty());
  REQUIRE(log.communicators.size() == 1);
  const DebugCommunicator& one = log.communicators[0];
  CHECK(one.id == "0x221dee7");
  CHECK(one.ranks == 4);
  CHECK(one.nodes == 2);
  CHECK(one.channels == 2);
  CHECK(one.hosts == std::vector<std::string>{"alpha0", "alpha1"});
  REQUIRE(one.graphs.size() == 2);
  CHECK(one.graphs[0] == DebugGraph{.pattern = 4,
                                    .channels = 2,
                                    .inside_GBps = 24,
                                    .between_GBps = 12.5,
                                    .inside_type = "NVL",
                                    .between_type = "PXB",
                                    .same_channels = true,
                                    .cross_nic = true});
  CHECK(pattern_name(one.graphs[1].pattern) == "balanced tree");
  REQUIRE(one.rings.size() == 2);
  CHECK(one.rings.at(0).order == std::vector<int>{0, 1, 3, 2});
  CHECK(one.rings.at(1).order == std::vector<int>{0, 2, 3, 1});
  CHECK(one.rings.at(1).whole);
  CHECK(one.trees.at(0) == DebugTree{{0, -1}, {1, 0}, {2, 0}, {3, 2}});
  CHECK(one.trees.at(1) == DebugTree{{0, 2}, {1, 0}, {2, -1}, {3, 2}});
  REQUIRE(one.estimates);
  CHECK((*one.estimates)[kAllReduce][1][2].latency_us == 70);
  CHECK((*one.estimates)[kAllReduce][1][2].bandwidth_GBps == 20);
  CHECK((*one.estimates)[kAllReduce][0][1].bandwidth_GBps == 0);
  REQUIRE(one.choices.size() == 2);
  CHECK(one.choices[0].collective == NcclCollective::AllReduce);
  CHECK(one.choices[0].bytes == 1024);
  CHECK(one.choices[0].algorithm == NcclAlgorithm::Tree);
  CHECK(one.choices[0].channels == 1);
  CHECK(one.choices[0].calls == 2);
  CHECK(one.choices[1].bytes == 4 << 20U);  // bytes of all ranks; NCCL prints those of one
  CHECK(log.unassigned.empty());
  REQUIRE(log.notes.size() == 1);
  CHECK(log.notes[0].starts_with("1 line was left out, the first because job.log:"));
  CHECK(log.notes[0].find("STAR") != std::string::npos);
}

TEST_CASE("the reason for a choice is NCCL's arithmetic on the estimates that it printed",
          "[calibration][debug-log]") {
  const DebugLog log = read_debug_log(two_nodes(), "job.log");
  const DebugCommunicator& one = log.communicators[0];
  const NcclVersion version = parse_nccl_version(log.version);
  // 1 KiB by tree with LL: the share of bandwidth for 16 lines of 64 B is 0.9.
  const DebugReason small =
      reason_of(one, version, NcclCollective::AllReduce, 1024, NcclAlgorithm::Tree, Protocol::LL);
  REQUIRE(small.predicted_us);
  CHECK(*small.predicted_us == Approx(10 + 1.024 / (4 * 0.9)));
  CHECK(small.least);
  CHECK(small.other == NcclAlgorithm::Ring);
  CHECK(small.other_protocol == Protocol::LL);
  CHECK(small.other_us == Approx(20 + 1.024 / 5));
  // 1 GiB by ring with Simple: its latency over several nodes grows by 1.4.
  const std::uint64_t large = 1 << 30U;
  const DebugReason big = reason_of(one, version, NcclCollective::AllReduce, large,
                                    NcclAlgorithm::Ring, Protocol::Simple);
  CHECK(*big.predicted_us == Approx(70 * 1.4 + large / 20e3));
  CHECK(big.least);
  const DebugReason wrong =
      reason_of(one, version, NcclCollective::AllReduce, large, NcclAlgorithm::Tree, Protocol::LL);
  CHECK_FALSE(wrong.least);
  CHECK_FALSE(wrong.rounding);
  const DebugReason absent = reason_of(one, version, NcclCollective::AllReduce, large,
                                       NcclAlgorithm::Nvls, Protocol::Simple);
  CHECK_FALSE(absent.predicted_us);
  CHECK(absent.other == NcclAlgorithm::Ring);
  CHECK_FALSE(reason_of(one, version, NcclCollective::AllGather, large, NcclAlgorithm::Ring,
                        Protocol::Simple)
                  .other);
  const auto broadcast = choices_by_estimates(one, version, NcclCollective::Broadcast);
  // 8 + x / 5 = 20 + x / 20 at 80 kB.
  REQUIRE(broadcast.size() == 2);
  CHECK(broadcast[0].to_bytes == 64 << 10U);
  CHECK(broadcast[1].from_bytes == 128 << 10U);
  CHECK(broadcast[1].protocol == Protocol::Simple);
  CHECK(broadcast[1].to_bytes == std::uint64_t{4} << 30U);
}

// A table of estimates as NCCL prints it, from the model of a release.
std::string printed(const NcclDefault& model) {
  std::string algorithms = "  Algorithm   |";
  std::string protocols = "  Protocol    |";
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    algorithms += fmt::format(" {} |", to_string(static_cast<NcclAlgorithm>(a)));
    for (const Protocol protocol : all_protocols()) {
      protocols += fmt::format(" {} |", to_string(protocol));
    }
  }
  std::string text = line_of(0, algorithms) + line_of(0, protocols);
  for (std::size_t c = 0; c < kNcclCollectives; ++c) {
    const auto collective = static_cast<NcclCollective>(c);
    std::string row = fmt::format("{} |", to_string(collective));
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const auto algorithm = static_cast<NcclAlgorithm>(a);
        row +=
            fmt::format("{:8.1f}/{:6.1f} |", model.latency_s(collective, algorithm, protocol) * 1e6,
                        model.bandwidth_Bps(collective, algorithm, protocol) * 1e-9);
      }
    }
    text += line_of(0, row);
  }
  return text;
}

TEST_CASE("the estimates of a log choose as the release does, within their rounding",
          "[calibration][debug-log]") {
  for (const char* const version : {"2.18.3", "2.23.4", "2.27.5", "2.30.7"}) {
    const auto fabric = make_fabric({.name = "hgx-h100", .servers = 2});
    const NcclVersion release = parse_nccl_version(version);
    const NcclDefault model(release, nccl_comm_for(*fabric, release));
    const std::string start =
        line_of(0, fmt::format("comm 0x1 rank 0 nRanks {} nNodes 2 localRanks 8", fabric->ranks()));
    const std::string channels =
        line_of(0, fmt::format("{} coll channels, 0 nvls channels", model.comm().channels));
    const DebugLog log = read_debug_log(start + printed(model) + channels, "log");
    REQUIRE(log.communicators.size() == 1);
    for (std::size_t c = 0; c < kNcclCollectives; ++c) {
      const auto collective = static_cast<NcclCollective>(c);
      for (std::uint64_t bytes = 1024; bytes <= std::uint64_t{1} << 32U; bytes *= 2) {
        const NcclChoice choice = model.choose(collective, bytes);
        const DebugReason reason = reason_of(log.communicators[0], release, collective, bytes,
                                             choice.algorithm, choice.protocol);
        INFO(version << ' ' << to_string(collective) << ' ' << bytes);
        CHECK((reason.least || reason.rounding));
      }
    }
  }
}

TEST_CASE("old releases print estimates and trees in other forms", "[calibration][debug-log]") {
  const std::string text =
      "NCCL version 2.8.4+cuda11.1\n" + line_of(0, "Channel 00/01 :    0   1") +
      line_of(0,
              "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Tree/Simple |    Ring/    LL "
              "|    Ring/ LL128 |    Ring/Simple | CollNet/    LL |") +
      line_of(0,
              " Max NThreads |            512 |            640 |            512 |            512 "
              "|            640 |            256 |            512 |") +
      line_of(0,
              "    AllReduce |     9.0/   1.5 |     0.0/   0.0 |    30.0/   3.0 |     8.0/   2.0 "
              "|     0.0/   0.0 |    24.0/   4.0 |     1.0/   9.0 |") +
      line_of(0, "Trees [0] 1/-1/-1->0->-1|-1->0->1/-1/-1") +
      line_of(0, "1 coll channels, 2 p2p channels, 2 p2p channels per peer") +
      line_of(0, "comm 0x7f rank 0 nranks 2 cudaDev 0 busId 6000 - Init COMPLETE") +
      line_of(1, "Trees [0] 0->1->-1/-1/-1") +
      line_of(1, "comm 0x7e rank 1 nranks 2 cudaDev 1 busId 7000 - Init COMPLETE") +
      line_of(0, "1024 Bytes -> Algo 1 proto 0 time 8.512") +
      line_of(0, "AllGather: 2048 Bytes -> Algo 1 proto 2 time 9.5") +
      line_of(0, "NCCL INFO is not a line");
  const DebugLog log = read_debug_log(text, "log");
  CHECK(log.version == "2.8.4");
  REQUIRE(log.communicators.size() == 1);
  const DebugCommunicator& one = log.communicators[0];
  CHECK(one.ranks == 2);
  CHECK(one.nodes == 1);
  CHECK(one.trees.at(0) == DebugTree{{0, -1}, {1, 0}});
  CHECK((*one.estimates)[kAllReduce][0][2].latency_us == 30);
  CHECK((*one.estimates)[kAllReduce][1][2].bandwidth_GBps == 4);
  CHECK((*one.estimates)[kAllReduce][static_cast<std::size_t>(NcclAlgorithm::CollNetDirect)][0]
            .bandwidth_GBps == 9);
  REQUIRE(one.choices.size() == 2);
  CHECK(one.choices[1].collective == NcclCollective::AllGather);
  CHECK(one.choices[1].bytes == 2048);
  CHECK(one.choices[1].protocol == Protocol::Simple);
  CHECK_FALSE(one.choices[0].collective);
  CHECK(one.choices[0].algorithm == NcclAlgorithm::Ring);
  CHECK(one.choices[0].printed_us == Approx(8.512));
}

TEST_CASE("a log of subsystem TUNING alone has estimates and choices of unknown ranks",
          "[calibration][debug-log]") {
  const DebugLog log = read_debug_log(
      line_of(0, "NCCL version 2.29.7+cuda12.9") + line_of(0, "  Algorithm   |   Ring   |") +
          line_of(0, "  Protocol    |   LL   |  LL128  | Simple |  LL  |  LL128 |") +
          line_of(0, "    Broadcast |     9.3/   1.2 |    18.0/   0.0 |    22.4/   2.4 |") +
          line_of(0, "Broadcast: 16384 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}") +
          line_of(0, "AllGather: 16384 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"),
      "log");
  REQUIRE(log.communicators.size() == 1);
  const DebugCommunicator& one = log.communicators[0];
  CHECK(one.ranks == 0);
  CHECK(one.nodes == 0);
  REQUIRE(one.choices.size() == 2);
  CHECK(one.choices[1].bytes == 16384);
  CHECK(one.choices[1].of_one_rank);
  // These estimates are of two RTX 5090, which changed from LL to Simple between 16 and 32 KiB.
  const auto ranges =
      choices_by_estimates(one, parse_nccl_version("2.29.7"), NcclCollective::Broadcast);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[1].from_bytes == 32 << 10U);
}

TEST_CASE("ranks with launchers' prefixes, and two communicators of one process, are kept apart",
          "[calibration][debug-log]") {
  std::string text;
  for (const auto& [id, order] : {std::pair{"0xa", "0 1"}, std::pair{"0xb", "0 1"}}) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string who = fmt::format("[1,{}]<stdout>:", rank);
      if (rank == 0) text += who + line_of(rank, fmt::format("Channel 00/01 : {}", order));
      text += who + line_of(rank, fmt::format("Trees [0] {}",
                                              rank == 0 ? "1/-1/-1->0->-1" : "-1/-1/-1->1->0"));
      text += who + line_of(rank, fmt::format("ncclCommSplit comm 0x5 rank {} nranks 2 cudaDev 0 "
                                              "busId 18000 parent 0x4 splitCount 1 commId {} - "
                                              "Init COMPLETE",
                                              rank, id));
    }
  }
  text += line_of(0, "AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}");
  const DebugLog log = read_debug_log(text, "log");
  REQUIRE(log.communicators.size() == 2);
  for (const DebugCommunicator& one : log.communicators) {
    CHECK(one.ranks == 2);
    CHECK(one.rings.at(0).order == std::vector<int>{0, 1});
    CHECK(one.trees.at(0).size() == 2);
    CHECK(one.choices.empty());
  }
  CHECK(log.communicators[0].id == "0xa");
  CHECK(log.communicators[1].id == "0xb");
  REQUIRE(log.unassigned.size() == 1);  // which of the two, NCCL does not say
}

TEST_CASE("parts of a communicator, which have no id in 2.24 to 2.29, are told apart by color",
          "[calibration][debug-log]") {
  // Ranks 0 and 1 of the parent split off with color 0, ranks 2 and 3 with color 1, at once.
  std::string text = two_nodes();
  const auto part = [](int rank) {
    return fmt::format(
        "ncclCommSplit comm 0x77 rank {} nranks 2 cudaDev {} nvmlDev 0 busId 18000 "
        "parent 0x55 splitCount 1 color {} key 0 - Init ",
        rank % 2, rank % 2, rank / 2);
  };
  for (int rank = 0; rank < 4; ++rank) text += line_of(rank, part(rank) + "START");
  for (int rank = 0; rank < 4; ++rank) {
    const bool first = rank % 2 == 0;
    // The second part has its tree the other way round.
    const bool root = first == (rank / 2 == 0);
    text += line_of(rank, fmt::format("Trees [0] {}->{}->{}", root ? "1/-1/-1" : "-1/-1/-1",
                                      rank % 2, root ? -1 : 1 - rank % 2));
  }
  for (const int rank : {2, 0, 3, 1}) text += line_of(rank, part(rank) + "COMPLETE");
  const DebugLog log = read_debug_log(text, "log");
  REQUIRE(log.communicators.size() == 3);
  CHECK(log.communicators[1].id == "split 1, color 1 of 0x221dee7");
  CHECK(log.communicators[1].hosts == std::vector<std::string>{"alpha1"});
  CHECK(log.communicators[1].trees.at(0) == DebugTree{{0, 1}, {1, -1}});
  CHECK(log.communicators[2].id == "split 1, color 0 of 0x221dee7");
  CHECK(log.communicators[2].trees.at(0) == DebugTree{{0, -1}, {1, 0}});
  // Rank 0 of the parent is rank 0 of a part, too, so that a choice may be of either.
  CHECK(log.communicators[0].choices.empty());
  CHECK(log.unassigned.size() == 2);
}

TEST_CASE("lines of NCCL inside rows, damaged estimates and other libraries",
          "[calibration][debug-log]") {
  std::string text = two_nodes();
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return read_debug_log(other, "log");
  };
  // A row of nccl-tests stands in front of a choice.
  const DebugLog row = changed("alpha0:7000:7000 [0] NCCL INFO AllReduce: 1024",
                               "  8   2  float  sum  -1alpha0:7000:7000 [0] NCCL INFO AllReduce: "
                               "1024");
  CHECK(row.unassigned.empty());
  CHECK(row.communicators.at(0).choices.at(0).calls == 2);
  // A row of the table counts as a whole or not at all.
  const DebugLog damaged =
      changed("20.0/   5.0 |     0.0/   0.0 |    70.0", "20.x/   5.0 |  0/0 | 70");
  const NcclEstimates& left = *damaged.communicators.at(0).estimates;
  CHECK(left[kAllReduce][0][0].bandwidth_GBps == 0);
  CHECK(left[static_cast<std::size_t>(NcclCollective::Broadcast)][1][2].bandwidth_GBps == 20);
  REQUIRE(damaged.notes.size() == 1);
  CHECK(damaged.notes[0].find("among the estimates of allreduce") != std::string::npos);
  // Containers have equal process numbers, and a host may end with the name of another.
  const std::string hosts =
      "n1:7:8 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2\n"
      "big-n1:7:8 [0] NCCL INFO comm 0x1 rank 1 nRanks 2 nNodes 2\n";
  CHECK(read_debug_log(hosts, "log").communicators.at(0).hosts ==
        std::vector<std::string>{"big-n1", "n1"});
  const DebugLog rccl = changed("NCCL version 2.27.5+cuda12.9", "RCCL version : 2.22.3-HEAD:a1b2");
  CHECK(rccl.rccl);
  CHECK(rccl.version == "2.22.3");
  const DebugLog short_ring = changed("Channel 01/02 : 0 2 3 1", "Channel 01/02 : 0 2");
  CHECK_FALSE(short_ring.communicators.at(0).rings.at(1).whole);
  text += line_of(0, "AllReduce [Symmetric]: 1024 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1");
  CHECK(read_debug_log(text, "log").other_calls == 1);
}

TEST_CASE("a ring whose line NCCL cut off follows the neighbours that the ranks printed",
          "[calibration][debug-log]") {
  const std::string cut = line_of(0, "Channel 00/01 : 0 2 1...");
  const DebugLog alone = read_debug_log(cut, "log");
  CHECK_FALSE(alone.communicators.at(0).rings.at(0).whole);
  std::string text = line_of(0, "Ring 00 : 1 -> 0 -> 2") + cut;
  text += line_of(1, "Ring 00 : 3 -> 1 -> 0");
  text += line_of(2, "Ring 00 : 0 -> 2 -> 3");
  const DebugLog part = read_debug_log(text, "log");
  CHECK_FALSE(part.communicators.at(0).rings.at(0).whole);  // rank 3 is missing
  text += line_of(3, "Ring 00 : 2 -> 3 -> 1");
  const DebugLog whole = read_debug_log(text, "log");
  REQUIRE(whole.communicators.size() == 1);
  CHECK(whole.communicators[0].rings.at(0).whole);
  CHECK(whole.communicators[0].rings.at(0).order == std::vector<int>{0, 2, 3, 1});
}

TEST_CASE("a text without lines of NCCL is refused", "[calibration][debug-log]") {
  CHECK(thrown([] {
          return read_debug_log("hello\n", "log");
        }).starts_with("log: has no line of NCCL"));
}

}  // namespace
}  // namespace cclgym
