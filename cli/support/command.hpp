// Subcommands of the program, and the parsing of their arguments.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/options/option.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {

struct Command {
  std::string name;      ///< as typed: "run"
  std::string summary;   ///< one line for `cclgym --help`
  std::string usage;     ///< text after the name: "FILE [options]"
  std::string examples;  ///< command lines with explanations, for `cclgym NAME --help`
  /// Runs the command. `args` are the arguments after the name. Returns the exit code.
  std::function<int(const std::vector<std::string>& args)> run{};
  /// The same, instead of `run`, for a command that mpirun may start on several ranks: its tasks
  /// run in `place`, which is null without mpirun.
  std::function<int(const std::vector<std::string>& args, TaskPlace* place)> run_in{};
  /// Action of a command of `run_in` that needs LibTorch, for messages: "train"; empty: needs none.
  std::string torch_for{};
  /// Arguments by which the command gets further options, for reference pages and completions; the
  /// reference has the options of all of them.
  std::vector<std::vector<std::string>> modes{};
  bool hidden = false;  ///< not in `cclgym --help`
};

// The subcommands, each in the file of its name.
[[nodiscard]] const Command& run_command();
[[nodiscard]] const Command& merge_command();
[[nodiscard]] const Command& report_command();
[[nodiscard]] const Command& simulate_command();
[[nodiscard]] const Command& workload_command();
[[nodiscard]] const Command& describe_command();
[[nodiscard]] const Command& list_command();
[[nodiscard]] const Command& compile_command();
[[nodiscard]] const Command& verify_command();
[[nodiscard]] const Command& synthesize_command();
[[nodiscard]] const Command& check_certificate_command();
[[nodiscard]] const Command& tune_dispatch_command();
[[nodiscard]] const Command& fit_command();
[[nodiscard]] const Command& compare_command();
[[nodiscard]] const Command& calibrate_command();
[[nodiscard]] const Command& train_command();
[[nodiscard]] const Command& validate_command();
[[nodiscard]] const Command& loop_command();
[[nodiscard]] const Command& evaluate_command();
[[nodiscard]] const Command& export_command();
[[nodiscard]] const Command& deploy_command();
[[nodiscard]] const Command& reference_command();

/// All of them, in the order of `cclgym --help`.
[[nodiscard]] const std::vector<const Command*>& all_commands();

/// An option or a positional argument of a command, as a user types it.
struct ArgumentRecord {
  std::string name;                    ///< "channels"; of a positional argument: "FILE"
  std::string short_name{};            ///< "o", or empty
  std::string value_name{};            ///< "FILE"; empty: a flag, or a positional argument
  std::string help{};                  ///< one paragraph
  std::vector<std::string> choices{};  ///< the valid values, if the record has them
  bool positional = false;
};

/// The arguments that a command declares, without running it: of each of its modes, every argument
/// once, with --help last.
[[nodiscard]] std::vector<ArgumentRecord> argument_records(const Command& command);

/// Parsed options of a command. Values are texts; numbers and quantities are read from them with
/// their records, e.g. read_integer(text, spec, argument_location("channels")).
class Arguments {
 public:
  Arguments(std::string command, boost::program_options::variables_map values)
      : command_(std::move(command)), values_(std::move(values)) {}
  /// True if the option was given.
  [[nodiscard]] bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// The text of an option that was given or has a default.
  [[nodiscard]] const std::string& text(const std::string& name) const {
    return values_[name].as<std::string>();
  }

  /// The texts of a repeated argument, one or more.
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    return values_[name].as<std::vector<std::string>>();
  }

  /// The names of an option, separated by commas; none if it is not given. Throws UserError at the
  /// option if a name is empty or occurs twice.
  [[nodiscard]] std::vector<std::string> names(const std::string& name) const;

  /// The text of an option that must be given. Throws UserError that names the command's help.
  [[nodiscard]] const std::string& required(const std::string& name) const;
  /// The text of the record's option, or the record's default.
  [[nodiscard]] const std::string& text_or_default(const OptionSpec& spec) const;
  /// The option's value or default, which must be one of the spec's choices. Throws UserError at
  /// the option otherwise.
  [[nodiscard]] const std::string& choice(const OptionSpec& spec) const;
  /// The option's value as an integer. Throws UserError if it is not an integer within the bounds.
  [[nodiscard]] std::int64_t integer(const OptionSpec& spec) const;

 private:
  std::string command_;
  boost::program_options::variables_map values_;
};

/// Declares the options of a command and parses its arguments. Every command gets --help.
class ArgumentReader {
 public:
  explicit ArgumentReader(const Command& command);

  /// Declares "--name VALUE" with the help text of the record; its default is only shown, not set.
  /// The record's aliases are accepted, but not shown.
  ArgumentReader& option(const OptionSpec& spec, const std::string& value_name);
  /// Declares "--name VALUE" with this help text.
  ArgumentReader& option(const std::string& name, const std::string& value_name,
                         const std::string& help);
  /// Declares "--name FILE" for a file that the command reads.
  ArgumentReader& input(const std::string& name, const std::string& value_name,
                        const std::string& help);
  /// Declares "--name FILE" for a file that the command writes. read() refuses a file that is also
  /// an input, a positional argument or another output, so that no command overwrites its own
  /// input.
  ArgumentReader& output(const std::string& name, const std::string& value_name,
                         const std::string& help);
  /// Declares "--name" without a value.
  ArgumentReader& flag(const std::string& name, const std::string& help);
  /// Declares the next positional argument, which must be given unless `required` is false.
  ArgumentReader& positional(const std::string& name, const std::string& help,
                             bool required = true);
  /// Declares the last positional argument, which is given once or more (Arguments::texts).
  ArgumentReader& repeated(const std::string& name, const std::string& help);

  /// Prints the command's help and returns nullopt if --help is among the arguments. Throws
  /// UserError for an unknown option (with the nearest name), a missing value or positional
  /// argument, an option given twice or empty, too many arguments, or an output that is "-" or
  /// another argument's file.
  [[nodiscard]] std::optional<Arguments> read(const std::vector<std::string>& args) const;

  /// The names of all given arguments and options except these, for commands that have modes.
  [[nodiscard]] std::vector<std::string> names_besides(const std::vector<std::string>& left) const;

 private:
  struct Positional {
    std::string name;
    std::string help;
    bool required;
    bool repeated = false;
  };
  [[nodiscard]] std::string help() const;
  [[nodiscard]] std::vector<ArgumentRecord> records() const;
  void check_outputs(const boost::program_options::variables_map& values) const;

  const Command& command_;
  boost::program_options::options_description options_;
  std::vector<Positional> positionals_;
  std::vector<std::pair<std::string, std::string>> aliases_;  ///< pairs of older and present name
  std::vector<std::string> inputs_;   ///< names of options with files to read
  std::vector<std::string> outputs_;  ///< names of options with files to write
  std::map<std::string, std::vector<std::string>> choices_;  ///< valid values by name of option
};

/// Throws UserError at an option with a file to write if it was given, and the file could not be
/// written (check_writable): before a command works for long.
void require_output(const Arguments& arguments, const std::string& option);

/// Prints "warning: …" on standard error, unless the text is empty.
void print_warning(const std::string& text);

/// Location of an option's value, for messages: "--channels".
[[nodiscard]] SourceLocation argument_location(const std::string& name);

/// Throws the error as a mistake in an option: "--cost-model: unknown cost model …". If `value`,
/// the option's value, is a file and the message begins with a place in it, the message stays as it
/// is.
[[noreturn]] void throw_at(const SourceLocation& option, const std::string& value,
                           const UserError& error);

/// Runs an action that reads an option's value; its UserErrors are mistakes in the option
/// (throw_at).
template <class Action>
auto at_option(const std::string& name, const std::string& value, const Action& action) {
  try {
    return action();
  } catch (const UserError& error) {
    throw_at(argument_location(name), value, error);
  }
}

}  // namespace cclgym
