// Check of certificates. It trusts no solver, and nothing of the code that found the evidence.
#pragma once

#include <optional>
#include <string>

#include "synthesis/certificates/certificate.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym::synthesis {

/// Verifies that the evidence proves exactly the claim. It makes the instance, the flow graph, the
/// linear programs and the formula again from the fabric; a proof rests on these encodings, on
/// exact arithmetic and on the replay of schedules. Returns the first problem in words; empty if
/// there is none.
[[nodiscard]] std::string check_certificate(const Fabric& fabric, const Certificate& certificate);

/// Formula of a certificate whose evidence is a proof in DRAT, for other checkers of such proofs
/// (drat-trim), in DIMACS; nullopt for other evidence. Throws UserError if the certificate cannot
/// hold, so that it has no formula.
[[nodiscard]] std::optional<std::string> refuted_formula(const Fabric& fabric,
                                                         const Certificate& certificate);

}  // namespace cclgym::synthesis
