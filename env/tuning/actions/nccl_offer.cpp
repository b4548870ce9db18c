#include "env/tuning/actions/nccl_offer.hpp"

#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_p2p.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

NcclOffer::NcclOffer(const NcclVersion& version, const Fabric& fabric)
    : nccl_(version, nccl_comm_for(fabric, version)) {}

bool NcclOffer::has(CollectiveKind collective, std::string_view program, Protocol protocol) const {
  const auto tuned = nccl_collective(collective);
  if (!tuned) {
    if (program != "naive") return false;
    // NCCL uses LL for the smallest messages if it uses it at all.
    return protocol == Protocol::Simple ||
           protocol == nccl_p2p(nccl_.version(), nccl_.comm(), 1).protocol;
  }
  const auto algorithm = nccl_algorithm(program, nccl_.version());
  return algorithm && nccl_.bandwidth_Bps(*tuned, *algorithm, protocol) > 0;
}

bool NcclOffer::asks_tuner(CollectiveKind collective) {
  return nccl_collective(collective).has_value();
}

bool NcclOffer::sets_chunks() const { return nccl_.version() >= NcclVersion{2, 30, 0}; }

}  // namespace cclgym
