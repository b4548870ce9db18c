#include "deploy/loop/frames.hpp"

#include <algorithm>
#include <cstdint>
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

}  // namespace cclgym::test
