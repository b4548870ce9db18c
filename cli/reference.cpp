// cclgym reference: writes manual pages and completions, for `cmake --install`.
#include "cli/reference/reference.hpp"

#include <filesystem>

#include "cli/support/command.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace {

int reference(const std::vector<std::string>& args) {
  ArgumentReader reader(reference_command());
  reader.positional("DIR", "folder for the files; files of the same names are replaced");
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  std::vector<CommandRecord> commands;
  for (const Command* command : all_commands()) {
    if (!command->hidden) commands.push_back({command, argument_records(*command)});
  }
  const std::filesystem::path folder = arguments->text("DIR");
  std::filesystem::create_directories(folder / "man1");
  write_text_file((folder / "cclgym.bash").string(), bash_completion(commands));
  write_text_file((folder / "cclgym.zsh").string(), zsh_completion(commands));
  write_text_file((folder / "cclgym.fish").string(), fish_completion(commands));
  write_text_file((folder / "man1/cclgym.1").string(), program_manual(commands));
  for (const CommandRecord& record : commands) {
    write_text_file((folder / "man1" / ("cclgym-" + record.command->name + ".1")).string(),
                    command_manual(record));
  }
  return 0;
}

}  // namespace

const Command& reference_command() {
  static const Command command{
      .name = "reference",
      .summary = "Write manual pages, and completions for bash, zsh and fish",
      .usage = "DIR",
      .examples =
          "  cclgym reference DIR\n"
          "      DIR/man1/*.1, DIR/cclgym.bash, DIR/cclgym.zsh and DIR/cclgym.fish\n",
      .run = reference,
      .hidden = true};
  return command;
}

}  // namespace cclgym
