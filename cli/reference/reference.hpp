// Completions for shells and manual pages, made from the arguments that the commands declare.
#pragma once

#include <string>
#include <vector>

#include "cli/support/command.hpp"

namespace cclgym {

/// A command that users see, with its arguments.
struct CommandRecord {
  const Command* command;
  std::vector<ArgumentRecord> arguments;
};

/// Words that a user can choose from for the first positional argument: those of the command's
/// usage ("fabrics|collectives|…"), or the first words of its modes.
[[nodiscard]] std::vector<std::string> first_words(const Command& command);

/// A text between single quotes of a shell; `escaped_quote` stands for a quote inside.
[[nodiscard]] std::string single_quoted(const std::string& text, const std::string& escaped_quote);

/// Text of a file that bash, zsh or fish loads for completion.
[[nodiscard]] std::string bash_completion(const std::vector<CommandRecord>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandRecord>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandRecord>& commands);

/// Manual page cclgym(1), and that of one command, cclgym-NAME(1), for man.
[[nodiscard]] std::string program_manual(const std::vector<CommandRecord>& commands);
[[nodiscard]] std::string command_manual(const CommandRecord& record);

}  // namespace cclgym
