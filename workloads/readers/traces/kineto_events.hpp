// Events of a trace of PyTorch's profiler (Kineto) that a job needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// Arguments that the profiler adds to a kernel of communication.
struct KinetoCall {
  std::string collective{};  ///< "allreduce", "_allgather_base", "send", …; empty: it is not said
  std::string dtype{};       ///< "Float", "BFloat16", …
  std::string group{};       ///< "Process Group Name"
  std::string description{};
  std::string ranks{};  ///< "[0, 1]"; may be cut: "[0, 1, ...]"
  std::optional<std::int64_t> in_elements{};
  std::optional<std::int64_t> out_elements{};
  std::optional<std::int64_t> group_size{};
  std::optional<std::int64_t> source{};       ///< rank of the job
  std::optional<std::int64_t> destination{};  ///< rank of the job
  /// First argument that should be a number: "its "In msg nelems" is 'abc'; expected …".
  std::string malformed{};
};

/// A kernel, copy or memset on the GPU. Times are whole nanoseconds: a double would round today's
/// microseconds since 1970 to 0.25.
struct KinetoOp {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t stream = 0;
  std::int64_t device = 0;
  std::int64_t correlation =
      0;  ///< number of the call that launched it; increases with the calls; 0: none
  std::int64_t event = 0;  ///< its number in the trace, from 1
  std::int32_t name = 0;   ///< index into KinetoTrace::texts
  std::int32_t call = -1;  ///< index into KinetoTrace::calls; -1: no arguments of communication
};

/// cudaStreamWaitEvent, as the profiler reports it with option enable_cuda_sync_events.
struct KinetoWait {
  std::int64_t stream = 0;
  std::int64_t correlation = 0;  ///< number of the waiting call
  std::int64_t wait_on_stream = 0;
  std::int64_t record_correlation = 0;  ///< number of the cudaEventRecord on that stream
};

struct KinetoStep {
  std::int64_t number = 0;  ///< N of "ProfilerStep#N"
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct KinetoLaunch {
  std::int64_t correlation = 0;
  std::int64_t time_ns = 0;
};

struct KinetoGroup {
  std::string name{};
  std::vector<std::int32_t> ranks{};
};

/// An operation without a place in the step: it has no time, duration or stream.
struct KinetoUnplaced {
  std::int64_t event = 0;
  std::string name{};
  std::string reason{};
};

struct KinetoTrace {
  std::string file;
  std::optional<std::int64_t> rank{};
  std::optional<std::int64_t> world_size{};
  std::vector<KinetoGroup> groups{};
  std::vector<KinetoOp> ops{};
  std::vector<KinetoCall> calls{};
  std::vector<KinetoWait> waits{};
  std::vector<KinetoStep> steps{};
  std::vector<KinetoLaunch> launches{};
  std::vector<std::string> texts{};
  std::size_t unplaced_count = 0;
  KinetoUnplaced unplaced{};  ///< the first one
};

/// Reads the JSON of a trace, event by event. Other events, and fields that a job does not need,
/// are skipped, and so are operations without a place. Throws UserError located in `file`, with
/// line and column where the text is no JSON.
[[nodiscard]] KinetoTrace parse_kineto(std::string_view text, const std::string& file);

}  // namespace cclgym
