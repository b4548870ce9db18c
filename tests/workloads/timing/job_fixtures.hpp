// Small jobs for the tests of their simulation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/engine/engine.hpp"
#include "topology_models/machines/registry.hpp"
#include "workloads/graph/job_graph.hpp"
#include "workloads/timing/job_simulator.hpp"

namespace cclgym::test {

inline std::shared_ptr<const Fabric> fabric_of(const std::string& name, int gpus) {
  FabricSpec spec;
  spec.name = name;
  if (name == "ndv4") {
    spec.servers = gpus / 8;
  } else if (name != "dgx1" && name != "hgx-h100") {
    spec.gpus = gpus;
  }
  return make_fabric(spec);
}

inline std::vector<std::string> job_engines() {
  std::vector<std::string> names;
  for (const EngineInfo& info : engine_infos()) names.push_back(info.name);
  return names;
}

/// A job of `ranks` ranks whose programs are still empty, with a communicator of all ranks
/// ("world").
inline JobGraph empty_job(int ranks) {
  JobGraph job{.name = "test", .ranks = ranks};
  job.communicators = {{"world"}};
  job.groups.push_back({0, {}});
  job.names = {""};
  job.streams = {"compute"};
  for (int rank = 0; rank < ranks; ++rank) {
    job.groups[0].ranks.push_back(rank);
    job.groups_of.push_back({0});
    job.program_of.push_back(rank);
    job.programs.emplace_back();
  }
  return job;
}

/// Adds a communicator of some ranks; returns its index in groups_of of each of them.
inline std::int32_t add_group(JobGraph& job, const std::string& name, std::vector<int> ranks) {
  const auto index = static_cast<std::int32_t>(job.communicators.size());
  job.communicators.push_back({name});
  job.groups.push_back({index, {ranks.begin(), ranks.end()}});
  for (auto& groups : job.groups_of) groups.push_back(-1);
  for (const int rank : ranks) {
    job.groups_of[at(rank)].back() = static_cast<std::int32_t>(job.groups.size()) - 1;
  }
  return index;
}

inline JobOp compute_for(double seconds, std::int32_t stream = 0) {
  return {.stream = stream, .seconds = seconds};
}

inline JobOp call_on(CollectiveKind collective, std::uint64_t bytes, std::int32_t stream,
                     std::int32_t communicator = 0) {
  return {.kind = JobOpKind::Collective,
          .stream = stream,
          .collective = collective,
          .communicator = communicator,
          .bytes = bytes};
}

inline JobOp message_on(JobOpKind kind, std::int32_t peer, std::uint64_t bytes, std::int32_t stream,
                        std::int32_t communicator = 0) {
  return {
      .kind = kind, .stream = stream, .communicator = communicator, .bytes = bytes, .peer = peer};
}

/// Dates agree to 1e-9, relative.
inline bool same_date(double a_s, double b_s) {
  return std::abs(a_s - b_s) <= 1e-9 * std::max(std::abs(a_s), std::abs(b_s)) + 1e-15;
}

}  // namespace cclgym::test
