// Output of a synthesis: programs, bounds and files.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

struct SynthesisOutcome {
  const std::string& title;
  const synthesis::Synthesis& made;
  const std::vector<std::string>& notes;
  const std::string& tuned;  ///< text of the dispatch table
  std::size_t files = 0;     ///< number of files with programs
  std::size_t proofs = 0;
  bool table = false;  ///< there is a dispatch table
};

/// Prints bounds, programs, table and the paths in the folder.
void print_outcome(const SynthesisOutcome& outcome, const std::string& folder);
/// The same as JSON; rounds are fractions ("7/6"), and a bound that is not known is null.
[[nodiscard]] nlohmann::ordered_json outcome_json(const SynthesisOutcome& outcome,
                                                  const std::string& folder);

}  // namespace cclgym
