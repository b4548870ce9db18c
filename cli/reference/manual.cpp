#include <fmt/format.h>
#include <string_view>

#include "cli/reference/reference.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

// Text for troff: a line that begins with a dot or a quote is no request, and "-" stays a hyphen of
// the keyboard.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string title(const std::string& name) {
  return fmt::format(
      ".\\\" Written by `cclgym reference`.\n.TH \"{}\" 1 \"\" \"cclgym {}\" \"cclgym\"\n",
      roff(name), program_version());
}

// An entry of a list: the term in bold, then its text.
std::string entry(const std::string& term, const std::string& value, const std::string& help) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(term),
                     value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(value)), roff(help));
}

}  // namespace

std::string program_manual(const std::vector<CommandRecord>& commands) {
  std::string text =
      title("cclgym") +
      ".SH NAME\ncclgym \\- simulates GPU collective communication on cluster fabrics\n"
      ".SH SYNOPSIS\n.B cclgym\n.I COMMAND\n[arguments]\n.SH COMMANDS\n";
  for (const CommandRecord& record : commands) {
    text += entry(record.command->name, "", record.command->summary);
  }
  text += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < commands.size(); ++i) {
    text += fmt::format(".BR {} (1){}\n", roff("cclgym-" + commands[i].command->name),
                        i + 1 < commands.size() ? "," : "");
  }
  return text;
}

std::string command_manual(const CommandRecord& record) {
  const Command& command = *record.command;
  std::string text = title("cclgym-" + command.name);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B cclgym {}\n{}\n",
                      roff("cclgym-" + command.name), roff(command.summary), roff(command.name),
                      roff(command.usage));
  std::string arguments;
  std::string options;
  for (const ArgumentRecord& argument : record.arguments) {
    if (argument.positional) {
      arguments += entry(argument.name, "", argument.help);
      continue;
    }
    const std::string first =
        argument.short_name.empty() ? "" : fmt::format("-{}, ", argument.short_name);
    options += entry(first + "--" + argument.name, argument.value_name, argument.help);
  }
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  text += ".SH OPTIONS\n" + options;
  text += ".SH EXAMPLES\n.nf\n" + roff(command.examples);
  if (!text.ends_with('\n')) text += '\n';
  return text + ".fi\n.SH SEE ALSO\n.BR cclgym (1)\n";
}

}  // namespace cclgym
