#include "workloads/output/job_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

#include "core/files/text_file.hpp"
#include "core/index.hpp"
#include "workloads/output/job_view.hpp"
#include "workloads/output/use_views.hpp"

namespace cclgym {

namespace {

using TraceJson = nlohmann::ordered_json;

// Processes of the trace; those of actors follow. Some viewers take number 0 for an idle process.
constexpr int kPathProcess = 1;
constexpr int kLinksProcess = 2;
constexpr int kFirstActorProcess = 3;

// Date in whole nanoseconds: viewers round to them, and neighbours must not overlap afterwards.
std::int64_t date_ns(double seconds) {
  return static_cast<std::int64_t>(std::floor(seconds * 1e9));
}
int track_of(std::size_t stream) { return static_cast<int>(stream) + 1; }
double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }
// Enough for a picture, and short.
double four_digits(double share) { return std::round(share * 1e4) / 1e4; }

class JobTimelineWriter {
 public:
  JobTimelineWriter(std::ostream& out, const JobGraph& job, const JobRecord& record,
                    const JobBreakdown& breakdown, const Fabric& fabric)
      : out_(out),
        job_(job),
        record_(record),
        breakdown_(breakdown),
        fabric_(fabric),
        view_(job, record) {}

  void write(const JobTimelineOptions& options) {
    const std::vector<std::size_t> shown = view_.shown_actors(breakdown_, options.max_actors);
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    write_path();
    write_counters();
    for (const std::size_t actor : shown) write_actor(actor);
    std::size_t shown_ranks = 0;
    for (const std::size_t actor : shown) shown_ranks += view_.ranks(actor).size();
    out_ << "\n],\"otherData\":";
    put({{"job", job_.name},
         {"fabric", fabric_.name()},
         {"ranks", job_.ranks},
         {"drawn_ranks", shown_ranks},
         {"left_out_ranks", at(job_.ranks) - shown_ranks},
         {"drawn_processes", shown.size()},
         {"left_out_processes", view_.actors() - shown.size()},
         {"calls", record_.calls},
         {"flows", record_.flows},
         {"step_time_us", record_.step_time_s * 1e6}});
    out_ << "}\n";
  }

 private:
  // Names come from users' files, which may not be UTF-8.
  void put(const TraceJson& json) {
    out_ << json.dump(-1, ' ', false, TraceJson::error_handler_t::replace);
  }
  void event(const TraceJson& json) {
    out_ << (first_ ? "\n" : ",\n");
    put(json);
    first_ = false;
  }
  void metadata(TraceJson track, const char* name, TraceJson args) {
    TraceJson made{{"ph", "M"}};
    made.update(track);
    made["name"] = name;
    made["args"] = std::move(args);
    event(made);
  }
  void name_process(int pid, const std::string& name) {
    metadata({{"pid", pid}}, "process_name", {{"name", name}});
    metadata({{"pid", pid}}, "process_sort_index", {{"sort_index", pid}});
  }
  void name_track(int pid, int tid, const std::string& name) {
    metadata({{"pid", pid}, {"tid", tid}}, "thread_name", {{"name", name}});
    metadata({{"pid", pid}, {"tid", tid}}, "thread_sort_index", {{"sort_index", tid}});
  }
  void slice(int pid, int tid, const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
             TraceJson args) {
    TraceJson made{
        {"ph", "X"}, {"pid", pid}, {"tid", tid}, {"name", name}, {"ts", in_us(start_ns)}};
    if (end_ns > start_ns) {
      made["dur"] = in_us(end_ns - start_ns);
    } else {  // viewers nest slices of length zero wrongly
      made["ph"] = "i";
      made["s"] = "t";
    }
    if (!args.empty()) made["args"] = std::move(args);
    event(made);
  }

  [[nodiscard]] TraceJson args_of(const OpView& view) const {
    TraceJson args = TraceJson::object();
    const JobOp& op = *view.op;
    if (op.kind == JobOpKind::Compute) {
      if (op.communicates) args["call"] = "as measured";
      if (op.flop > 0) args["gflop"] = op.flop / 1e9;
      if (op.memory_bytes > 0) args["memory_MB"] = op.memory_bytes / 1e6;
      return args;
    }
    args["call"] = op.kind == JobOpKind::Collective ? to_string(op.collective) : to_string(op.kind);
    args["communicator"] = job_.communicators[at(view_.communicator_of(view))].name;
    args["bytes"] = view.planned == nullptr ? op.bytes : view.planned->call.bytes;
    if (view.planned != nullptr) {
      args["ranks"] = view.planned->view->fabric->ranks();
      args["configuration"] = config_label(view.planned->config);
    }
    args["wait_us"] = in_us(date_ns(view.begin_s) - date_ns(view.start_s));
    args["run_us"] = in_us(date_ns(view.end_s) - date_ns(view.begin_s));
    return args;
  }

  void write_actor(std::size_t actor) {
    const int pid = kFirstActorProcess + static_cast<int>(actor);
    name_process(pid, view_.actor_label(actor));
    const RankProgram& program = view_.program(actor);
    std::vector<bool> used(job_.streams.size(), false);
    for (const JobOp& op : program.ops) used[at(op.stream)] = true;
    for (std::size_t stream = 0; stream < used.size(); ++stream) {
      if (used[stream]) name_track(pid, track_of(stream), job_.streams[stream]);
    }
    for (std::int32_t index = 0; index < program.size(); ++index) {
      const OpView view = view_.op(actor, index);
      const std::int64_t start_ns = date_ns(view.start_s);
      const std::int64_t begin_ns = date_ns(view.begin_s);
      const std::int64_t end_ns = date_ns(view.end_s);
      slice(pid, track_of(at(view.op->stream)), view_.op_label(view), start_ns, end_ns,
            args_of(view));
      if (begin_ns > start_ns) {
        slice(pid, track_of(at(view.op->stream)), "wait", start_ns, begin_ns,
              {{"for_rank", view.awaited}});
      }
    }
  }

  void write_path() {
    name_process(kPathProcess, "critical path");
    name_track(kPathProcess, 1, "operations");
    std::int64_t free_from_ns = 0;
    for (const PathSegment& segment : breakdown_.path) {
      const OpView view = view_.op(segment.actor, segment.op);
      const std::int64_t start_ns = std::max(date_ns(segment.start_s), free_from_ns);
      const std::int64_t end_ns = std::max(date_ns(segment.end_s), start_ns);
      free_from_ns = end_ns;
      TraceJson args = args_of(view);
      args.erase("wait_us");
      args.erase("run_us");
      slice(kPathProcess, 1, view_.path_label(view), start_ns, end_ns, std::move(args));
    }
  }

  using NamedShares = std::vector<std::pair<const char*, const std::vector<double>*>>;
  // A counter with several values, at the dates at which one of them changes.
  void counter(const std::string& name, const NamedShares& values) {
    TraceJson last;
    for (int i = 0; i <= record_.series.intervals; ++i) {
      TraceJson now = TraceJson::object();
      for (const auto& [label, shares] : values) {
        now[label] = i < record_.series.intervals ? four_digits((*shares)[at(i)]) : 0.0;
      }
      if (now == last) continue;
      event({{"ph", "C"},
             {"pid", kLinksProcess},
             {"name", name},
             {"ts", in_us(date_ns(i * record_.series.interval_s))},
             {"args", now}});
      last = std::move(now);
    }
  }

  void write_counters() {
    if (record_.series.empty()) return;
    name_process(kLinksProcess, "use of links and GPUs, share of capacity");
    for (const UseOverTime& use : use_by_kind(record_, fabric_)) {
      counter(use.name, {{"mean", &use.mean}, {"max", &use.max}});
    }
    const BusyGpu gpu = busiest_gpu(record_);
    counter(fmt::format("GPU of {}", view_.actor_label(gpu.actor)),
            {{"SMs", &gpu.sms}, {"memory", &gpu.memory}});
    std::map<std::string, int> seen;  // several links may join the same devices
    for (const BusyLink& link : busiest_job_links(record_, fabric_)) {
      const int number = ++seen[link.name];
      counter(number == 1 ? link.name : fmt::format("{} ({})", link.name, number),
              {{"share", &link.use}});
    }
  }

  std::ostream& out_;
  const JobGraph& job_;
  const JobRecord& record_;
  const JobBreakdown& breakdown_;
  const Fabric& fabric_;
  JobView view_;
  bool first_ = true;
};

}  // namespace

void write_job_timeline(std::ostream& out, const JobGraph& job, const JobRecord& record,
                        const JobBreakdown& breakdown, const Fabric& fabric,
                        const JobTimelineOptions& options) {
  JobTimelineWriter(out, job, record, breakdown, fabric).write(options);
}

void write_job_timeline_file(const std::string& path, const JobGraph& job, const JobRecord& record,
                             const JobBreakdown& breakdown, const Fabric& fabric,
                             const JobTimelineOptions& options) {
  std::ostringstream text;
  write_job_timeline(text, job, record, breakdown, fabric, options);
  write_text_file(path, text.str());
}

}  // namespace cclgym
