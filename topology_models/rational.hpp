// Exact fractions.
#pragma once

#include <boost/rational.hpp>
#include <cstdint>
#include <string>

namespace cclgym {

/// A fraction in lowest terms with a positive denominator. Compare it with Rational(0), not with 0:
/// comparison with an integer never returns in C++20 (Boost 1.74).
using Rational = boost::rational<std::int64_t>;

/// "7/6", or "3" for a whole number.
[[nodiscard]] std::string text_of(const Rational& number);

/// The smallest whole number that is not below it.
[[nodiscard]] std::int64_t rounded_up(const Rational& number);

/// Numerator of the fraction over `denominator`, a multiple of its own denominator.
[[nodiscard]] inline std::int64_t numerator_over(const Rational& number, std::int64_t denominator) {
  return number.numerator() * (denominator / number.denominator());
}

}  // namespace cclgym
