// Use of a job's links and GPUs over time, as its outputs show it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology_models/fabric.hpp"
#include "workloads/timing/job_simulator.hpp"

namespace cclgym {

/// Shares of capacity, 0 to 1, by interval, over the members that are used at all. Intervals in
/// which the even spreading of a flow's bytes (LinkSeries) gives more than the capacity count as 1.
struct UseOverTime {
  std::string name{};       ///< "nvlink", "SMs"
  std::size_t members = 0;  ///< links or GPUs that are used
  std::vector<double> mean{};
  std::vector<double> max{};
};

/// By kind of link (LinkKind), without kinds that no flow uses; empty if the record has no series.
[[nodiscard]] std::vector<UseOverTime> use_by_kind(const JobRecord& record, const Fabric& fabric);
/// Use of the GPUs of all actors: "SMs" (share of their peak rate that computation uses) and
/// "memory".
[[nodiscard]] std::vector<UseOverTime> use_of_gpus(const JobRecord& record);

/// A link of the fabric.
struct BusyLink {
  std::size_t link = 0;
  std::string name{};
  LinkKind kind = LinkKind::Generic;
  std::int32_t count = 1;  ///< links for which it stands in a folded job, itself included
  double bytes = 0;        ///< on each of them
  double capacity_Bps = 0;
  double share = 0;           ///< mean share of the capacity over the step, 0 to 1
  double peak = 0;            ///< share in the busiest interval, 0 to 1
  std::vector<double> use{};  ///< shares by interval, 0 to 1
};
/// At most `most` links with the largest shares, descending; ties go to the lower index. Empty if
/// the record has no series.
[[nodiscard]] std::vector<BusyLink> busiest_job_links(const JobRecord& record, const Fabric& fabric,
                                                      std::size_t most = 8);

/// The actor whose GPU computes most (SMs, then memory); its use of both by interval, 0 to 1.
struct BusyGpu {
  std::size_t actor = 0;
  std::vector<double> sms{};
  std::vector<double> memory{};
};
/// The record must have a series.
[[nodiscard]] BusyGpu busiest_gpu(const JobRecord& record);

}  // namespace cclgym
