#include "core/yaml/yaml_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/units.hpp"
#include "core/utf8.hpp"

namespace cclgym {

namespace {

// yaml-cpp keeps the tokens of an entire line of flow style in memory.
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

void check_yaml_text(std::string_view text, const std::string& file_name,
                     const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    throw UserError({file_name, 0, 0},
                    "too large; expected at most " + format_bytes(limits.bytes) + " of YAML");
  }
  std::size_t line = 1;
  std::size_t line_start = 0;
  bool indentation = true;  // before the first character of the line
  for (std::size_t i = 0; i < text.size();) {
    const unsigned byte = byte_at(text, i);
    const SourceLocation here{file_name, line, i - line_start + 1};
    if (byte == '\n') {
      ++line;
      line_start = ++i;
      indentation = true;
      continue;
    }
    if (i - line_start >= kLongestLine) {
      throw UserError({file_name, line, 0},
                      "line too long; expected at most " + format_bytes(kLongestLine));
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F) {
      throw UserError(here, fmt::format("found byte 0x{:02x}; expected YAML text", byte));
    }
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      throw UserError(
          here, fmt::format("found byte 0x{:02x}, which is not UTF-8; expected YAML text", byte));
    }
    if (indentation && byte == '\t') {
      // yaml-cpp does not accept a tab before a comment or on an empty line either.
      throw UserError(here, "found a tab in the indentation; expected spaces only");
    }
    indentation = indentation && byte == ' ';
    i += length;
  }
}

bool unclosed_quote(std::string_view text, std::size_t& begin) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::size_t i = begin;
  while (i < text.size() && (text[i] == '!' || text[i] == '&' || text[i] == '#')) {
    i = text.find_first_of(text[i] == '#' ? "\n" : kBlanks, i);
    i = std::min(text.find_first_not_of(kBlanks, i), text.size());
  }
  if (i >= text.size() || (text[i] != '"' && text[i] != '\'')) return false;
  const char quote = text[i];
  begin = i++;
  for (; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      // In single quotes, '' stands for one quote.
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace cclgym
