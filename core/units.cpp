#include "core/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace cclgym {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// Words for a kind of quantity in messages.
struct Wording {
  std::string_view noun;
  std::string_view example;
  std::string_view units;
  std::string_view bound;  // the values end here
};

constexpr Wording kBytesWording{"a size", "'64KiB'",
                                "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, K, M, G, T",
                                "below 2^64 bytes (16777216TiB)"};
constexpr Wording kTimeWording{"a time", "'1.5us'", "ns, us, ms, s", "below 1e308 s"};
constexpr Wording kRateWording{
    "a rate", "'25 GB/s'", "B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, Gb/s (bits)",
    "below 1e308 B/s"};
constexpr Wording kIntegerWording{"a whole number", "'4'", "", "from -2^63 to 2^63 - 1"};

[[noreturn]] void refuse(const SourceLocation& where, std::string_view what,
                         const std::string& rest) {
  throw UserError(where, std::string(what) + " " + rest);
}

// Parts of a decimal number: digits without the point, times 10^exponent.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

struct Split {
  Decimal number;
  std::string_view unit;
};

// Splits "1.5e-3 us" into number and unit. Throws UserError for a sign: no quantity is negative.
Split split_quantity(std::string_view text, std::string_view what, const SourceLocation& where,
                     const Wording& wording) {
  const std::string_view whole = trim(text);
  std::string_view rest = whole;
  if (!rest.empty() && rest.front() == '-' && rest.size() > 1 && is_digit(rest[1])) {
    refuse(where, what,
           "is " + quoted(whole) + "; expected " + std::string(wording.noun) +
               " that is not negative, e.g. " + std::string(wording.example));
  }
  if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
  Split result;
  std::size_t i = 0;
  while (i < rest.size() && is_digit(rest[i])) ++i;
  result.number.digits = rest.substr(0, i);
  if (i < rest.size() && rest[i] == '.') {
    const std::size_t fraction = i + 1;
    for (i = fraction; i < rest.size() && is_digit(rest[i]);) ++i;
    result.number.digits += rest.substr(fraction, i - fraction);
    result.number.exponent = -static_cast<int>(std::min<std::size_t>(i - fraction, 100'000));
  }
  constexpr std::size_t kMostDigits = 400;  // more digits are garbage
  if (result.number.digits.empty() || result.number.digits.size() > kMostDigits) {
    refuse(where, what,
           "is " + quoted(whole) + "; expected " + std::string(wording.noun) + ", e.g. " +
               std::string(wording.example));
  }
  if (i < rest.size() && (rest[i] == 'e' || rest[i] == 'E')) {
    int exponent = 0;
    const char* begin = rest.data() + i + 1;
    const char* const end = rest.data() + rest.size();
    if (begin != end && *begin == '+') ++begin;
    const auto [stop, error] = std::from_chars(begin, end, exponent);
    if (error == std::errc() && std::abs(exponent) <= 1000) {
      result.number.exponent += exponent;
      i = static_cast<std::size_t>(stop - rest.data());
    }
  }
  result.unit = trim(rest.substr(i));
  if (result.unit.empty() && &wording != &kBytesWording) {
    refuse(where, what,
           "needs a unit, e.g. " + std::string(wording.example) + "; found " + quoted(whole));
  }
  return result;
}

// Correctly rounded value of a decimal number; infinity on overflow.
double to_double(const Decimal& number, int extra_exponent) {
  const std::string text = number.digits + "e" + std::to_string(number.exponent + extra_exponent);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // from_chars does not tell overflow from underflow: the place of the first digit does.
    const std::size_t zeros = std::min(number.digits.find_first_not_of('0'), number.digits.size());
    const int magnitude = static_cast<int>(number.digits.size() - zeros) + number.exponent;
    return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
  return value;
}

struct Unit {
  std::string_view name;
  int decimal_exponent;  ///< times 10^this
  std::uint64_t binary;  ///< times this (a power of two)
};

constexpr std::array<Unit, 10> kByteUnits{{{"B", 0, 1},
                                           {"KB", 3, 1},
                                           {"kB", 3, 1},
                                           {"MB", 6, 1},
                                           {"GB", 9, 1},
                                           {"TB", 12, 1},
                                           {"KiB", 0, std::uint64_t{1} << 10},
                                           {"MiB", 0, std::uint64_t{1} << 20},
                                           {"GiB", 0, std::uint64_t{1} << 30},
                                           {"TiB", 0, std::uint64_t{1} << 40}}};
constexpr std::array<Unit, 6> kBitUnits{
    {{"b", 0, 1}, {"Kb", 3, 1}, {"kb", 3, 1}, {"Mb", 6, 1}, {"Gb", 9, 1}, {"Tb", 12, 1}}};
// The micro sign may be U+00B5 or the Greek letter U+03BC.
constexpr std::array<Unit, 6> kTimeUnits{{{"ns", -9, 1},
                                          {"us", -6, 1},
                                          {"\u00b5s", -6, 1},
                                          {"\u03bcs", -6, 1},
                                          {"ms", -3, 1},
                                          {"s", 0, 1}}};

std::optional<Unit> find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit;
  }
  return std::nullopt;
}

// The unit of a size: one of kByteUnits in any letter case ("mib", but not "Mb", which are bits),
// nccl-tests' K, M, G and T, which are binary, or bytes if there is none.
std::optional<Unit> find_size_unit(std::string_view name) {
  if (name.empty()) return kByteUnits.front();
  if (const auto exact = find_unit(kByteUnits, name)) return exact;
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const bool bits = name.ends_with('b') && name.size() > 1 && name.front() < 'a';
  if (bits) return std::nullopt;
  if (upper.size() == 1 && upper != "B") return find_unit(kByteUnits, upper + "iB");
  if (upper.size() == 3 && upper[1] == 'I') upper[1] = 'i';
  return find_unit(kByteUnits, upper);
}

[[noreturn]] void refuse_unit(const SourceLocation& where, std::string_view what,
                              std::string_view unit, const Wording& wording) {
  refuse(where, what,
         "has the unknown unit " + quoted(unit, 20) + "; expected one of " +
             std::string(wording.units));
}

[[noreturn]] void refuse_large(const SourceLocation& where, std::string_view what,
                               std::string_view text, const Wording& wording) {
  refuse(where, what,
         "is " + quoted(trim(text)) + ", which is too large; expected " +
             std::string(wording.noun) + " " + std::string(wording.bound));
}

// The exact product of a decimal number and `factor`, which must be a whole number.
std::uint64_t exact_product(const Decimal& number, std::uint64_t factor, std::string_view text,
                            std::string_view what, const SourceLocation& where) {
  std::string digits = number.digits;
  int exponent = number.exponent;
  const auto strip = [&digits] { digits.erase(0, digits.find_first_not_of('0')); };
  strip();
  if (digits.empty()) return 0;
  while (exponent < 0 && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || exponent > 19) refuse_large(where, what, text, kBytesWording);
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value))
      refuse_large(where, what, text, kBytesWording);
  }
  for (; exponent < 0; ++exponent) {
    // Divide by 10 = 2 * 5: remove each prime from the factor that contains it.
    for (const std::uint64_t prime : {std::uint64_t{2}, std::uint64_t{5}}) {
      if (value % prime == 0) {
        value /= prime;
      } else if (factor % prime == 0) {
        factor /= prime;
      } else {
        refuse(where, what, "is " + quoted(trim(text)) + "; expected a whole number of bytes");
      }
    }
  }
  if (__builtin_mul_overflow(value, factor, &value)) refuse_large(where, what, text, kBytesWording);
  return value;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text, std::string_view what,
                          const SourceLocation& where) {
  Split split = split_quantity(text, what, where, kBytesWording);
  const std::optional<Unit> unit = find_size_unit(split.unit);
  if (!unit) refuse_unit(where, what, split.unit, kBytesWording);
  split.number.exponent += unit->decimal_exponent;
  return exact_product(split.number, unit->binary, text, what, where);
}

double parse_time_s(std::string_view text, std::string_view what, const SourceLocation& where) {
  const Split split = split_quantity(text, what, where, kTimeWording);
  const std::optional<Unit> unit = find_unit(kTimeUnits, split.unit);
  if (!unit) refuse_unit(where, what, split.unit, kTimeWording);
  const double value = to_double(split.number, unit->decimal_exponent);
  if (!std::isfinite(value)) refuse_large(where, what, text, kTimeWording);
  return value;
}

double parse_rate_Bps(std::string_view text, std::string_view what, const SourceLocation& where) {
  const Split split = split_quantity(text, what, where, kRateWording);
  std::string_view name = split.unit;
  if (!name.ends_with("/s")) refuse_unit(where, what, split.unit, kRateWording);
  name = trim(name.substr(0, name.size() - 2));
  double value = 0;
  if (const auto bytes = find_unit(kByteUnits, name)) {
    value = to_double(split.number, bytes->decimal_exponent) * static_cast<double>(bytes->binary);
  } else if (const auto bits = find_unit(kBitUnits, name)) {
    value = to_double(split.number, bits->decimal_exponent) / 8;
  } else {
    refuse_unit(where, what, split.unit, kRateWording);
  }
  if (!std::isfinite(value)) refuse_large(where, what, text, kRateWording);
  return value;
}

std::int64_t parse_integer(std::string_view text, std::string_view what,
                           const SourceLocation& where) {
  const std::string_view whole = trim(text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error == std::errc::result_out_of_range) refuse_large(where, what, text, kIntegerWording);
  if (error != std::errc() || stop != whole.data() + whole.size()) {
    refuse(where, what, "is " + quoted(whole) + "; expected a whole number");
  }
  return value;
}

double parse_real(std::string_view text, std::string_view what, const SourceLocation& where) {
  const std::string_view whole = trim(text);
  double value = 0;
  const auto [stop, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error == std::errc::result_out_of_range) {
    refuse(where, what, "is " + quoted(whole) + ", which is outside the range of a double");
  }
  if (error != std::errc() || stop != whole.data() + whole.size() || !std::isfinite(value)) {
    refuse(where, what, "is " + quoted(whole) + "; expected a number");
  }
  return value;
}

bool parse_flag(std::string_view text, std::string_view what, const SourceLocation& where) {
  const std::string_view whole = trim(text);
  if (whole == "true") return true;
  if (whole == "false") return false;
  refuse(where, what, "is " + quoted(whole) + "; expected true or false");
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

std::string format_time(double seconds) {
  const double size = std::fabs(seconds);
  if (size == 0) return "0 s";
  // From this bound on, four digits would round up to the next unit.
  constexpr double kRoundsUp = 0.99995;
  if (!(size < kRoundsUp)) {
    return size < 1e6 ? fmt::format("{:#.4g} s", seconds) : fmt::format("{:.4g} s", seconds);
  }
  if (size >= kRoundsUp * 1e-3) return fmt::format("{:#.4g} ms", seconds * 1e3);
  if (size >= kRoundsUp * 1e-6) return fmt::format("{:#.4g} us", seconds * 1e6);
  return fmt::format("{:#.4g} ns", seconds * 1e9);
}

std::string format_rate(double bytes_per_second) {
  constexpr std::array<std::string_view, 5> kUnits{"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  double value = bytes_per_second;
  std::size_t unit = 0;
  while (std::fabs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_double(double value) {
  std::array<char, 32> buffer{};
  const auto [stop, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), stop};
}

}  // namespace cclgym
