// Certificates as JSON values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "synthesis/certificates/certificate.hpp"

namespace cclgym::synthesis {

[[nodiscard]] nlohmann::ordered_json subject_json(const CertificateSubject& subject);
[[nodiscard]] nlohmann::ordered_json claim_json(const Claim& claim);
[[nodiscard]] nlohmann::ordered_json evidence_json(const Evidence& evidence);

/// Reads what the functions above wrote. Throws nlohmann::json::exception or UserError for missing
/// values, values of another kind, and unknown names; numbers that do not fit, and keys that are
/// superfluous, are left to a comparison with the text that was read.
[[nodiscard]] Certificate certificate_of_json(const nlohmann::ordered_json& subject,
                                              const nlohmann::ordered_json& claim,
                                              const nlohmann::ordered_json& evidence);

/// Readable text: lists and mappings that fit on a line stay on it.
[[nodiscard]] std::string readable_json(const nlohmann::ordered_json& value, int indent = 0);

}  // namespace cclgym::synthesis
