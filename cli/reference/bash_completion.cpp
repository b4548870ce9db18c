#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/reference/reference.hpp"

namespace cclgym {

std::vector<std::string> first_words(const Command& command) {
  std::vector<std::string> words;
  for (const std::vector<std::string>& mode : command.modes) {
    if (!mode.front().starts_with('-')) words.push_back(mode.front());
  }
  std::string usage = command.usage.substr(0, command.usage.find(' '));
  if (!words.empty() || usage.find('|') == std::string::npos) return words;
  for (std::size_t bar = usage.find('|'); bar != std::string::npos; bar = usage.find('|')) {
    words.push_back(usage.substr(0, bar));
    usage.erase(0, bar + 1);
  }
  words.push_back(usage);
  return words;
}

std::string single_quoted(const std::string& text, const std::string& escaped_quote) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? escaped_quote : std::string(1, c);
  return result + "'";
}

// Without a reply of the function, readline completes file names (-o default).
std::string bash_completion(const std::vector<CommandRecord>& commands) {
  std::string text =
      "# Completion of cclgym for bash, written by `cclgym reference`.\n"
      "_cclgym() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local options= words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  std::vector<std::string> names;
  for (const CommandRecord& record : commands) names.push_back(record.command->name);
  text += fmt::format(
      "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$current\")\n"
      "    return\n  fi\n  case ${{COMP_WORDS[1]}} in\n",
      fmt::join(names, " "));
  for (const CommandRecord& record : commands) {
    std::string options;
    std::string values;
    std::string taken;
    for (const ArgumentRecord& argument : record.arguments) {
      if (argument.positional) continue;
      std::string pattern = "--" + argument.name;
      options += (options.empty() ? "" : " ") + pattern;
      if (!argument.short_name.empty()) {
        pattern += "|-" + argument.short_name;
        options += " -" + argument.short_name;
      }
      if (argument.value_name.empty()) continue;
      if (argument.choices.empty()) {
        taken += (taken.empty() ? "" : "|") + pattern;
      } else {
        values +=
            fmt::format("        {}) words='{}' ;;\n", pattern, fmt::join(argument.choices, " "));
      }
    }
    text += fmt::format("    {})\n      options='{}'\n      case $previous in\n{}",
                        record.command->name, options, values);
    if (!taken.empty()) text += fmt::format("        {}) return ;;\n", taken);
    const std::vector<std::string> first = first_words(*record.command);
    if (!first.empty()) {
      text +=
          fmt::format("        {}) words='{}' ;;\n", record.command->name, fmt::join(first, " "));
    }
    text += "      esac ;;\n";
  }
  text +=
      "  esac\n"
      "  if [ \"${current#-}\" != \"$current\" ]; then words=$options; fi\n"
      "  [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "}\n"
      "complete -o default -F _cclgym cclgym\n";
  return text;
}

}  // namespace cclgym
