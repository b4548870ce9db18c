// Times of collectives recorded in a job by the profiler plugin
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

/// Recorded times of communicators of one size, in the order of the calls. If several ranks
/// recorded a call, its time is the maximum of theirs.
class RecordedTimes {
 public:
  RecordedTimes() = default;
  /// Reads the CSV and skips rows of communicators of other sizes. Throws UserError "NAME:LINE:
  /// ..." for a malformed row.
  RecordedTimes(std::string_view text, const std::string& name, std::uint32_t ranks,
                std::uint32_t nodes);

  /// Times, s, of a collective's calls by algorithm and protocol (NCCL's numbers), at the grid size
  /// of `bytes`; empty if there are none.
  [[nodiscard]] std::span<const double> of(int collective, std::uint64_t bytes, int algorithm,
                                           int protocol) const;
  [[nodiscard]] std::size_t calls() const { return calls_; }

 private:
  using Key = std::tuple<int, std::size_t, int, int>;
  std::map<Key, std::vector<double>> times_s_;
  std::size_t calls_ = 0;
};

}  // namespace cclgym
