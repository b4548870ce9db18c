// Replay of the schedules and trees of certificates.
#pragma once

#include <string>

#include "synthesis/certificates/certificate.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Replays a schedule and compares its chunks, steps and rounds with the claim. Returns the first
/// problem in words; empty if there is none.
[[nodiscard]] std::string check_schedule_evidence(const Fabric& fabric,
                                                  const CertificateSubject& subject,
                                                  const Claim& claim,
                                                  const ScheduleEvidence& evidence);

/// Adds up the loads of trees and compares their number, depth and rounds with the claim. Returns
/// the first problem in words; empty if there is none.
[[nodiscard]] std::string check_trees_evidence(const Fabric& fabric,
                                               const CertificateSubject& subject,
                                               const Claim& claim, const TreesEvidence& evidence);

}  // namespace cclgym::synthesis
