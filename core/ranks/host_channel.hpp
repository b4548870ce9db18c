// The courier's end of the channel to its host.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cclgym {

/// A host process and the channel to it.
class HostChannel {
 public:
  HostChannel(pid_t host, int channel) : host_(host), channel_(channel) {}
  ~HostChannel() { end(); }
  HostChannel(const HostChannel&) = delete;
  HostChannel& operator=(const HostChannel&) = delete;

  /// False after the end of the host.
  [[nodiscard]] bool alive() const { return host_ > 0; }
  /// True if the host lives and is not stopped.
  [[nodiscard]] bool runs() const;
  [[nodiscard]] int file() const { return channel_; }
  /// Sends a message without waiting: the host may be waiting to send itself. A host that has died
  /// gets none.
  void send(const std::string& message);
  /// Messages that have arrived; also sends what was left to send. If the host has ended, alive()
  /// is false afterwards.
  [[nodiscard]] std::vector<std::string> receive();
  /// Reason of the host's end, after it.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Kills the host.
  void end();

 private:
  void reap();

  pid_t host_;
  int channel_;
  std::string inbox_;
  std::string outbox_;  ///< bytes that the channel did not take yet
  std::string reason_;
};

/// Waits that grow while nothing happens, so that an idle rank leaves its core to the simulators.
class Backoff {
 public:
  /// Reports that something happened.
  void reset() { wait_us_ = kFirst_us; }
  /// Waits for the file to become readable (-1: no file), for 20 us to 1 ms.
  void wait(int file);

 private:
  static constexpr long kFirst_us = 20;
  static constexpr long kLast_us = 1000;
  long wait_us_ = kFirst_us;
};

}  // namespace cclgym
