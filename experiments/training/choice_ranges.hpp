// Size ranges over which a policy's choice stays the same, and the published fastest choices there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "experiments/published/published.hpp"

namespace cclgym {

/// Name of a program without the fabric's part: "alltoall-8-2-3-r2" for
/// "synth-dgx1-589f-alltoall-8-2-3-r2"; other names are as they are.
[[nodiscard]] std::string short_program_name(const std::string& name);

/// Neighbouring sizes at which the same configuration was chosen.
struct ChoiceRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  ///< inclusive
  std::string config;    ///< "ring LL128 c8 r1"
};
/// Ranges of one run and collective, by ascending size.
[[nodiscard]] std::vector<ChoiceRange> choice_ranges(const PolicyRun& run,
                                                     const std::string& collective);

/// The rows of the published files built into the program that name the fastest configuration over
/// a range of sizes, in the order of the files.
[[nodiscard]] std::vector<PublishedRow> published_regimes();
/// True if a row is about the fabric with this label: "ndv4", "ndv4 nodes=2".
[[nodiscard]] bool is_of_fabric(const PublishedRow& row, const std::string& fabric);

/// Collectives of a part, in the order of its cells.
[[nodiscard]] std::vector<std::string> collectives_of(const EvaluatedPart& part);

/// One line per policy (except `random`) and collective, "1KiB..64KiB ring LL c2 r1; …" (one line
/// per seed where seeds differ), and one for each publication about this fabric.
[[nodiscard]] std::string choices_text(const EvaluatedPart& part,
                                       std::span<const PublishedRow> regimes);

}  // namespace cclgym
