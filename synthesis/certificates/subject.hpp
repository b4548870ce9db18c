// The collective of a certificate, in the terms of bounds and searches.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "synthesis/certificates/certificate.hpp"
#include "synthesis/demand.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::synthesis {

/// True if data flows against the hops: the bound is that of the inverse collective on the reversed
/// fabric.
[[nodiscard]] inline bool is_reduction(const CertificateSubject& subject) {
  return subject.collective != CollectiveKind::AllReduce &&
         inverse_collective(subject.collective) != subject.collective;
}

/// Chunks of SCCL's C per chunk of make_demand.
[[nodiscard]] inline int chunk_factor(const CertificateSubject& subject, int ranks) {
  return sccl_chunk_factor(subject.collective,
                           subject.group.empty() ? ranks : static_cast<int>(subject.group.size()));
}

[[nodiscard]] inline Demand demand_of(const CertificateSubject& subject, int ranks, int chunks) {
  return make_demand(inverse_collective(subject.collective), ranks, chunks, subject.root,
                     subject.group);
}

/// The instance or graph on which the inverse collective copies.
template <class Network>
[[nodiscard]] Network copying(const CertificateSubject& subject, const Network& network) {
  return is_reduction(subject) ? network.reversed() : network;
}

/// Bandwidth of a link unit of a fabric, which is a whole number of B/s.
[[nodiscard]] inline std::int64_t whole_Bps(double unit_Bps) { return std::llround(unit_Bps); }

/// Hash of a linear program, 16 hex digits.
[[nodiscard]] std::string program_hash(const ExactProgram& program);

}  // namespace cclgym::synthesis
