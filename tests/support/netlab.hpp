// Hosts of scripts/netlab for a test.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace cclgym::test {

/// Runs a command of the shell without its output; true if it succeeds.
inline bool succeeds(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// A network that belongs to the test and is removed at its end. `name` and `net` ("10.79.0")
/// differ between tests that may run at the same time.
class Netlab {
 public:
  Netlab(const std::string& name, const std::string& net, int hosts)
      : words_{"env", "NETLAB=" + name, "NETLAB_NET=" + net, source_path("scripts/netlab")},
        up_(does("up --hosts " + std::to_string(hosts))) {}
  ~Netlab() {
    if (up_) (void)does("down");
  }
  Netlab(const Netlab&) = delete;
  Netlab& operator=(const Netlab&) = delete;

  /// False if there is no network, e.g. without the rights for it.
  [[nodiscard]] bool up() const { return up_; }
  /// Runs a command of the script; true if it succeeds.
  [[nodiscard]] bool does(const std::string& command) const {
    std::string line;
    for (const std::string& word : words_) line += word + " ";
    return succeeds(line + command);
  }
  /// Start of a command line that runs a program on the hosts, one rank per host.
  [[nodiscard]] std::vector<std::string> launch() const {
    std::vector<std::string> words = words_;
    words.emplace_back("mpirun");
    return words;
  }

 private:
  std::vector<std::string> words_;
  bool up_;
};

}  // namespace cclgym::test
