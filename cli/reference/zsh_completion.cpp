#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

#include "cli/reference/reference.hpp"

namespace cclgym {

namespace {

// Text inside a specification of _arguments, between single quotes.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return escaped;
}

std::string zsh_values(const ArgumentRecord& argument) {
  if (argument.value_name.empty()) return "";
  return fmt::format(
      ":{}:{}", zsh_text(argument.value_name),
      argument.choices.empty()
          ? std::string("_files")
          : fmt::format("({})", zsh_text(fmt::format("{}", fmt::join(argument.choices, " ")))));
}

}  // namespace

std::string zsh_completion(const std::vector<CommandRecord>& commands) {
  std::string text =
      "#compdef cclgym\n# Completion of cclgym for zsh, written by `cclgym reference`.\n"
      "_cclgym() {\n  local -a commands\n  commands=(\n";
  for (const CommandRecord& record : commands) {
    text += fmt::format("    '{}:{}'\n", record.command->name, zsh_text(record.command->summary));
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n";
  for (const CommandRecord& record : commands) {
    text += fmt::format("    {})\n      _arguments", record.command->name);
    for (const ArgumentRecord& argument : record.arguments) {
      if (argument.positional) continue;
      const std::string rest = fmt::format("[{}]{}", zsh_text(argument.help), zsh_values(argument));
      text += fmt::format(" \\\n        '--{}{}'", argument.name, rest);
      if (!argument.short_name.empty()) {
        text += fmt::format(" \\\n        '-{}{}'", argument.short_name, rest);
      }
    }
    const std::vector<std::string> first = first_words(*record.command);
    if (!first.empty())
      text += fmt::format(" \\\n        '1:argument:({})'", fmt::join(first, " "));
    text += " \\\n        '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\n_cclgym \"$@\"\n";
}

}  // namespace cclgym
