// Ports for servers of a test.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace cclgym::test {

/// A TCP port at which nobody listens. It is below those that the system gives to sockets without
/// a port of their own, which could otherwise take it before the test does. Processes begin at
/// different ports.
inline std::uint16_t free_port() {
  constexpr std::uint32_t kFirst = 10'000;
  constexpr std::uint32_t kPorts = 22'000;
  static std::uint32_t next = static_cast<std::uint32_t>(::getpid()) * 32;
  for (std::uint32_t tries = 0; tries < kPorts; ++tries) {
    const auto port = static_cast<std::uint16_t>(kFirst + next++ % kPorts);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_ANY);
    address.sin_port = ::htons(port);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound =
        ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (bound) return port;
  }
  throw std::runtime_error("no port is free");
}

}  // namespace cclgym::test
