// Files of certificates: readable JSON, of which every byte counts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "synthesis/certificates/certificate.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym::synthesis {

/// A certificate with the fabric that it is about.
struct FabricCertificate {
  FabricSpec fabric_spec{};
  std::shared_ptr<const Fabric> fabric{};
  Certificate certificate{};
};

/// statement() with the name of a shipped fabric and its options, or the name in the fabric file.
[[nodiscard]] std::string statement(const FabricCertificate& certificate);

/// Text of a certificate's file: format and version, fabric and its hash, the claim in words and in
/// numbers, the evidence, and at the end a hash (fnv1a) of all bytes before it. The path of a
/// fabric file must be absolute or relative to the folder of the certificate.
[[nodiscard]] std::string certificate_text(const FabricCertificate& certificate);

/// Reads a certificate and makes its fabric. Throws UserError "FILE: ..." if a byte differs from
/// what certificate_text() wrote, or if the fabric has changed since. It does not check the
/// evidence: check_certificate() does.
[[nodiscard]] FabricCertificate read_certificate(std::string_view text, const std::string& file);

}  // namespace cclgym::synthesis
