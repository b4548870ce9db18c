#include "synthesis/certificates/shipped_certificates.hpp"

#include <map>
#include <stdexcept>

#include "synthesis/sccl/collective_steps.hpp"
#include "synthesis/throughput/pack.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

using namespace synthesis;

CertifiedFabric::CertifiedFabric(FabricSpec given)
    : spec(std::move(given)),
      fabric(make_fabric(spec)),
      instance(make_instance(*fabric)),
      graph(make_flow_graph(*fabric)) {}

const CertifiedFabric& dgx1_fabric() {
  static const CertifiedFabric fabric({.name = "dgx1"});
  return fabric;
}

const std::vector<std::string>& certificate_kinds() {
  static const std::vector<std::string> kinds{
      "distance", "cut", "rank cut", "relaxation", "lengths", "shares", "rup", "schedule", "trees"};
  return kinds;
}

namespace {

Certificate make_certificate(const std::string& kind) {
  const CertifiedFabric& dgx1 = dgx1_fabric();
  const Certifier gather = dgx1.certifier(CollectiveKind::AllGather);
  if (kind == "distance") return gather.steps(dgx1.instance);
  if (kind == "cut") return gather.cut(dgx1.graph, allgather_bound(dgx1.graph));
  if (kind == "rank cut") {
    return gather.rank_cut(dgx1.instance,
                           rounds_cut(dgx1.instance, make_demand(CollectiveKind::AllGather, 8, 1)));
  }
  if (kind == "relaxation") return gather.relaxation(dgx1.instance, 2);
  if (kind == "lengths") {
    return dgx1.certifier(CollectiveKind::AllToAll)
        .lengths(dgx1.graph, alltoall_flow(dgx1.graph, {.paths = false}))
        .value();
  }
  if (kind == "shares") {
    return dgx1.certifier(CollectiveKind::AllReduce)
        .shares(dgx1.graph, allreduce_shares(dgx1.graph));
  }
  if (kind == "rup") {
    return dgx1.certifier(CollectiveKind::Gather).infeasible(dgx1.instance, {5, 2, 6}).value();
  }
  if (kind == "schedule") {
    const CollectiveSteps found =
        solve_collective_steps(dgx1.instance, CollectiveKind::AllGather, 2, 2, 3);
    return gather.schedule(dgx1.instance, 2, found.copies);
  }
  if (kind == "trees") {
    return gather.trees(dgx1.graph, {}, pack_allgather(dgx1.graph, {.trees_per_root = 1})).value();
  }
  throw std::logic_error("no certificate " + kind);
}

}  // namespace

const Certificate& dgx1_certificate(const std::string& kind) {
  static std::map<std::string, Certificate> made;
  const auto found = made.find(kind);
  return found != made.end() ? found->second
                             : made.emplace(kind, make_certificate(kind)).first->second;
}

std::string dgx1_text(const Certificate& certificate) {
  return certificate_text({.fabric_spec = dgx1_fabric().spec,
                           .fabric = dgx1_fabric().fabric,
                           .certificate = certificate});
}

}  // namespace cclgym::test
