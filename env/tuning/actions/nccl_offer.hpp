// What NCCL itself can be told to do on a machine: of the programs and protocols that the library
// simulates, those that NCCL has.
#pragma once

#include <string_view>

#include "collectives/contract.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Of one release of NCCL, on all GPUs of a fabric. Immutable.
class NcclOffer {
 public:
  /// Throws UserError where NCCL does not run on the fabric.
  NcclOffer(const NcclVersion& version, const Fabric& fabric);

  /// Whether NCCL carries out the collective by a program of the algorithm library with a protocol.
  /// Of the collectives that NCCL tunes: what a tuner plugin finds in NCCL's table of costs. Of the
  /// others, which are grouped sends: "naive" with Simple, and with LL inside a server.
  [[nodiscard]] bool has(CollectiveKind collective, std::string_view program,
                         Protocol protocol) const;

 private:
  NcclDefault nccl_;
};

}  // namespace cclgym
