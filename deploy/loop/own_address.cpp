#include "deploy/loop/own_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>

#include "core/error.hpp"

namespace cclgym {

std::string own_address(std::string_view interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw UserError("cannot read the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    const bool loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    if (interface.empty() ? loopback : !std::string_view(one->ifa_name).starts_with(interface)) {
      continue;
    }
    sockaddr_in address{};
    address = *reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    std::array<char, INET_ADDRSTRLEN> text{};
    if (::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) != nullptr) {
      return text.data();
    }
  }
  if (interface.empty()) return "127.0.0.1";
  throw UserError("no network interface '" + std::string(interface) +
                  "' that is up and has an IPv4 address");
}

}  // namespace cclgym
