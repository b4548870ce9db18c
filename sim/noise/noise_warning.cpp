#include "sim/noise/noise_warning.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

std::string noise_warning(const NoiseProfile& profile, const Fabric& fabric) {
  if (profile.none() || profile.slow_gpus.any() || profile.slow_nics.any() || profile.start_skew_s)
    return {};
  std::vector<std::string> reasons;
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < profile.load.size(); ++i) {
    const auto kind = static_cast<LinkKind>(i);
    if (!profile.load[i].any() && !profile.jitter[i].any() && !profile.degraded[i].any()) continue;
    const auto links = fabric.links();
    const bool there = std::any_of(links.begin(), links.end(),
                                   [kind](const Link& link) { return link.kind == kind; });
    if (there) return {};
    missing.push_back(to_string(kind));
  }
  if (!missing.empty()) {
    reasons.push_back(fmt::format("no links of kind {}", fmt::join(missing, " or ")));
  }
  if (profile.background.any()) {
    if (fabric.servers() > 1) return {};
    reasons.emplace_back("only one node, where no other job fits");
  }
  return fmt::format("noise profile {} changes nothing on fabric '{}', which has {}",
                     quoted(profile.name), fabric.name(), fmt::join(reasons, ", and "));
}

}  // namespace cclgym
