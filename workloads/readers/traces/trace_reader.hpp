// Shared helpers of the readers of traces: files, texts by index, process groups by rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Maximum size of one trace, also after decompression, bytes.
inline constexpr std::size_t kMostTraceBytes = std::size_t{512} << 20;
/// Maximum number of operations, and of dependencies, of all traces of a job together.
inline constexpr std::size_t kMostTraceOps = std::size_t{1} << 24;
inline constexpr std::size_t kMostTraceDependencies = std::size_t{1} << 26;
/// Maximum number of ranks of a job that was read from traces.
inline constexpr std::int64_t kMostTraceRanks = 1 << 17;

/// Contents of a trace; a gzip file (first bytes 1f 8b) is decompressed. Throws UserError if it
/// cannot be read or has more than kMostTraceBytes.
[[nodiscard]] std::string read_trace_file(const std::string& path);

/// Decompresses a gzip file that is in memory. Throws UserError if it is damaged, truncated or
/// larger than `max_bytes` afterwards.
[[nodiscard]] std::string gunzip(std::string_view bytes, const std::string& file,
                                 std::size_t max_bytes);

/// The ranks in "[0, 1, 2]"; nullopt if the text is anything else, e.g. a list that a profiler cut
/// ("[0, 1, ...]").
[[nodiscard]] std::optional<std::vector<std::int32_t>> parse_rank_list(std::string_view text);

/// Names or streams of a job, found by hashing.
class TextTable {
 public:
  /// Index of the text, which is added if it is new.
  std::int32_t index(std::string_view text);
  [[nodiscard]] const std::string& text(std::int32_t index) const { return texts_[at(index)]; }
  /// The texts by index; leaves the table empty.
  [[nodiscard]] std::vector<std::string> take();

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::int32_t> index_;
};

/// Adds process groups to a job. A rank numbers its groups in the order of their first use, so that
/// ranks that do the same in other groups have equal programs.
class TraceGroups {
 public:
  explicit TraceGroups(JobGraph& job) : job_(job) {}

  /// Index (JobOp::communicator) of a group for one of its ranks. Groups with the same name and
  /// ranks are one group; groups with the same name share a communicator.
  std::int32_t communicator(std::int32_t rank, std::string_view name,
                            const std::vector<std::int32_t>& ranks);

 private:
  JobGraph& job_;
  std::unordered_map<std::string, std::int32_t> communicators_;
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, std::int32_t> groups_;
};

}  // namespace cclgym
