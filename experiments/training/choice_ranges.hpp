// Over which sizes a policy's choice stays the same, and what publications found fastest there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "experiments/published/published.hpp"

namespace cclgym {

/// Neighbouring sizes at which the same configuration was chosen.
struct ChoiceRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  ///< included
  std::string config;    ///< "ring LL128 c8 r1"
};
/// Of one run and collective, by ascending size.
[[nodiscard]] std::vector<ChoiceRange> choice_ranges(const PolicyRun& run,
                                                     const std::string& collective);

/// The rows of published files that say what is fastest over a range of sizes: those that the
/// program brings with it, in the order of the files.
[[nodiscard]] std::vector<PublishedRow> published_regimes();
/// Is a row about this machine? `fabric` is a label: "ndv4", "ndv4 servers=2".
[[nodiscard]] bool is_of_fabric(const PublishedRow& row, const std::string& fabric);

/// Collectives of a part, in the order of its cells.
[[nodiscard]] std::vector<std::string> collectives_of(const EvaluatedPart& part);

/// A line for each policy (but `random`) and collective, "1KiB..64KiB ring LL c2 r1; …" (a line for
/// each seed where seeds differ), and for each publication that has found out about this machine.
[[nodiscard]] std::string choices_text(const EvaluatedPart& part,
                                       std::span<const PublishedRow> regimes);

}  // namespace cclgym
