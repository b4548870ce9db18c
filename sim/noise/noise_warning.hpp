// Warning about noise that has no effect on a fabric.
#pragma once

#include <string>

#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// One sentence if no part of the profile can change anything on this fabric, because it concerns
/// kinds of links that the fabric does not have, or jobs on other nodes of a fabric with one node.
/// Empty if some part has an effect, or if the profile is empty.
[[nodiscard]] std::string noise_warning(const NoiseProfile& profile, const Fabric& fabric);

}  // namespace cclgym
