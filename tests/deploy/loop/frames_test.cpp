#include "deploy/loop/frames.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "deploy/loop/network_counters.hpp"
#include "deploy/loop/rank_tree.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {

namespace {

Frame random_frame(Random& random, std::int32_t ranks) {
  Frame frame{.kind = static_cast<FrameKind>(random.integer(0, 4)),
              .hops = static_cast<std::uint8_t>(random.integer(0, 40)),
              .source = static_cast<std::int32_t>(random.integer(0, ranks - 1)),
              .target = static_cast<std::int32_t>(random.integer(0, ranks - 1))};
  frame.payload.resize(static_cast<std::size_t>(random.integer(0, 300)));
  for (char& byte : frame.payload) byte = static_cast<char>(random.integer(0, 255));
  return frame;
}

}  // namespace

TEST_CASE("frames: any cutting of the stream gives the frames back") {
  Random random = Random::stream(1, {});
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Frame> frames;
    std::string bytes;
    for (int i = 0; i < 10; ++i) {
      frames.push_back(random_frame(random, 5));
      put_frame(bytes, frames.back());
    }
    FrameReader reader(5);
    std::vector<Frame> read;
    while (!bytes.empty()) {
      const auto part = std::min(bytes.size(), static_cast<std::size_t>(random.integer(1, 100)));
      reader.inbox() += bytes.substr(0, part);
      bytes.erase(0, part);
      while (auto frame = reader.next()) read.push_back(*frame);
    }
    CHECK(read == frames);
    CHECK_FALSE(reader.broken());
  }
}

TEST_CASE("frames: damaged streams are noticed or read as frames, never more") {
  Random random = Random::stream(2, {});
  int broken = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes;
    for (int i = 0; i < 3; ++i) put_frame(bytes, random_frame(random, 5));
    const auto at = static_cast<std::size_t>(random.integer(0, 19));  // the first frame's head
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(random.integer(1, 255)));
    FrameReader reader(5);
    reader.inbox() = bytes;
    for (int i = 0; i < 10; ++i) {
      const auto frame = reader.next();
      if (!frame) break;
      CHECK((frame->source >= 0 && frame->source < 5));
      CHECK((frame->target >= 0 && frame->target < 5));
      CHECK(frame->kind <= FrameKind::Last);
    }
    if (reader.broken()) ++broken;
  }
  CHECK(broken > 5000);
}

TEST_CASE("frames: a payload that is too long breaks the stream") {
  std::string bytes;
  put_frame(bytes, {.payload = std::string(kMostFrameBytes + 1, 'x')});
  FrameReader reader(1);
  reader.inbox() = bytes.substr(0, 100);
  CHECK_FALSE(reader.next().has_value());
  CHECK(reader.broken());
}

TEST_CASE("rank tree: every rank reaches every other, by neighbours") {
  Random random = Random::stream(3, {});
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::int32_t> nodes(static_cast<std::size_t>(random.integer(2, 120)));
    const std::int64_t most = random.integer(1, 40);
    for (std::int32_t& node : nodes) node = static_cast<std::int32_t>(random.integer(0, most));
    const RankTree tree(nodes);
    const auto ranks = static_cast<std::int32_t>(nodes.size());
    CHECK(tree.parent(0) == -1);
    for (std::int32_t from = 0; from < ranks; ++from) {
      for (std::int32_t to = 0; to < ranks; ++to) {
        int steps = 0;
        for (std::int32_t at = from; at != to && steps < 20; ++steps) {
          const std::int32_t next = tree.next_hop(at, to);
          REQUIRE((tree.parent(at) == next || tree.parent(next) == at));
          at = next;
        }
        REQUIRE(steps <= 2 * tree.depth());
      }
    }
  }
}

TEST_CASE("rank tree: the first rank of a node speaks for it; heads have up to 8 children") {
  std::vector<std::int32_t> nodes;
  for (std::int32_t rank = 0; rank < 40; ++rank) nodes.push_back(rank / 2);
  const RankTree tree(nodes);
  for (std::int32_t rank = 0; rank < 40; ++rank) {
    CAPTURE(rank);
    if (rank % 2 == 1) CHECK(tree.parent(rank) == rank - 1);
    if (rank % 2 == 0 && rank > 0) CHECK(tree.parent(rank) == (rank / 2 - 1) / 8 * 2);
  }
  CHECK(tree.depth() == 3);  // 20 nodes: 1 + 8 + 11; and a second rank on each
}

TEST_CASE("network counters: sums over interfaces and InfiniBand ports, without loopback") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    write_file(folder / path, text);
  };
  for (const std::string name : {"lo", "eth0", "eth1"}) {
    const std::string at = "net/" + name + "/statistics/";
    write(at + "tx_bytes", "1000\n");
    write(at + "rx_bytes", "200\n");
    write(at + "tx_packets", "30\n");
    write(at + "rx_packets", "4\n");
  }
  write("net/bonding_masters", "bond0\n");
  const std::string port = "infiniband/mlx5_0/ports/1/counters/";
  write(port + "port_xmit_data", "10\n");
  write(port + "port_rcv_data", "20\n");
  write(port + "port_xmit_packets", "1\n");
  write(port + "port_rcv_packets", "2\n");
  const NetworkCounters counters(folder.path());
  CHECK(counters.interfaces() == 3);
  const NetworkCount count = counters.read();
  CHECK(count.sent_bytes == 2040);
  CHECK(count.received_bytes == 480);
  CHECK(count.sent_packets == 61);
  CHECK(count.received_packets == 10);
  // A counter that moved on is read again.
  write("net/eth0/statistics/tx_bytes", "5000\n");
  CHECK(counters.read().sent_bytes == 6040);
  CHECK(NetworkCounters(folder.path() + "/none").interfaces() == 0);
}

TEST_CASE("network counters: Cassini NICs, whose Ethernet interface is not counted again") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    write_file(folder / path, text);
  };
  const std::string telemetry = "cxi/cxi0/device/telemetry/";
  write(telemetry + "hni_sts_tx_ok_octets", "1000@1700000000.123456789\n");
  write(telemetry + "hni_sts_rx_ok_octets", "18446744073709551000@1700000000.123456789\n");
  for (const char traffic_class : {'0', '1', '7'}) {
    write(telemetry + "hni_pkts_sent_by_tc_" + traffic_class, "10@1700000000.1\n");
    write(telemetry + "hni_pkts_recv_by_tc_" + traffic_class, "4@1700000000.1\n");
  }
  write("cxi/cxi1/device/telemetry/hni_sts_tx_ok_octets", "5@1700000000.1\n");  // no received ones
  for (const std::string name : {"hsn0", "hsn1", "eth0"}) {
    const std::string at = "net/" + name + "/statistics/";
    write(at + "tx_bytes", "100\n");
    write(at + "rx_bytes", "20\n");
    write(at + "tx_packets", "3\n");
    write(at + "rx_packets", "1\n");
  }
  for (const char nic : {'0', '1'}) {
    std::filesystem::create_directory_symlink(folder.path() + "/cxi/cxi" + nic + "/device",
                                              folder.path() + "/net/hsn" + nic + "/device");
  }
  const NetworkCounters counters(folder.path());
  CHECK(counters.interfaces() == 3);  // cxi0, hsn1, eth0
  const NetworkCount count = counters.read();
  CHECK(count.sent_bytes == 1200);
  CHECK(count.received_bytes == 18446744073709551040U);
  CHECK(count.sent_packets == 36);
  CHECK(count.received_packets == 14);
}

}  // namespace cclgym::test
