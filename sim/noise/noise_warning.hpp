// Noise that a fabric cannot feel.
#pragma once

#include <string>

#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// One sentence that says so if nothing of a profile can change anything on this fabric, because it
/// is about links of kinds that the fabric has not, or about jobs on other servers where there is
/// one server; empty if something can, or if the profile is empty.
[[nodiscard]] std::string noise_warning(const NoiseProfile& profile, const Fabric& fabric);

}  // namespace cclgym
