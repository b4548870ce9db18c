// Counters of the network interfaces of this node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deploy/loop/rank_links.hpp"

namespace cclgym {

/// Sums over the interfaces, since an arbitrary start.
struct NetworkCount {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t received_packets = 0;
};

/// Reads /sys/class/net/NAME/statistics of all interfaces but loopback, the counters of InfiniBand
/// ports (/sys/class/infiniband/NAME/ports/N/counters, whose data is in units of 4 B), and those of
/// Slingshot's Cassini NICs (/sys/class/cxi/NAME/device/telemetry, whose files have
/// "value@seconds"). The Ethernet interface of a Cassini NIC is left out, since the NIC's own
/// counters include it. Interfaces that appear later are not counted. Any thread may call read().
class NetworkCounters {
 public:
  /// `root` replaces "/sys/class", for tests.
  explicit NetworkCounters(const std::string& root = "/sys/class");
  /// Number of interfaces and ports that are read; 0 if the system shows none.
  [[nodiscard]] std::size_t interfaces() const { return interfaces_; }
  /// All 0 if there is no interface. A counter that cannot be read counts as 0.
  [[nodiscard]] NetworkCount read() const;

 private:
  struct Counter {
    OwnedDescriptor file;
    std::uint64_t unit = 1;
    std::size_t sum = 0;  ///< member of NetworkCount
  };
  void add(const std::string& folder, const char* const (&names)[4], std::uint64_t unit);
  bool add_cassini(const std::string& folder);

  std::vector<Counter> files_;
  std::size_t interfaces_ = 0;
};

}  // namespace cclgym
