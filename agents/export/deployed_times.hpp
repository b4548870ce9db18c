// Times of collectives that the profiler plugin recorded in a job
// (deploy/nccl_plugin/kernel_times.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace cclgym {

/// What one communicator size recorded, in the order of the calls: of a call that several ranks
/// recorded, the longest time.
class RecordedTimes {
 public:
  RecordedTimes() = default;
  /// Reads the CSV; rows of communicators of other sizes are passed over. Throws UserError
  /// "NAME:LINE: …" at a wrong row.
  RecordedTimes(std::string_view text, const std::string& name, std::uint32_t ranks,
                std::uint32_t nodes);

  /// Of calls of a collective by an algorithm and protocol (NCCL's numbers), at the size of the
  /// grid that `bytes` belongs to, s; empty: there are none.
  [[nodiscard]] std::span<const double> of(int collective, std::uint64_t bytes, int algorithm,
                                           int protocol) const;
  [[nodiscard]] std::size_t calls() const { return calls_; }

 private:
  using Key = std::tuple<int, std::size_t, int, int>;
  std::map<Key, std::vector<double>> times_s_;
  std::size_t calls_ = 0;
};

}  // namespace cclgym
