#include "deploy/loop/network_counters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace cclgym {

namespace {

// Names in a folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

constexpr const char* kInterfaceFiles[4] = {"tx_bytes", "rx_bytes", "tx_packets", "rx_packets"};
constexpr const char* kPortFiles[4] = {"port_xmit_data", "port_rcv_data", "port_xmit_packets",
                                       "port_rcv_packets"};
constexpr std::uint64_t kPortUnit = 4;

}  // namespace

NetworkCounters::NetworkCounters(const std::string& root) {
  std::vector<std::filesystem::path> cassini;
  for (const std::string& name : names_in(root + "/cxi")) {
    const std::string device = root + "/cxi/" + name + "/device";
    if (add_cassini(device + "/telemetry/")) cassini.push_back(device);
  }
  for (const std::string& name : names_in(root + "/net")) {
    const std::string interface = root + "/net/" + name;
    const bool counted = std::ranges::any_of(cassini, [&](const std::filesystem::path& device) {
      std::error_code error;
      return std::filesystem::equivalent(interface + "/device", device, error);
    });
    if (name != "lo" && !counted) add(interface + "/statistics/", kInterfaceFiles, 1);
  }
  for (const std::string& device : names_in(root + "/infiniband")) {
    const std::string ports = root + "/infiniband/" + device + "/ports";
    for (const std::string& port : names_in(ports)) {
      add(ports + "/" + port + "/counters/", kPortFiles, kPortUnit);
    }
  }
}

void NetworkCounters::add(const std::string& folder, const char* const (&names)[4],
                          std::uint64_t unit) {
  std::array<Counter, 4> counters;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    counters[i] = {OwnedDescriptor(::open((folder + names[i]).c_str(), O_RDONLY | O_CLOEXEC)),
                   i < 2 ? unit : 1, i};
    if (!counters[i].file) return;  // e.g. bonding_masters, which is no interface
  }
  std::ranges::move(counters, std::back_inserter(files_));
  ++interfaces_;
}

// False if there are no counters of bytes. Packets are counted by traffic class, 0 to 7.
bool NetworkCounters::add_cassini(const std::string& folder) {
  std::vector<Counter> counters;
  const auto open = [&](const std::string& name, std::size_t sum) {
    OwnedDescriptor file(::open((folder + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (file) counters.push_back({std::move(file), 1, sum});
  };
  open("hni_sts_tx_ok_octets", 0);
  open("hni_sts_rx_ok_octets", 1);
  if (counters.size() < 2) return false;
  for (char traffic_class = '0'; traffic_class < '8'; ++traffic_class) {
    open(std::string("hni_pkts_sent_by_tc_") + traffic_class, 2);
    open(std::string("hni_pkts_recv_by_tc_") + traffic_class, 3);
  }
  std::ranges::move(counters, std::back_inserter(files_));
  ++interfaces_;
  return true;
}

NetworkCount NetworkCounters::read() const {
  std::array<std::uint64_t, 4> sums{};
  for (const Counter& one : files_) {
    std::array<char, 24> text{};
    const ssize_t size = ::pread(one.file.get(), text.data(), text.size(), 0);
    std::uint64_t value = 0;
    if (size > 0) std::from_chars(text.data(), text.data() + size, value);
    sums[one.sum] += value * one.unit;
  }
  return {.sent_bytes = sums[0],
          .received_bytes = sums[1],
          .sent_packets = sums[2],
          .received_packets = sums[3]};
}

}  // namespace cclgym
