// Synthesised programs as a tuner: "synth:pareto", "synth:throughput".
#pragma once

#include <memory>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Synthesises programs for the collectives of the site (all, if it names none) and chooses the one
/// with the least time for each call: by the alpha-beta formula under cost model hockney, otherwise
/// by simulating each with each protocol, without noise, once per collective and size. `argument`
/// is the text of a SynthKind (sim/tuners/synth_programs.hpp). Programs of calls with other roots
/// than 0 do not exist. Throws UserError at site.where on another argument, and if no collective of
/// the site has a program.
[[nodiscard]] std::unique_ptr<const Tuner> make_synth_tuner(std::string_view argument,
                                                            const TunerSite& site);

}  // namespace cclgym
