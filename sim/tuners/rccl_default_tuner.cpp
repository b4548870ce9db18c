#include "sim/tuners/rccl_default_tuner.hpp"

#include <fmt/core.h>
#include <string>

#include "core/error.hpp"
#include "cost_models/rccl/rccl_default.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

namespace {

constexpr NcclVersion kBasedOn{2, 20, 5};

class RcclDefaultTuner final : public Tuner {
 public:
  RcclDefaultTuner(const Fabric& fabric, RcclRelease release)
      : release_(release), comm_(rccl_comm_for(fabric, 0, release)) {}

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return collective != CollectiveKind::Custom;
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    if (!chooses_for(call.collective)) {
      throw UserError("RCCL's default choice: RCCL has no custom collectives");
    }
    if (const auto collective = nccl_collective(call.collective)) {
      return nccl_config(rccl_choice(comm_, *collective, call.bytes));
    }
    NcclComm comm;
    comm.ranks = comm_.ranks;
    comm.nodes = comm_.nodes;
    comm.cpu = NcclCpu::Amd;
    comm.channels = comm_.channels;
    return nccl_sends_config(kBasedOn, comm, call);
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("default choice of RCCL {}{} among Ring and Tree", to_string(release_),
                       release_ == RcclRelease::Rccl2205 ? " (ROCm 6.2.0)" : "");
  }

 private:
  RcclRelease release_;
  RcclComm comm_;
};

}  // namespace

std::unique_ptr<const Tuner> make_rccl_default_tuner(std::string_view argument,
                                                     const TunerSite& site) {
  try {
    const RcclRelease release =
        argument.empty() ? RcclRelease::Rccl2205 : parse_rccl_release(argument);
    return std::make_unique<const RcclDefaultTuner>(*site.fabric, release);
  } catch (const UserError& error) {
    throw UserError(site.where, error.what());
  }
}

}  // namespace cclgym
