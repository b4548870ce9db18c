#include "sim/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/units.hpp"
#include "sim/analysis.hpp"

namespace cclgym {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

// Date in whole nanoseconds. Viewers round dates and durations to nanoseconds, so that adjacent
// slices would appear to overlap if both were rounded separately.
std::int64_t whole_ns(double seconds) {
  return static_cast<std::int64_t>(std::floor(seconds * 1e9));
}
double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

class TimelineWriter {
 public:
  TimelineWriter(std::ostream& out, const SimulationRecord& record, const Fabric& fabric)
      : out_(out),
        record_(record),
        fabric_(record.lowered.fabric ? *record.lowered.fabric : fabric),
        program_(*record.lowered.outline) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    write_ranks();
    write_links();
    write_critical_path();
    out_ << "\n],\"otherData\":"
         << Json{{"program", program_.name},
                 {"collective", to_string(record_.call.collective)},
                 {"fabric", fabric_.name()},
                 {"size", format_bytes(record_.call.bytes)},
                 {"protocol", to_string(record_.config.protocol)},
                 {"channels", record_.config.channels},
                 {"tiles", record_.result.tiles},
                 {"simulated_tiles", record_.result.simulated_tiles},
                 {"time_us", record_.result.time_s * kMicroseconds},
                 {"busiest_links", busiest_links_json()}}
         << "}\n";
  }

 private:
  void event(const Json& json) {
    out_ << (first_ ? "\n" : ",\n") << json;
    first_ = false;
  }
  void name_process(int pid, const std::string& name) {
    event({{"ph", "M"}, {"pid", pid}, {"name", "process_name"}, {"args", {{"name", name}}}});
    event({{"ph", "M"},
           {"pid", pid},
           {"name", "process_sort_index"},
           {"args", {{"sort_index", pid}}}});
  }
  void name_track(int pid, int tid, const std::string& name) {
    event({{"ph", "M"},
           {"pid", pid},
           {"tid", tid},
           {"name", "thread_name"},
           {"args", {{"name", name}}}});
    event({{"ph", "M"},
           {"pid", pid},
           {"tid", tid},
           {"name", "thread_sort_index"},
           {"args", {{"sort_index", tid}}}});
  }
  void slice(int pid, int tid, const std::string& name, double start_s, double end_s, Json args) {
    slice(pid, tid, name, whole_ns(start_s), whole_ns(end_s), std::move(args));
  }
  void slice(int pid, int tid, const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
             Json args) {
    if (start_ns == end_ns) {
      // Viewers would nest a slice of length zero wrongly in another slice that starts at its date.
      event({{"ph", "i"},
             {"pid", pid},
             {"tid", tid},
             {"name", name},
             {"ts", microseconds(start_ns)},
             {"s", "t"},
             {"args", std::move(args)}});
      return;
    }
    event({{"ph", "X"},
           {"pid", pid},
           {"tid", tid},
           {"name", name},
           {"ts", microseconds(start_ns)},
           {"dur", microseconds(end_ns - start_ns)},
           {"args", std::move(args)}});
  }

  // Track 0 of a rank is its launch, track b + 1 thread block b.
  void write_ranks() {
    for (int rank = 0; rank < fabric_.ranks(); ++rank) {
      const Node& gpu = fabric_.nodes()[static_cast<std::size_t>(fabric_.gpu(rank))];
      name_process(rank, fmt::format("rank {} ({})", rank, gpu.name));
      const std::uint32_t first = program_.first_block(rank);
      for (std::uint32_t b = first; b < program_.first_block(rank + 1); ++b) {
        const OutlineBlock& block = program_.blocks[b];
        std::string name = fmt::format("block {} channel {}", b - first, block.channel);
        if (block.send_peer >= 0) name += fmt::format(" to {}", block.send_peer);
        if (block.recv_peer >= 0) name += fmt::format(" from {}", block.recv_peer);
        name_track(rank, static_cast<int>(b - first) + 1, name);
      }
    }
    for (TransferId id = 0; id < record_.graph->size(); ++id) {
      const NodeOrigin& origin = record_.lowered.origins[static_cast<std::size_t>(id)];
      if (origin.role != NodeRole::Launch) continue;
      if (origin.step == 0) name_track(origin.rank, 0, "launch");
      const double start_s = start({id, 0});
      double launch_s = start_s;
      if (origin.step == 0 && !record_.start_delay_s.empty()) {
        launch_s += record_.start_delay_s[static_cast<std::size_t>(origin.rank)];
        slice(origin.rank, 0, "start delay", start_s, launch_s, Json::object());
      }
      slice(origin.rank, 0, "kernel launch", launch_s, end({id, 0}), Json::object());
    }
    write_steps();
  }

  // Draws every message as an arrow from the step that sends it to the step that receives it; a
  // step that does both has two arrows. Viewers attach an arrow's end to the slice at its date, so
  // these steps have slices of at least one nanosecond, and a step after a lengthened one starts
  // later by the same amount.
  void write_steps() {
    const std::vector<StepTime> steps = step_times(record_);
    std::vector<Slot> slots(steps.size());
    std::vector<std::int64_t> sent_ns(record_.start_s.size(), 0);  // by firing of a flow
    std::int64_t free_from_ns = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const StepTime& step = steps[i];
      const bool same_track =
          i > 0 && step.rank == steps[i - 1].rank && step.thread_block == steps[i - 1].thread_block;
      if (!same_track) free_from_ns = 0;
      const bool tied = step.sent.flow >= 0 || step.received.flow >= 0;
      Slot& slot = slots[i];
      slot.start_ns = std::max(whole_ns(step.start_s), free_from_ns);
      slot.end_ns = std::max(whole_ns(step.end_s), slot.start_ns + (tied ? 1 : 0));
      free_from_ns = slot.end_ns;
      if (step.sent.flow >= 0) sent_ns[firing_of(step.sent)] = slot.start_ns;
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      write_step(steps[i], slots[i]);
      if (steps[i].sent.flow >= 0) {
        write_arrow_end("s", steps[i], steps[i].sent, slots[i].start_ns);
      }
      if (steps[i].received.flow >= 0) {
        const std::int64_t arrived_ns =
            std::max(whole_ns(steps[i].arrival_s), sent_ns[firing_of(steps[i].received)]);
        write_arrow_end("f", steps[i], steps[i].received,
                        std::clamp(arrived_ns, slots[i].start_ns, slots[i].end_ns - 1));
      }
    }
  }

  // Position of a step on its track.
  struct Slot {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };

  void write_step(const StepTime& step, const Slot& slot) {
    const OutlineBlock& block = program_.block(step.rank, step.thread_block);
    const OutlineStep& instruction = program_.step_at(
        program_.first_block(step.rank) + static_cast<std::uint32_t>(step.thread_block), step.step);
    std::string name(to_string(instruction.opcode));
    if (sends(instruction.opcode)) name += fmt::format(" to {}", block.send_peer);
    if (receives(instruction.opcode)) name += fmt::format(" from {}", block.recv_peer);
    Json args{{"step", step.step}, {"chunks", instruction.count}};
    if (tiled()) args["tile"] = step.tile;
    const StepTime::Message& message = step.sent.flow >= 0 ? step.sent : step.received;
    if (message.flow >= 0) args["wire_bytes"] = record_.graph->bytes(message.flow);
    slice(step.rank, step.thread_block + 1, name, slot.start_ns, slot.end_ns, std::move(args));
  }

  void write_arrow_end(const char* phase, const StepTime& step, const StepTime::Message& message,
                       std::int64_t at_ns) {
    Json arrow{{"ph", phase},
               {"pid", step.rank},
               {"tid", step.thread_block + 1},
               {"id", firing_of(message)},
               {"name", "message"},
               {"cat", "message"},
               {"ts", microseconds(at_ns)}};
    if (*phase == 'f') arrow["bp"] = "e";
    event(arrow);
  }

  [[nodiscard]] std::size_t firing_of(const StepTime::Message& message) const {
    return record_.firing(message.flow, message.firing);
  }

  // Messages that overlap on a link are drawn on additional tracks, because slices of a track must
  // nest.
  void write_links() {
    const int pid = fabric_.ranks();
    name_process(pid, "links");
    const std::vector<LinkUse> uses = link_use(record_);
    int tid = 0;
    for (std::size_t link = 0; link < uses.size(); ++link) {
      std::vector<double> free_from_s;  // by track of this link
      const int first_tid = tid;
      for (const LinkInterval& interval : uses[link].intervals) {
        std::size_t track = 0;
        while (track < free_from_s.size() && free_from_s[track] > interval.start_s) ++track;
        if (track == free_from_s.size()) free_from_s.push_back(0);
        free_from_s[track] = interval.end_s;
        const NodeOrigin& origin = record_.lowered.origins[static_cast<std::size_t>(interval.flow)];
        const double bytes = record_.graph->bytes(interval.flow);
        const double duration_s = interval.end_s - interval.start_s;
        slice(
            pid, first_tid + static_cast<int>(track),
            fmt::format("{} to {}", origin.rank, origin.peer_rank), interval.start_s,
            interval.end_s,
            {{"wire_bytes", bytes}, {"rate_GBps", duration_s > 0 ? bytes / duration_s / 1e9 : 0}});
      }
      for (std::size_t track = 0; track < free_from_s.size(); ++track) {
        name_track(pid, first_tid + static_cast<int>(track),
                   link_name(fabric_, link) + (track == 0 ? "" : fmt::format(" ({})", track + 1)));
      }
      tid += static_cast<int>(free_from_s.size());
    }
  }

  void write_critical_path() {
    const int pid = fabric_.ranks() + 1;
    name_process(pid, "critical path");
    for (const Firing& firing : critical_path(record_)) {
      Json args = Json::object();
      if (tiled()) args["tile"] = firing.tile;
      slice(pid, 0, describe_node(record_.lowered, firing.node, firing.tile), start(firing),
            end(firing), std::move(args));
    }
  }

  // The links with the largest shares of their capacity in use.
  [[nodiscard]] Json busiest_links_json() const {
    constexpr std::size_t kMost = 8;
    const std::vector<LinkUse> uses = link_use(record_, false);
    Json links = Json::array();
    for (const std::size_t link : busiest_links(uses)) {
      if (links.size() == kMost) break;
      links.push_back({{"link", link_name(fabric_, link)},
                       {"rate_GBps", uses[link].rate_Bps / 1e9},
                       {"capacity_GBps", uses[link].capacity_Bps / 1e9},
                       {"share", uses[link].share()}});
    }
    return links;
  }
  [[nodiscard]] double start(const Firing& firing) const {
    return record_.start_s[record_.firing(firing.node, firing.tile)];
  }
  [[nodiscard]] double end(const Firing& firing) const {
    return record_.end_s[record_.firing(firing.node, firing.tile)];
  }
  [[nodiscard]] bool tiled() const { return record_.result.tiles > 1; }

  std::ostream& out_;
  const SimulationRecord& record_;
  const Fabric& fabric_;
  const ProgramOutline& program_;
  bool first_ = true;
};

}  // namespace

void write_timeline(std::ostream& out, const SimulationRecord& record, const Fabric& fabric) {
  if (!record.dated()) {
    throw UserError(
        fmt::format("{} transfers and delays are too many for a timeline; expected at most {}",
                    record.graph->firings(), SimulationRecord::kMostDated));
  }
  TimelineWriter(out, record, fabric).write();
}

void write_timeline_file(const std::string& path, const SimulationRecord& record,
                         const Fabric& fabric) {
  std::ostringstream text;
  write_timeline(text, record, fabric);
  write_text_file(path, text.str());
}

}  // namespace cclgym
