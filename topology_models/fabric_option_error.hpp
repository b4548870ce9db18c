// Errors in the options of fabrics.
#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

/// A mistake in one option of a FabricSpec, for callers that know how the user gives this option.
class FabricOptionError : public UserError {
 public:
  FabricOptionError(std::string key, const std::string& message)
      : UserError(message), key_(std::move(key)) {}
  /// The option's key in fabric_spec_options(): "gpus", "without", "name".
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string key_;
};

}  // namespace cclgym
