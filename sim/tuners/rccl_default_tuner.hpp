// RCCL's default choice as a tuner: "rccl-default".
#pragma once

#include <memory>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Configures each call as RCCL 2.20.5 (ROCm 6.2.0) would, on all GPUs of a fabric of MI250X or
/// MI300X. `argument` is this release, or empty. Collectives that RCCL runs as grouped sends and
/// receives are configured as those of NCCL 2.20.5, on which it is based. Throws UserError at
/// site.where on another release, and on other GPUs.
[[nodiscard]] std::unique_ptr<const Tuner> make_rccl_default_tuner(std::string_view argument,
                                                                   const TunerSite& site);

}  // namespace cclgym
