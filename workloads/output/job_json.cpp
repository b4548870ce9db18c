#include "workloads/output/job_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "workloads/output/job_view.hpp"
#include "workloads/output/use_views.hpp"

namespace cclgym {

namespace {

using JobJson = nlohmann::ordered_json;

JobJson json_of(const RankTime& time) {
  return {{"compute_s", time.compute_s},
          {"overlap_s", time.overlap_s},
          {"exposed_s", time.exposed_s},
          {"idle_s", time.idle_s},
          {"host_idle_s", time.host_idle_s}};
}

JobJson json_of(const std::vector<UseOverTime>& uses) {
  JobJson rows = JobJson::array();
  for (const UseOverTime& use : uses) {
    rows.push_back(
        {{"name", use.name}, {"members", use.members}, {"mean", use.mean}, {"max", use.max}});
  }
  return rows;
}

JobJson calls_json(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown) {
  JobJson rows = JobJson::array();
  for (const CallSummary& call : breakdown.calls) {
    rows.push_back(
        {{"communicator", job.communicators[at(call.communicator)].name},
         {"call", call_label(call)},
         {"size_bytes", call.bytes},
         {"ranks", call.ranks},
         {"configuration", config_label(call.config)},
         {"algorithm", call.config.algorithm},
         {"protocol", to_string(call.config.protocol)},
         {"channels", call.config.channels},
         {"instances", call.config.instances},
         {"calls_per_rank", call.calls},
         {"time_s", call.time_s},
         {"wait_s", call.wait_s},
         {"measured_s", call.measured_s > 0 ? JobJson(call.measured_s) : JobJson(nullptr)},
         {"total_s", call.total_s},
         {"busbw_Bps", bus_bandwidth_Bps(call)},
         {"share", record.step_time_s > 0 ? call.total_s / record.step_time_s : 0}});
  }
  return rows;
}

JobJson path_json(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown,
                  const JobView& view, std::size_t most) {
  JobJson path{{"compute_s", breakdown.path_compute_s},
               {"host_idle_s", breakdown.path_host_idle_s},
               {"measured_s", breakdown.path_measured_s},
               {"communicators", JobJson::array()},
               {"segments", JobJson::array()}};
  for (std::size_t i = 0; i < job.communicators.size(); ++i) {
    path["communicators"].push_back(
        {{"name", job.communicators[i].name}, {"time_s", breakdown.path_communicator_s[i]}});
  }
  for (std::size_t i = 0; i < std::min(most, breakdown.path.size()); ++i) {
    const PathSegment& segment = breakdown.path[i];
    const OpView op = view.op(segment.actor, segment.op);
    const std::int32_t communicator = view.communicator_of(op);
    path["segments"].push_back(
        {{"rank", record.lowered.classes.actor[segment.actor]},
         {"operation", view.op_label(op)},
         {"communicator",
          communicator < 0 ? JobJson(nullptr) : JobJson(job.communicators[at(communicator)].name)},
         {"start_s", segment.start_s},
         {"end_s", segment.end_s}});
  }
  return path;
}

}  // namespace

std::string job_json(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown,
                     const Fabric& fabric, std::span<const TunerRow> tuners,
                     const JobJsonOptions& options) {
  const JobView view(job, record);
  JobJson json{{"job", job.name},
               {"fabric", fabric.name()},
               {"ranks", job.ranks},
               {"simulated_ranks", view.actors()},
               {"calls_of_all_ranks", record.calls},
               {"flows", record.flows},
               {"step_time_s", record.step_time_s},
               {"notes", job_notes(job, fabric)},
               {"mean", json_of(breakdown.mean)},
               {"actors", JobJson::array()}};
  for (std::size_t actor = 0; actor < std::min(options.max_actors, breakdown.actors.size());
       ++actor) {
    JobJson row{{"rank", record.lowered.classes.actor[actor]}, {"ranks", view.ranks(actor).size()}};
    row.update(json_of(breakdown.actors[actor]));
    json["actors"].push_back(std::move(row));
  }
  json["calls"] = calls_json(job, record, breakdown);
  json["critical_path"] = path_json(job, record, breakdown, view, options.max_segments);
  if (!record.series.empty()) {
    JobJson links = JobJson::array();
    for (const BusyLink& link : busiest_job_links(record, fabric, options.max_links)) {
      links.push_back({{"link", link.name},
                       {"kind", to_string(link.kind)},
                       {"count", link.count},
                       {"bytes", link.bytes},
                       {"capacity_Bps", link.capacity_Bps},
                       {"share", link.share},
                       {"peak", link.peak}});
    }
    json["links"] = std::move(links);
    json["use"] = {{"interval_s", record.series.interval_s},
                   {"kinds", json_of(use_by_kind(record, fabric))},
                   {"gpus", json_of(use_of_gpus(record))}};
  } else {
    json["links"] = json["use"] = nullptr;
  }
  json["tuners"] = JobJson::array();
  for (const TunerRow& row : tuners) {
    json["tuners"].push_back(
        {{"tuner", row.name},
         {"step_time_s", row.step_time_s},
         {"exposed_s", row.exposed_s},
         {"speedup", row.step_time_s > 0 ? tuners.front().step_time_s / row.step_time_s : 0}});
  }
  return json.dump(options.indent, ' ', false, JobJson::error_handler_t::replace);
}

}  // namespace cclgym
