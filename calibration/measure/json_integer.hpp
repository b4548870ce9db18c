// Whole numbers in lines of JSON from another process.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

/// The whole number `name` of an object. Throws std::runtime_error if it is no whole number or does
/// not fit, and nlohmann::json::out_of_range if it is missing; json::get would convert a number of
/// any size, which is undefined.
template <class Integer>
[[nodiscard]] Integer json_integer(const nlohmann::json& object, const char* name) {
  const nlohmann::json& value = object.at(name);
  if (value.is_number_unsigned() && std::in_range<Integer>(value.get<std::uint64_t>())) {
    return static_cast<Integer>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<Integer>(value.get<std::int64_t>())) {
    return static_cast<Integer>(value.get<std::int64_t>());
  }
  throw std::runtime_error(fmt::format("{}: found {}; expected a whole number of {} bits", name,
                                       quoted(value.dump()), 8 * sizeof(Integer)));
}

/// The same, or `otherwise` if the object has no such number.
template <class Integer>
[[nodiscard]] Integer json_integer(const nlohmann::json& object, const char* name,
                                   Integer otherwise) {
  return object.contains(name) ? json_integer<Integer>(object, name) : otherwise;
}

}  // namespace cclgym
