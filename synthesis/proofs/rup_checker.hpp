// Check of proofs of unsatisfiability. It uses nothing of the code that makes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym::synthesis {

/// Checks a proof in binary DRAT (Wetzler, Heule, Hunt, SAT 2014) against a formula in DIMACS, from
/// the first lemma to the last: one of them must be the empty clause, and every lemma must follow
/// by reverse unit propagation (RUP). Lemmas that need resolution asymmetric tautologies are
/// refused. Deleted clauses must exist; literals that were implied before a deletion stay implied.
/// Returns the first problem in words, with the number of the lemma; empty if the formula is proven
/// unsatisfiable.
[[nodiscard]] std::string check_rup(std::string_view dimacs, std::string_view proof);

}  // namespace cclgym::synthesis
