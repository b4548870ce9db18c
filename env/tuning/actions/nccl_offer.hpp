// The choices that NCCL itself offers on a machine: the programs and protocols of the library that
// NCCL has too.
#pragma once

#include <string_view>

#include "collectives/contract.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// The offer of one NCCL release on all GPUs of a fabric. Immutable.
class NcclOffer {
 public:
  /// Throws UserError if NCCL does not run on the fabric.
  NcclOffer(const NcclVersion& version, const Fabric& fabric);

  /// True if NCCL carries out the collective by this program of the library with this protocol. For
  /// collectives that NCCL tunes, this is what a tuner plugin finds in NCCL's cost table. The
  /// others are grouped sends and have "naive" with Simple, and with LL within a node.
  [[nodiscard]] bool has(CollectiveKind collective, std::string_view program,
                         Protocol protocol) const;
  [[nodiscard]] const NcclVersion& version() const { return nccl_.version(); }
  /// True if NCCL asks a tuner about the collective.
  [[nodiscard]] static bool asks_tuner(CollectiveKind collective);
  /// True if a tuner of this release can set the chunk of a call: 2.30 and newer.
  [[nodiscard]] bool sets_chunks() const;

 private:
  NcclDefault nccl_;
};

}  // namespace cclgym
