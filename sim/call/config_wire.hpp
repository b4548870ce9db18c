// Configurations as bytes, between processes of a run.
#pragma once

#include <string>

#include "core/tasks/field_reader.hpp"
#include "sim/call/call.hpp"

namespace cclgym {

/// Appends all fields of a configuration (core/tasks/wire.hpp).
void put_config(std::string& bytes, const Config& config);

/// Reads the fields that put_config() has written.
[[nodiscard]] Config get_config(FieldReader& in);

}  // namespace cclgym
