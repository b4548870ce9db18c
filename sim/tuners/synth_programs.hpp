// Synthesised programs of a site, for tuners and environments.
#pragma once

#include <string_view>

#include "sim/tuners/tuner.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

/// Text after "synth:": "pareto" (step schedules on SCCL's front), "throughput" (trees at full
/// throughput), or both without either; "sccl" after these: programs run as kernels that SCCL
/// generates, with direct copies, not in MSCCL's interpreter.
struct SynthKind {
  bool pareto = true;
  bool throughput = true;
  bool sccl = false;
  friend auto operator<=>(const SynthKind&, const SynthKind&) = default;
};
/// Reads "", "pareto", "throughput:sccl", "sccl" …. Throws UserError at `where`.
[[nodiscard]] SynthKind read_synth_kind(std::string_view text, const SourceLocation& where);

/// Programs of a collective on the fabric of a site, with bounds on steps and rounds. Names begin
/// with "synth-", the fabric's label and a part of the hash of the fabric, so that programs of
/// different fabrics differ. Equal sites give equal programs on every machine, since conflicts and
/// not time limit the searches. Throws UserError like synthesize().
[[nodiscard]] synthesis::Synthesis synthesised_programs(const SynthKind& kind,
                                                        CollectiveKind collective,
                                                        const TunerSite& site);

}  // namespace cclgym
