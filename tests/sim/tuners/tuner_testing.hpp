// Fixtures for the tests of NCCL's tuners.
#pragma once

#include <string>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

/// A shipped fabric of so many nodes, with the cost model that belongs to it.
inline TunerSite site_of(const char* fabric, int servers = 1) {
  FabricSpec spec;
  spec.name = fabric;
  if (servers > 1) spec.servers = servers;
  TunerSite site{.fabric = make_fabric(spec)};
  site.cost_model = cost_model_for("auto", *site.fabric);
  site.where = {"experiment.yaml", 3, 7};
  return site;
}

/// Message with which a tuner of this name is refused; empty if it is not.
inline std::string refusal(const char* name, const TunerSite& site) {
  try {
    (void)make_tuner(name, site);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace cclgym::test
