// Hashes that are the same on every machine and in every version, for results files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym {

/// FNV-1a hash, 64 bits (Fowler, Noll, Vo), of a text; `state` is the hash of the text before it.
/// Detects accidental differences; not for security.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view bytes,
                                            std::uint64_t state = 0xcbf29ce484222325ULL) {
  for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return state;
}

/// 16 hex digits.
[[nodiscard]] inline std::string hex_digits(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4U) {
    *digit = kDigits[number & 0xFU];
  }
  return text;
}

/// 2^64 divided by the golden ratio: an odd number whose bits show no pattern.
inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014; Vigna's public-domain code): every bit of
/// the result depends on every bit of `z`.
[[nodiscard]] constexpr std::uint64_t splitmix64_finaliser(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// A fast hash of one more number, for keys of hash tables.
[[nodiscard]] constexpr std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * kGoldenRatio;
  return hash ^ (hash >> 29U);
}

/// FNV-1a hash of a sequence of texts, each followed by its length.
class TextHash {
 public:
  /// Adds a text and its length, so that ("ab", "c") and ("a", "bc") differ.
  void add(std::string_view text) {
    state_ = fnv1a(text, state_);
    for (std::uint64_t length = text.size(), i = 0; i < 8; ++i, length >>= 8U) {
      const char byte = static_cast<char>(length & 0xFFU);
      state_ = fnv1a({&byte, 1}, state_);
    }
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  /// 16 hex digits.
  [[nodiscard]] std::string hex() const { return hex_digits(state_); }

 private:
  std::uint64_t state_ = fnv1a({});
};

}  // namespace cclgym
