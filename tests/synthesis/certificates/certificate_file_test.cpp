// Tests of the files of certificates: they come back as they were, and no byte may change.
#include "synthesis/certificates/certificate_file.hpp"

#include "core/error.hpp"
#include "core/hash.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "synthesis/certificates/base64.hpp"
#include "synthesis/certificates/check_certificate.hpp"
#include "synthesis/certificates/shipped_certificates.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

bool refused(const std::string& text) {
  try {
    (void)read_certificate(text, "c.json");
  } catch (const UserError& error) {
    return std::string_view(error.what()).starts_with("c.json");
  }
  return false;
}

// The text after a change, with the checksum that belongs to it.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  text.replace(place, from.size(), to);
  const std::size_t end = text.rfind("  \"checksum\"");
  const std::string contents = text.substr(0, end);
  return contents + "  \"checksum\": \"" + hex_digits(fnv1a(contents)) + "\"\n}\n";
}

TEST_CASE("certificates of every kind come back from their text and hold",
          "[synthesis][certificates]") {
  for (const std::string& kind : certificate_kinds()) {
    INFO(kind);
    const Certificate certificate = dgx1_certificate(kind);
    CHECK(evidence_name(certificate.evidence) == kind);
    const std::string text = dgx1_text(certificate);
    const FabricCertificate back = read_certificate(text, "c.json");
    CHECK(certificate_text(back) == text);
    CHECK(check_certificate(*back.fabric, back.certificate).empty());
  }
}

TEST_CASE("certificates with any one byte changed, lost or added are refused",
          "[synthesis][certificates]") {
  for (const std::string& kind : certificate_kinds()) {
    INFO(kind);
    const std::string text = dgx1_text(dgx1_certificate(kind));
    REQUIRE_FALSE(refused(text));
    for (std::size_t k = 0; k < text.size(); ++k) {
      for (const int replacement : {0, 48, 57, 32, 10, text[k] ^ 1, text[k] ^ 0x20, 0xFF}) {
        std::string altered = text;
        altered[k] = static_cast<char>(replacement);
        if (altered != text && !refused(altered)) FAIL("byte " << k << " became " << replacement);
      }
      if (!refused(std::string(text).erase(k, 1))) FAIL("byte " << k << " was lost");
      if (!refused(std::string(text).insert(k, " "))) FAIL("a space was added before byte " << k);
      if (!refused(text.substr(0, k))) FAIL("only " << k << " bytes were left");
    }
    CHECK(refused(text + "\n"));
    CHECK(refused(text + text));
  }
}

TEST_CASE("certificates with a new checksum are refused unless they are written alike",
          "[synthesis][certificates]") {
  const std::string text = dgx1_text(dgx1_certificate("cut"));
  const auto problem = [&](const std::string& from, const std::string& to) {
    return thrown([&] { return read_certificate(changed(text, from, to), "c.json"); });
  };
  CHECK_FALSE(refused(changed(text, "gpu1", "gpu1")));
  CHECK(contains(problem("{\"name\":", "{ \"name\":"), "c.json:5: the text differs"));
  CHECK(contains(problem("\"members\": 7", "\"members\": 7.0"),
                 "c.json: found 7.0; expected a whole number of 64 bits"));
  CHECK(contains(problem("\"members\": 7", "\"members\": 4294967296000000000000"),
                 "expected a whole number of 64 bits"));
  CHECK(contains(problem("\"root\":0", "\"root\":1e67"), "c.json: found 1e+67; expected a whole"));
  CHECK(contains(problem("at least 7/6", "at least 8/6"), "c.json:4: the text differs"));
  CHECK(contains(problem("\"7/6\"", "\"14/12\""), "c.json:8: the text differs"));
  CHECK(contains(problem("\"7/6\"", "\"7/0\""), "'7/0' is no fraction"));
  CHECK(contains(problem("\"7/6\"", "\"7/-6\""), "'7/-6' is no fraction"));
  CHECK(contains(problem("\"kind\": \"cut\"", "\"kind\": \"cat\""),
                 "unknown kind of evidence 'cat'"));
  CHECK(contains(problem("\"version\": 1", "\"version\": 2"), "of version 1"));
  CHECK(contains(problem("\"members\"", "\"numbers\""), "not a certificate"));
  CHECK(contains(problem("\"evidence\"", "\"extra\": 1,\n  \"evidence\""), "the text differs"));
  CHECK(contains(problem("{\"name\":\"dgx1\"}", "{\"name\":\"dgx1\",\"without\":\"gpu0:gpu4\"}"),
                 "about a fabric with the hash"));
  CHECK(contains(problem("{\"name\":\"dgx1\"}", "{\"name\":\"dgx9\"}"), "dgx9"));
  CHECK(contains(thrown([] { return read_certificate("", "c.json"); }),
                 "c.json: the certificate does not end in its checksum"));
}

TEST_CASE("certificates name fabric files relative to themselves", "[synthesis][certificates]") {
  const TemporaryFolder folder;
  write_file(folder / "square.yaml",
             "name: square\nnodes:\n  - {name: gpu0..2}\n"
             "links:\n  - {from: gpu0, to: gpu1, kind: nvlink, bandwidth: 10GB/s, latency: 1us}\n"
             "  - {from: gpu1, to: gpu2, kind: nvlink, bandwidth: 10GB/s, latency: 1us}\n");
  const CertifiedFabric file({.name = folder / "square.yaml"});
  const Certificate certificate = file.certifier(CollectiveKind::AllGather).steps(file.instance);
  const std::string text = certificate_text({.fabric_spec = {.name = "../square.yaml"},
                                             .fabric = file.fabric,
                                             .certificate = certificate});
  CHECK(contains(text, "\"../square.yaml\""));
  std::filesystem::create_directories(folder / "proofs");
  const FabricCertificate back = read_certificate(text, folder / "proofs/c.json");
  CHECK(back.certificate.claim.steps == 2);
  CHECK(certificate_text(back) == text);
  write_file(folder / "square.yaml",
             read_file(folder / "square.yaml") +
                 "  - {from: gpu0, to: gpu2, kind: nvlink, bandwidth: 10GB/s, latency: 1us}\n");
  CHECK(contains(thrown([&] { return read_certificate(text, folder / "proofs/c.json"); }),
                 "about a fabric with the hash"));
}

TEST_CASE("base64 is that of RFC 4648 and has one text for each sequence of bytes",
          "[synthesis][certificates]") {
  CHECK(to_base64("").empty());
  CHECK(to_base64("f") == "Zg==");
  CHECK(to_base64("fo") == "Zm8=");
  CHECK(to_base64("foobar") == "Zm9vYmFy");
  CHECK(from_base64("Zm9vYmE=") == "fooba");
  for (const char* wrong : {"Z", "Zg=", "Zh==", "Zg==Zg==", "Zm9 ", "Zm9vYmFy=", "====", "=g=="}) {
    INFO(wrong);
    CHECK_THROWS_AS(from_base64(wrong), UserError);
  }
  std::string bytes;
  for (int k = 0; k < 300; ++k) {
    bytes += static_cast<char>(k * 37 & 0xFF);
    CHECK(from_base64(to_base64(bytes)) == bytes);
  }
}

}  // namespace
}  // namespace cclgym::test
