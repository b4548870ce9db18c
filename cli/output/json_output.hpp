// Option --json: results as JSON on standard output instead of text, for programs that read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/command.hpp"

namespace cclgym {

/// Help of the flag --json.
inline constexpr const char* kJsonHelp = "print JSON instead of text";
/// True if --json was given: standard output then has one JSON value and nothing else.
[[nodiscard]] bool wants_json(const Arguments& arguments);

/// Prints the value with an indentation of two.
void print_json(const nlohmann::ordered_json& value);

/// The lines of a CSV that cclgym wrote as a list of objects, in the order of the columns: an empty
/// field becomes null, a decimal number a number unless its column is among `texts`, and any other
/// field a text.
[[nodiscard]] nlohmann::ordered_json json_rows(std::string_view csv,
                                               const std::vector<std::string_view>& texts = {});

}  // namespace cclgym
