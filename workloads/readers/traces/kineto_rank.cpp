#include "workloads/readers/traces/kineto_rank.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym {

namespace {

// Maximum number of streams: an operation is compared with the last ones of all others.
constexpr std::size_t kMostStreams = 1024;

// Time at which the host launched an operation; its start if the trace has no launch.
class LaunchTimes {
 public:
  explicit LaunchTimes(const KinetoTrace& trace) : launches_(trace.launches) {
    std::sort(launches_.begin(), launches_.end(), [](const auto& a, const auto& b) {
      return a.correlation != b.correlation ? a.correlation < b.correlation : a.time_ns < b.time_ns;
    });
  }
  [[nodiscard]] std::int64_t of(const KinetoOp& op) const {
    const auto found = std::lower_bound(launches_.begin(), launches_.end(), op.correlation,
                                        [](const KinetoLaunch& launch, std::int64_t wanted) {
                                          return launch.correlation < wanted;
                                        });
    const bool known =
        op.correlation > 0 && found != launches_.end() && found->correlation == op.correlation;
    return known ? found->time_ns : op.start_ns;
  }

 private:
  std::vector<KinetoLaunch> launches_;
};

bool launched_in(const KinetoStep& step, std::int64_t time_ns) {
  return time_ns >= step.begin_ns && time_ns < step.end_ns;
}

// Operations of one stream so far, for searches by end and by launch.
struct StreamSoFar {
  bool communicates = false;
  double busy_ns = 0;
  std::vector<std::int32_t> positions;     // in the step
  std::vector<std::int64_t> ends;          // never decreasing: maximum so far
  std::vector<std::int64_t> correlations;  // the same

  void add(std::int32_t position, const KinetoOp& op) {
    positions.push_back(position);
    ends.push_back(ends.empty() ? op.end_ns : std::max(ends.back(), op.end_ns));
    correlations.push_back(correlations.empty() ? op.correlation
                                                : std::max(correlations.back(), op.correlation));
  }
  // Number of operations that ended by a time.
  [[nodiscard]] std::size_t ended(std::int64_t time_ns) const {
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), time_ns) -
                                    ends.begin());
  }
  [[nodiscard]] std::size_t launched_before(std::int64_t correlation) const {
    return static_cast<std::size_t>(
        std::lower_bound(correlations.begin(), correlations.end(), correlation) -
        correlations.begin());
  }
  // Number of operations launched no later than this call.
  [[nodiscard]] std::size_t launched(std::int64_t correlation) const {
    return static_cast<std::size_t>(
        std::upper_bound(correlations.begin(), correlations.end(), correlation) -
        correlations.begin());
  }
};

class StepBuilder {
 public:
  StepBuilder(const KinetoTrace& trace, std::vector<std::int32_t> selected, bool with_idle)
      : trace_(trace), selected_(std::move(selected)), with_idle_(with_idle) {
    for (const std::int32_t index : selected_) {
      const KinetoOp& op = trace_.ops[at(index)];
      StreamSoFar& stream = streams_[op.stream];
      stream.busy_ns += static_cast<double>(op.end_ns - op.start_ns);
      if (is_communication(trace_, op)) stream.communicates = true;
    }
    if (streams_.size() > kMostStreams) {
      throw UserError(SourceLocation{.file = trace_.file},
                      fmt::format("it has operations on {} streams; expected at most {}",
                                  streams_.size(), kMostStreams));
    }
    for (const auto& [number, stream] : streams_) {
      if (!stream.communicates && (!main_ || stream.busy_ns > streams_[*main_].busy_ns)) {
        main_ = number;
      }
    }
    if (!trace_.waits.empty()) read_waits();
  }

  // The time until the next step's first operation belongs to the step, too, if it is in the trace.
  std::vector<KinetoStepOp> build(const KinetoStep* step, const LaunchTimes& launches) {
    for (const std::int32_t index : selected_) {
      const KinetoOp& op = trace_.ops[at(index)];
      KinetoStepOp added{.op = index, .stream = op.stream, .duration_ns = op.end_ns - op.start_ns};
      added.deps = dependencies(index, op);
      dependency_count_ += added.deps.size();
      if (dependency_count_ > kMostTraceDependencies) {
        throw UserError(SourceLocation{.file = trace_.file},
                        fmt::format("it has more than {} dependencies between streams",
                                    kMostTraceDependencies));
      }
      if (main_ == op.stream) add_idle(op.start_ns, added.deps);
      const auto position = static_cast<std::int32_t>(ops_.size());
      ops_.push_back(std::move(added));
      end_ns_.push_back(op.end_ns);
      streams_[op.stream].add(position, op);
    }
    if (main_ && step != nullptr) {
      if (const KinetoOp* next = next_on_main(*step, launches)) {
        std::vector<std::int32_t> deps = exposed(*main_, next->start_ns);
        add_idle(next->start_ns, deps);
      }
    }
    return std::move(ops_);
  }

 private:
  const KinetoOp* next_on_main(const KinetoStep& step, const LaunchTimes& launches) const {
    const KinetoOp* next = nullptr;
    for (const KinetoOp& op : trace_.ops) {
      if (op.stream != *main_ || launches.of(op) < step.end_ns) continue;
      if (next == nullptr || op.start_ns < next->start_ns) next = &op;
    }
    return next;
  }

  std::vector<std::int32_t> dependencies(std::int32_t index, const KinetoOp& op) const {
    if (!trace_.waits.empty()) {
      std::vector<std::int32_t> deps;
      const auto [begin, end] = awaited_.equal_range(index);
      for (auto wait = begin; wait != end; ++wait) {
        const auto found = streams_.find(wait->second.wait_on_stream);
        if (found == streams_.end() || found->first == op.stream) continue;
        const StreamSoFar& other = found->second;
        const std::size_t count = std::min(other.launched_before(wait->second.record_correlation),
                                           other.ended(op.start_ns));
        if (count > 0) deps.push_back(other.positions[count - 1]);
      }
      std::sort(deps.begin(), deps.end());
      deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
      return deps;
    }
    if (!streams_.at(op.stream).communicates) return exposed(op.stream, op.start_ns);
    std::vector<std::int32_t> deps;
    for (const auto& [number, stream] : streams_) {
      if (stream.communicates || number == op.stream) continue;
      std::size_t count = stream.ended(op.start_ns);
      if (op.correlation > 0) count = std::min(count, stream.launched(op.correlation));
      if (count > 0) deps.push_back(stream.positions[count - 1]);
    }
    return deps;
  }

  // The last operation of every other stream that ended while this stream was idle.
  std::vector<std::int32_t> exposed(std::int64_t stream, std::int64_t start_ns) const {
    const StreamSoFar& own = streams_.at(stream);
    const std::int64_t idle_from =
        own.ends.empty() ? std::numeric_limits<std::int64_t>::min() : own.ends.back();
    std::vector<std::int32_t> deps;
    for (const auto& [number, other] : streams_) {
      if (number == stream) continue;
      const std::size_t count = other.ended(start_ns);
      if (count > 0 && other.ends[count - 1] >= idle_from) {
        deps.push_back(other.positions[count - 1]);
      }
    }
    return deps;
  }

  // Time before `start_ns` that neither the stream nor the dependencies explain. The idle operation
  // takes the dependencies over: the next one follows it on the stream.
  void add_idle(std::int64_t start_ns, std::vector<std::int32_t>& deps) {
    if (!with_idle_) return;
    const StreamSoFar& own = streams_.at(*main_);
    std::int64_t ready = trace_.ops[at(selected_.front())].start_ns;
    if (!own.ends.empty()) ready = std::max(ready, own.ends.back());
    for (const std::int32_t dependency : deps) ready = std::max(ready, end_ns_[at(dependency)]);
    if (start_ns <= ready) return;
    ops_.push_back({.stream = *main_, .duration_ns = start_ns - ready, .deps = deps});
    end_ns_.push_back(start_ns);
    deps.clear();
  }

  // The wait of a stream belongs to the first operation on it that is launched later.
  void read_waits() {
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int32_t>>> launched;
    for (const std::int32_t index : selected_) {
      const KinetoOp& op = trace_.ops[at(index)];
      launched[op.stream].emplace_back(op.correlation, index);
    }
    for (auto& [number, ops] : launched) std::stable_sort(ops.begin(), ops.end());
    for (const KinetoWait& wait : trace_.waits) {
      const auto ops = launched.find(wait.stream);
      if (ops == launched.end()) continue;
      const auto first = std::upper_bound(
          ops->second.begin(), ops->second.end(),
          std::make_pair(wait.correlation, std::numeric_limits<std::int32_t>::max()));
      if (first != ops->second.end()) awaited_.emplace(first->second, wait);
    }
  }

  const KinetoTrace& trace_;
  std::vector<std::int32_t> selected_;
  bool with_idle_;
  std::map<std::int64_t, StreamSoFar> streams_;
  std::optional<std::int64_t> main_;  // the stream of computation with the most work
  std::multimap<std::int32_t, KinetoWait> awaited_;
  std::vector<KinetoStepOp> ops_;
  std::size_t dependency_count_ = 0;
  std::vector<std::int64_t> end_ns_;  // by position in the step
};

const KinetoStep* find_step(const KinetoTrace& trace, std::int64_t number) {
  const auto found = std::find_if(trace.steps.begin(), trace.steps.end(),
                                  [&](const KinetoStep& step) { return step.number == number; });
  return found == trace.steps.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_step(const KinetoTrace& trace, std::int64_t number) {
  if (trace.steps.empty()) {
    throw UserError(SourceLocation{.file = trace.file},
                    fmt::format("it has no step {}: the profiler wrote no steps", number));
  }
  const auto [first, last] = std::minmax_element(
      trace.steps.begin(), trace.steps.end(),
      [](const KinetoStep& a, const KinetoStep& b) { return a.number < b.number; });
  throw UserError(SourceLocation{.file = trace.file},
                  fmt::format("it has no step {}; it has {}, from {} to {}", number,
                              counted(trace.steps.size(), "step"), first->number, last->number));
}

}  // namespace

bool is_communication(const KinetoTrace& trace, const KinetoOp& op) {
  // Parts of names: "ncclDevKernel_AllReduce…", "void rcclGenericKernel<…", "mscclKernel_…" of
  // RCCL.
  constexpr std::string_view kLibraries[] = {"nccl", "rccl", "msccl"};
  const std::string& name = trace.texts[at(op.name)];
  return op.call >= 0 ||
         std::any_of(std::begin(kLibraries), std::end(kLibraries), [&](std::string_view library) {
           return name.find(library) != std::string::npos;
         });
}

std::optional<std::int64_t> last_kineto_step(const KinetoTrace& trace) {
  const LaunchTimes launches(trace);
  std::vector<std::int64_t> times;
  times.reserve(trace.ops.size());
  for (const KinetoOp& op : trace.ops) times.push_back(launches.of(op));
  std::sort(times.begin(), times.end());
  std::optional<std::int64_t> last;
  for (const KinetoStep& step : trace.steps) {
    const auto first = std::lower_bound(times.begin(), times.end(), step.begin_ns);
    if (first == times.end() || !launched_in(step, *first)) continue;
    last = std::max(last.value_or(step.number), step.number);
  }
  return last;
}

std::vector<KinetoStepOp> kineto_step_ops(const KinetoTrace& trace,
                                          std::optional<std::int64_t> step, bool with_idle) {
  const LaunchTimes launches(trace);
  const KinetoStep* chosen = step ? find_step(trace, *step) : nullptr;
  if (step && chosen == nullptr) refuse_step(trace, *step);
  std::vector<std::int32_t> selected;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (chosen == nullptr || launched_in(*chosen, launches.of(trace.ops[i]))) {
      selected.push_back(static_cast<std::int32_t>(i));
    }
  }
  if (selected.empty()) {
    throw UserError(SourceLocation{.file = trace.file},
                    step
                        ? fmt::format("step {} has no operations on the GPU", *step)
                        : "it has no operations on the GPU; record them with "
                          "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], also on ROCm");
  }
  const std::int64_t device = trace.ops[at(selected.front())].device;
  for (const std::int32_t index : selected) {
    if (trace.ops[at(index)].device == device) continue;
    throw UserError(SourceLocation{.file = trace.file},
                    fmt::format("it has operations of GPUs {} and {}; expected one GPU per trace",
                                device, trace.ops[at(index)].device));
  }
  std::stable_sort(selected.begin(), selected.end(), [&](std::int32_t a, std::int32_t b) {
    return trace.ops[at(a)].start_ns < trace.ops[at(b)].start_ns;
  });
  return StepBuilder(trace, std::move(selected), with_idle).build(chosen, launches);
}

}  // namespace cclgym
