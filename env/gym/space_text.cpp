// The text of a space, as Gymnasium prints it.
#include <algorithm>
#include <fmt/format.h>

#include "env/gym/space.hpp"

namespace cclgym {

namespace {

/// Lists of more than twice this many bounds show only the first and last ones.
constexpr std::size_t kShownBounds = 3;

/// Converts 1 to "1.0", as Python does.
std::string real_text(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string bounds_text(const std::vector<float>& bounds) {
  if (bounds.empty()) return "[]";
  if (std::all_of(bounds.begin(), bounds.end(),
                  [&](float bound) { return bound == bounds.front(); })) {
    return real_text(bounds.front());
  }
  std::string text;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (i == kShownBounds && bounds.size() > 2 * kShownBounds) {
      text += " ...";
      i = bounds.size() - kShownBounds;
    }
    text += (text.empty() ? "" : " ") + real_text(bounds[i]);
  }
  return "[" + text + "]";
}

std::string kind_text(const Box& box) {
  std::string shape;
  for (const std::size_t extent : box.shape()) {
    shape += fmt::format("{}{}", shape.empty() ? "" : " ", extent) + ",";
  }
  if (box.shape().size() > 1) shape.pop_back();  // (3,), but (2, 3)
  return fmt::format("Box({}, {}, ({}), float32)", bounds_text(box.low()), bounds_text(box.high()),
                     shape);
}

std::string kind_text(const Discrete& discrete) {
  if (discrete.start == 0) return fmt::format("Discrete({})", discrete.n);
  return fmt::format("Discrete({}, start={})", discrete.n, discrete.start);
}

std::string kind_text(const MultiDiscrete& multidiscrete) {
  std::string sizes;
  std::string starts;
  bool zero = true;
  for (const Discrete& dimension : multidiscrete.dimensions) {
    const char* gap = sizes.empty() ? "" : " ";
    sizes += fmt::format("{}{}", gap, dimension.n);
    starts += fmt::format("{}{}", gap, dimension.start);
    zero = zero && dimension.start == 0;
  }
  if (zero) return fmt::format("MultiDiscrete([{}])", sizes);
  return fmt::format("MultiDiscrete([{}], start=[{}])", sizes, starts);
}

std::string kind_text(const Dict& dict) {
  std::string text;
  for (const auto& [name, space] : dict.entries) {
    text += fmt::format("{}'{}': {}", text.empty() ? "" : ", ", name, space.text());
  }
  return "Dict(" + text + ")";
}

}  // namespace

std::string Space::text() const {
  return std::visit([](const auto& kind) { return kind_text(kind); }, kind_);
}

}  // namespace cclgym
