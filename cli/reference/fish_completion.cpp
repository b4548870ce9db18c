#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/reference/reference.hpp"

namespace cclgym {

namespace {

// fish reads \\ and \' inside single quotes.
std::string fish_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return single_quoted(escaped, "\\'");
}

}  // namespace

std::string fish_completion(const std::vector<CommandRecord>& commands) {
  std::string text = "# Completion of cclgym for fish, written by `cclgym reference`.\n";
  for (const CommandRecord& record : commands) {
    text += fmt::format("complete -c cclgym -f -n __fish_use_subcommand -a {} -d {}\n",
                        record.command->name, fish_text(record.command->summary));
  }
  for (const CommandRecord& record : commands) {
    const std::string when =
        fmt::format("complete -c cclgym -n '__fish_seen_subcommand_from {}'", record.command->name);
    const std::vector<std::string> first = first_words(*record.command);
    if (!first.empty()) text += fmt::format("{} -a '{}'\n", when, fmt::join(first, " "));
    for (const ArgumentRecord& argument : record.arguments) {
      if (argument.positional) continue;
      text += fmt::format("{} -l {}", when, argument.name);
      if (!argument.short_name.empty()) text += " -s " + argument.short_name;
      if (!argument.value_name.empty()) text += " -r";
      if (!argument.choices.empty())
        text += fmt::format(" -f -a '{}'", fmt::join(argument.choices, " "));
      text += fmt::format(" -d {}\n", fish_text(argument.help));
    }
  }
  return text;
}

}  // namespace cclgym
