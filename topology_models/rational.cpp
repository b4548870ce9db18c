#include "topology_models/rational.hpp"

#include <fmt/format.h>

namespace cclgym {

std::string text_of(const Rational& number) {
  if (number.denominator() == 1) return fmt::format("{}", number.numerator());
  return fmt::format("{}/{}", number.numerator(), number.denominator());
}

std::int64_t rounded_up(const Rational& number) {
  const std::int64_t whole = number.numerator() / number.denominator();
  return whole + (number.numerator() % number.denominator() > 0 ? 1 : 0);
}

}  // namespace cclgym
