#include "synthesis/certificates/certificate_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/yaml/yaml.hpp"
#include "synthesis/certificates/certificate_json.hpp"
#include "topology_models/machines/registry.hpp"
#include "topology_models/servers/fabric_fields.hpp"

namespace cclgym::synthesis {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "cclgym certificate";
constexpr int kVersion = 1;
constexpr std::string_view kChecksumKey = "  \"checksum\": \"";
constexpr std::string_view kEnd = "\"\n}\n";
constexpr std::size_t kChecksumDigits = 16;

// A mapping that read_fabric_spec reads.
Json fabric_json(const FabricSpec& spec) {
  Json json{{"name", spec.name}};
  for (const FabricField& field : fabric_fields()) {
    const std::optional<OptionValue> value = field.given.get(spec);
    if (value) json[field.key()] = option_text(*value, field.spec());
  }
  return json;
}

std::string text_of_fabric(const FabricCertificate& certificate, const std::string& hash) {
  const Json json{{"format", kFormat},
                  {"version", kVersion},
                  {"statement", statement(certificate)},
                  {"fabric", fabric_json(certificate.fabric_spec)},
                  {"fabric hash", hash},
                  {"subject", subject_json(certificate.certificate.subject)},
                  {"claim", claim_json(certificate.certificate.claim)},
                  {"evidence", evidence_json(certificate.certificate.evidence)}};
  std::string text = readable_json(json);
  text.resize(text.size() - 2);  // the end of the object
  text += ",\n";
  return fmt::format("{}{}{}{}", text, kChecksumKey, hex_digits(fnv1a(text)), kEnd);
}

std::string hash_of(const Fabric& fabric) { return hex_digits(fnv1a(fabric.canonical_text())); }

void check_sum(std::string_view text) {
  const std::size_t end = kChecksumKey.size() + kChecksumDigits + kEnd.size();
  if (text.size() < end || !text.ends_with(kEnd) ||
      text.substr(text.size() - end, kChecksumKey.size()) != kChecksumKey) {
    throw UserError(
        "the certificate does not end in its checksum: it was truncated or altered, or is none");
  }
  const std::string_view stated =
      text.substr(text.size() - kEnd.size() - kChecksumDigits, kChecksumDigits);
  const std::string found = hex_digits(fnv1a(text.substr(0, text.size() - end)));
  if (found != stated) {
    throw UserError(fmt::format(
        "the certificate states the checksum {}, but its contents have {}: it was altered",
        quoted(stated), found));
  }
}

// Line of the first difference of two texts, from 1.
std::size_t first_difference(std::string_view one, std::string_view other) {
  const auto [place, ignored] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return 1 + static_cast<std::size_t>(std::count(one.begin(), place, '\n'));
}

// All numbers of a certificate are whole. nlohmann::json would convert any other to an integer,
// which is undefined for 1e67.
void require_whole_numbers(const Json& json) {
  if (json.is_number_float()) {
    throw UserError(fmt::format("found {}; expected a whole number of 64 bits", json.dump()));
  }
  if (!json.is_structured()) return;
  for (const Json& item : json) require_whole_numbers(item);
}

FabricCertificate read_checked(std::string_view text, const std::string& file) {
  const Json json = Json::parse(text);
  if (json.at("format") != kFormat || json.at("version") != kVersion) {
    throw UserError(fmt::format("the file is no {} of version {}", kFormat, kVersion));
  }
  for (const char* part : {"subject", "claim", "evidence"}) require_whole_numbers(json.at(part));
  FabricCertificate result;
  result.certificate =
      certificate_of_json(json.at("subject"), json.at("claim"), json.at("evidence"));
  const Json& fabric = json.at("fabric");
  result.fabric_spec = read_fabric_spec(parse_yaml(fabric.dump(), file));
  result.fabric = make_fabric(result.fabric_spec);
  // The path of a fabric file as the certificate has it.
  fabric.at("name").get_to(result.fabric_spec.name);
  const auto hash = json.at("fabric hash").get<std::string>();
  if (const std::string found = hash_of(*result.fabric); found != hash) {
    throw UserError(fmt::format("the certificate is about a fabric with the hash {}; '{}' has {}",
                                quoted(hash), fabric_label(result.fabric_spec), found));
  }
  if (const std::string canonical = text_of_fabric(result, hash); canonical != text) {
    throw UserError({.file = file, .line = first_difference(text, canonical)},
                    "the text differs from that of the certificate that it describes");
  }
  return result;
}

}  // namespace

std::string statement(const FabricCertificate& certificate) {
  const FabricSpec& spec = certificate.fabric_spec;
  return statement(certificate.certificate, find_fabric_info(spec.name) == nullptr
                                                ? certificate.fabric->name()
                                                : fabric_label(spec));
}

std::string certificate_text(const FabricCertificate& certificate) {
  return text_of_fabric(certificate, hash_of(*certificate.fabric));
}

FabricCertificate read_certificate(std::string_view text, const std::string& file) {
  try {
    check_sum(text);
    return read_checked(text, file);
  } catch (const nlohmann::json::exception& error) {
    throw UserError({.file = file}, fmt::format("not a certificate: {}", error.what()));
  } catch (const UserError& error) {
    const std::string_view problem = error.what();
    if (problem.starts_with(file)) throw;
    throw UserError({.file = file}, std::string(problem));
  }
}

}  // namespace cclgym::synthesis
