// The IPv4 address at which other nodes reach this one.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

/// Address of the network interface with this name, or whose name begins so ("eth"); with an empty
/// name, of the first interface that is up and is not loopback, and otherwise "127.0.0.1". Throws
/// UserError if there is no such interface.
[[nodiscard]] std::string own_address(std::string_view interface = {});

}  // namespace cclgym
