// Reads the bytes of core/tasks/wire.hpp field by field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/tasks/wire.hpp"

namespace cclgym {

/// After a field that is missing, fields keep their values and ok() is false.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Value>
  void number(Value& value) {
    const std::optional<Value> read = ok_ ? get<Value>(bytes_) : std::nullopt;
    ok_ = read.has_value();
    if (read) value = *read;
  }
  void text(std::string& value) {
    std::optional<std::string> read = ok_ ? get_text(bytes_) : std::nullopt;
    ok_ = read.has_value();
    if (read) value = std::move(*read);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  /// True if all fields were there, and nothing else.
  [[nodiscard]] bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace cclgym
