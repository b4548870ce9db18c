// A hash that is the same on every machine and in every version, for results files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym {

/// FNV-1a, 64 bits (Fowler, Noll, Vo). Detects accidental differences; not for security.
class TextHash {
 public:
  /// Adds a text and its length, so that ("ab", "c") and ("a", "bc") differ.
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    for (std::uint64_t length = text.size(), i = 0; i < 8; ++i, length >>= 8U) {
      add_byte(static_cast<unsigned char>(length & 0xFFU));
    }
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  /// 16 hex digits.
  [[nodiscard]] std::string hex() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    std::uint64_t rest = state_;
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, rest >>= 4U) {
      *digit = kDigits[rest & 0xFU];
    }
    return text;
  }

 private:
  void add_byte(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace cclgym
