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
  for (const std::string& name : names_in(root + "/net")) {
    if (name != "lo") add(root + "/net/" + name + "/statistics/", kInterfaceFiles, 1);
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
                   i < 2 ? unit : 1};
    if (!counters[i].file) return;  // e.g. bonding_masters, which is no interface
  }
  std::ranges::move(counters, std::back_inserter(files_));
}

NetworkCount NetworkCounters::read() const {
  std::array<std::uint64_t, 4> sums{};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::array<char, 24> text{};
    const ssize_t size = ::pread(files_[i].file.get(), text.data(), text.size(), 0);
    std::uint64_t value = 0;
    if (size > 0) std::from_chars(text.data(), text.data() + size, value);
    sums[i % 4] += value * files_[i].unit;
  }
  return {.sent_bytes = sums[0],
          .received_bytes = sums[1],
          .sent_packets = sums[2],
          .received_packets = sums[3]};
}

}  // namespace cclgym
