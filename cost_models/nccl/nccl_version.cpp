#include "cost_models/nccl/nccl_version.hpp"

#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr NcclVersion kPapersNccl{2, 8, 4};
constexpr NcclVersion kFirstOfModern{2, 18, 0};

// The numbers between the dots, without the package's revision ("-1" after the patch number).
std::optional<std::vector<int>> numbers_of(std::string_view text) {
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const std::string_view revision = text.substr(dash + 1);
    if (revision.empty() || revision.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    text = text.substr(0, dash);
  }
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
}

std::string nearest_supported(const NcclVersion& version) {
  if (version.major > 2) return kNewestNccl.to_string();
  if (version.major < 2) return kPapersNccl.to_string();
  return version.minor - kPapersNccl.minor <= kFirstOfModern.minor - version.minor
             ? kPapersNccl.to_string()
             : "2.18";
}

// The release with these numbers: major, minor and, if it is given, patch.
NcclVersion release_of(std::string_view text) {
  const auto numbers = numbers_of(text);
  if (!numbers || numbers->size() < 2 || numbers->size() > 3) {
    throw UserError(fmt::format(
        "{} is not a release of NCCL; expected one like 2.8.4, 2.18 or 2.21.5", quoted(text)));
  }
  const bool patch_given = numbers->size() == 3;
  const NcclVersion version{(*numbers)[0], (*numbers)[1], patch_given ? (*numbers)[2] : 0};
  const bool papers = version.major == 2 && version.minor == kPapersNccl.minor && !patch_given;
  return papers ? kPapersNccl : version;
}

bool is_modelled(const NcclVersion& version) {
  return version == kPapersNccl || (version.major == 2 && version >= kFirstOfModern);
}

}  // namespace

std::string NcclVersion::to_string() const { return fmt::format("{}.{}.{}", major, minor, patch); }

NcclFamily family(const NcclVersion& version) {
  if (version < kFirstOfModern) return NcclFamily::V2_8;
  if (version < NcclVersion{2, 24, 0}) return NcclFamily::V2_18;
  if (version < NcclVersion{2, 29, 0}) return NcclFamily::V2_24;
  return NcclFamily::V2_29;
}

std::string_view to_string(NcclFamily family) {
  switch (family) {
    case NcclFamily::V2_8:
      return "2.8.4";
    case NcclFamily::V2_18:
      return "2.18-2.23";
    case NcclFamily::V2_24:
      return "2.24-2.28";
    case NcclFamily::V2_29:
      return "2.29 and newer";
  }
  return "?";
}

NcclVersion parse_nccl_version(std::string_view text) {
  const NcclVersion version = release_of(text);
  if (is_modelled(version)) return version;
  throw UserError(fmt::format(
      "the default choice of NCCL {} is not modelled; supported are 2.8.4 and 2.18 or newer "
      "(nearest: {})",
      text, nearest_supported(version)));
}

bool is_modelled_nccl(std::string_view text) { return is_modelled(release_of(text)); }

NcclVersion nearest_modelled_nccl(std::string_view text) {
  const NcclVersion version = release_of(text);
  if (is_modelled(version)) return version;
  if (version.major != 2) return parse_nccl_version(text);
  return release_of(nearest_supported(version));
}

}  // namespace cclgym
