#include "workloads/output/use_views.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/index.hpp"
#include "sim/analysis.hpp"

namespace cclgym {

namespace {

// Shares of one link by interval, cut to 1; zeros if it is not used.
std::vector<double> shares_of(const LinkSeries& series, std::size_t link) {
  std::vector<double> shares(at(series.intervals), 0.0);
  const std::vector<double>& use = series.use[link];
  for (std::size_t i = 0; i < use.size(); ++i) shares[i] = std::clamp(use[i], 0.0, 1.0);
  return shares;
}

void add_member(UseOverTime& sum, const LinkSeries& series, std::size_t link) {
  if (series.bytes[link] <= 0) return;
  const std::vector<double> shares = shares_of(series, link);
  sum.mean.resize(shares.size());
  sum.max.resize(shares.size());
  ++sum.members;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum.mean[i] += shares[i];
    sum.max[i] = std::max(sum.max[i], shares[i]);
  }
}

void finish(UseOverTime& sum) {
  for (double& value : sum.mean) value /= static_cast<double>(sum.members);
}

double mean_share(const LinkSeries& series, std::size_t link) {
  const double full = series.capacity_Bps[link] * series.interval_s * series.intervals;
  return full > 0 ? std::min(1.0, series.bytes[link] / full) : 0;
}

}  // namespace

std::vector<UseOverTime> use_by_kind(const JobRecord& record, const Fabric& fabric) {
  std::vector<UseOverTime> uses;
  if (record.series.empty()) return uses;
  for (const LinkKind kind : kLinkKinds) {
    UseOverTime use{.name = std::string(to_string(kind))};
    for (std::size_t link = 0; link < record.lowered.fabric_links; ++link) {
      if (fabric.links()[link].kind == kind) add_member(use, record.series, link);
    }
    if (use.members == 0) continue;
    finish(use);
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<UseOverTime> use_of_gpus(const JobRecord& record) {
  std::vector<UseOverTime> uses;
  if (record.series.empty()) return uses;
  for (const auto& [name, first] : {std::pair{"SMs", record.lowered.first_sm_link},
                                    std::pair{"memory", record.lowered.first_memory_link}}) {
    UseOverTime use{.name = name};
    for (std::size_t actor = 0; actor < record.lowered.classes.count(); ++actor) {
      add_member(use, record.series, at(first) + actor);
    }
    if (use.members == 0) continue;
    finish(use);
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<BusyLink> busiest_job_links(const JobRecord& record, const Fabric& fabric,
                                        std::size_t most) {
  constexpr double kGrid = 1e-9;  // rounding must not reorder links of equal use
  std::vector<BusyLink> links;
  if (record.series.empty()) return links;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t link = 0; link < record.lowered.fabric_links; ++link) {
    if (record.series.bytes[link] <= 0) continue;
    order.emplace_back(-std::round(mean_share(record.series, link) / kGrid), link);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), most));
  for (const auto& [negative_share, link] : order) {
    BusyLink busy{.link = link,
                  .name = link_name(fabric, link),
                  .kind = fabric.links()[link].kind,
                  .count = record.lowered.classes.links_like(link),
                  .bytes = record.series.bytes[link],
                  .capacity_Bps = record.series.capacity_Bps[link],
                  .share = mean_share(record.series, link),
                  .use = shares_of(record.series, link)};
    busy.peak = *std::max_element(busy.use.begin(), busy.use.end());
    links.push_back(std::move(busy));
  }
  return links;
}

BusyGpu busiest_gpu(const JobRecord& record) {
  const LinkSeries& series = record.series;
  const std::size_t sms = at(record.lowered.first_sm_link);
  const std::size_t memories = at(record.lowered.first_memory_link);
  BusyGpu gpu;
  for (std::size_t actor = 1; actor < record.lowered.classes.count(); ++actor) {
    if (std::pair(series.bytes[sms + actor], series.bytes[memories + actor]) >
        std::pair(series.bytes[sms + gpu.actor], series.bytes[memories + gpu.actor])) {
      gpu.actor = actor;
    }
  }
  gpu.sms = shares_of(series, sms + gpu.actor);
  gpu.memory = shares_of(series, memories + gpu.actor);
  return gpu;
}

}  // namespace cclgym
