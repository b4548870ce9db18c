#include "cost_models/nccl/nccl_version.hpp"

#include <string>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

std::string version_refusal(const std::string& text) {
  try {
    (void)parse_nccl_version(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("releases of NCCL and their families", "[cost_models][nccl-version]") {
  CHECK(parse_nccl_version("2.8.4") == NcclVersion{2, 8, 4});
  CHECK(parse_nccl_version("2.8.4-1") == NcclVersion{2, 8, 4});
  CHECK(parse_nccl_version("2.8") == NcclVersion{2, 8, 4});
  CHECK(parse_nccl_version("2.18") == NcclVersion{2, 18, 0});
  CHECK(parse_nccl_version("2.21.5") == NcclVersion{2, 21, 5});
  CHECK(parse_nccl_version("2.29.2").to_string() == "2.29.2");
  const auto family_of = [](const char* text) { return family(parse_nccl_version(text)); };
  CHECK(family_of("2.8.4") == NcclFamily::V2_8);
  CHECK(family_of("2.18") == NcclFamily::V2_18);
  CHECK(family_of("2.23.4") == NcclFamily::V2_18);
  CHECK(family_of("2.24.3") == NcclFamily::V2_24);
  CHECK(family_of("2.28") == NcclFamily::V2_24);
  CHECK(family_of("2.29.2") == NcclFamily::V2_29);
  CHECK(family_of("2.31") == NcclFamily::V2_29);
  CHECK(family(kNewestNccl) == NcclFamily::V2_29);
  CHECK(to_string(NcclFamily::V2_18) == "2.18-2.23");
}

TEST_CASE("releases that are not modelled name the nearest that is",
          "[cost_models][nccl-version]") {
  const std::string supported =
      " is not modelled; supported are 2.8.4 and 2.18 or newer (nearest: ";
  CHECK(version_refusal("2.9.6") == "the default choice of NCCL 2.9.6" + supported + "2.8.4)");
  CHECK(version_refusal("2.8.3") == "the default choice of NCCL 2.8.3" + supported + "2.8.4)");
  CHECK(version_refusal("2.17") == "the default choice of NCCL 2.17" + supported + "2.18)");
  CHECK(version_refusal("2.14") == "the default choice of NCCL 2.14" + supported + "2.18)");
  CHECK(version_refusal("1.3.5") == "the default choice of NCCL 1.3.5" + supported + "2.8.4)");
  CHECK(version_refusal("3.0") == "the default choice of NCCL 3.0" + supported + "2.30.7)");
  for (const std::string text : {"", "2", "2.", ".8", "2.8.4.1", "2.8.x", "v2.8", "2.18-", "2.18-x",
                                 "2.-8", "99999999999.1", "2 .8"}) {
    CAPTURE(text);
    CHECK(version_refusal(text) ==
          quoted(text) + " is not a release of NCCL; expected one like 2.8.4, 2.18 or 2.21.5");
  }
}
