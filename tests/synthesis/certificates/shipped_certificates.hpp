// One small certificate of each kind, about shipped fabrics.
#pragma once

#include <string>
#include <vector>

#include "synthesis/certificates/certificate_file.hpp"
#include "synthesis/certificates/certify.hpp"

namespace cclgym::test {

/// A fabric with its instance and flow graph.
struct CertifiedFabric {
  explicit CertifiedFabric(FabricSpec given);

  FabricSpec spec;
  std::shared_ptr<const Fabric> fabric;
  synthesis::Instance instance;
  synthesis::FlowGraph graph;

  [[nodiscard]] synthesis::Certifier certifier(CollectiveKind collective, int root = 0,
                                               std::vector<int> group = {}) const {
    return {*fabric, {.collective = collective, .root = root, .group = std::move(group)}};
  }
};

/// The DGX-1.
[[nodiscard]] const CertifiedFabric& dgx1_fabric();

/// A certificate about dgx1_fabric(), by evidence_name().
[[nodiscard]] const synthesis::Certificate& dgx1_certificate(const std::string& kind);
[[nodiscard]] const std::vector<std::string>& certificate_kinds();

/// The text of its file.
[[nodiscard]] std::string dgx1_text(const synthesis::Certificate& certificate);

}  // namespace cclgym::test
