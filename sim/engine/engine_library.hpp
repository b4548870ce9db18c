// Libraries of engines that a program loads when it first needs them.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

/// Loads the library of an engine now, before work that would be lost without it; nothing if the
/// engine needs none. Throws LibraryMissing if it cannot be loaded.
void load_engine_library(std::string_view engine);

/// Reason why an engine's library cannot be loaded: "FILE: cannot open shared object file: …";
/// empty if the engine can run.
[[nodiscard]] std::string missing_engine_library(std::string_view engine);

}  // namespace cclgym
