#include "synthesis/certificates/base64.hpp"

#include <array>
#include <cstdint>

#include "core/error.hpp"

namespace cclgym::synthesis {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::array<int, 256> digit_values() {
  std::array<int, 256> values{};
  values.fill(-1);
  for (std::size_t k = 0; k < kDigits.size(); ++k) {
    values[static_cast<unsigned char>(kDigits[k])] = static_cast<int>(k);
  }
  return values;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - k);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[k + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  static const std::array<int, 256> values = digit_values();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t k = 0; k + 4 <= text.size(); k += 4) {
    std::uint32_t group = 0;
    std::size_t digits = 0;
    for (; digits < 4 && text[k + digits] != '='; ++digits) {
      const int value = values[static_cast<unsigned char>(text[k + digits])];
      if (value < 0) throw UserError("a proof is not in base64");
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    group <<= 6 * (4 - digits);
    for (std::size_t j = 0; j + 1 < digits; ++j) {
      bytes += static_cast<char>(group >> (16 - 8 * j) & 0xFFU);
    }
  }
  if (to_base64(bytes) != text) throw UserError("a proof is not in base64");
  return bytes;
}

}  // namespace cclgym::synthesis
