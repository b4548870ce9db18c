// A synthesis as text for the terminal and as the page of its report.
#pragma once

#include <string>
#include <vector>

#include "synthesis/strategies/synthesize.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// "steps >= 2, rounds per chunk >= 7/6", or "none".
[[nodiscard]] std::string bounds_text(const synthesis::Synthesis& made);

/// The table of the programs with their costs.
[[nodiscard]] std::string programs_table(const synthesis::Synthesis& made);

/// Sentences about what was found, and how far the fewest steps and rounds per chunk are from the
/// bounds.
[[nodiscard]] std::vector<std::string> outcome_sentences(const synthesis::Synthesis& made);

/// Contents of the report beside the synthesis itself.
struct SynthesisReport {
  std::string title{};
  std::vector<std::string> notes{};
  bool compared = true;  ///< the front has algorithms of the library, too
  int root = 0;
  bool swept = false;  ///< there are a dispatch table and a report of the sweep
};

/// The page as HTML.
[[nodiscard]] std::string report_page(const synthesis::Synthesis& made, const Fabric& fabric,
                                      CollectiveKind collective, const SynthesisReport& report);

}  // namespace cclgym
