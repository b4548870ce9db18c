// A subcommand of the program, and how its arguments are read.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/options/option.hpp"

namespace cclgym {

struct Command {
  std::string name;      ///< as typed: "run"
  std::string summary;   ///< one line for `cclgym --help`
  std::string usage;     ///< what follows the name: "FILE [options]"
  std::string examples;  ///< command lines with what they do, for `cclgym NAME --help`
  /// Carries the command out. `args` is what follows the name. Returns the exit code.
  std::function<int(const std::vector<std::string>& args)> run;
};

// The subcommands, each in the file of its name.
[[nodiscard]] const Command& run_command();
[[nodiscard]] const Command& report_command();
[[nodiscard]] const Command& simulate_command();
[[nodiscard]] const Command& describe_command();
[[nodiscard]] const Command& list_command();
[[nodiscard]] const Command& compile_command();
[[nodiscard]] const Command& verify_command();
[[nodiscard]] const Command& tune_dispatch_command();
[[nodiscard]] const Command& fit_command();
[[nodiscard]] const Command& compare_command();
[[nodiscard]] const Command& calibrate_command();
[[nodiscard]] const Command& train_command();
[[nodiscard]] const Command& validate_command();
[[nodiscard]] const Command& evaluate_command();
[[nodiscard]] const Command& export_command();
[[nodiscard]] const Command& deploy_command();

/// The options of a command, read. Values are texts; numbers and quantities are read from them
/// through their records, e.g. read_integer(text, spec, argument_location("channels")).
class Arguments {
 public:
  explicit Arguments(boost::program_options::variables_map values) : values_(std::move(values)) {}
  /// Was the option given?
  [[nodiscard]] bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// The text of an option that was given or has a default.
  [[nodiscard]] const std::string& text(const std::string& name) const {
    return values_[name].as<std::string>();
  }

 private:
  boost::program_options::variables_map values_;
};

/// Declares the options of a command and reads its arguments. --help is added to all of them.
class ArgumentReader {
 public:
  explicit ArgumentReader(const Command& command);

  /// "--name VALUE", with the help line of the record; its default is only shown, not set. The
  /// record's aliases are accepted, but not shown.
  ArgumentReader& option(const OptionSpec& spec, const std::string& value_name);
  /// The same with a help line of its own.
  ArgumentReader& option(const std::string& name, const std::string& value_name,
                         const std::string& help);
  /// "--name FILE", a file that the command reads.
  ArgumentReader& input(const std::string& name, const std::string& value_name,
                        const std::string& help);
  /// "--name FILE", a file that the command writes. read() refuses one that is also an input, a
  /// positional argument or another output: what a command reads is not lost to what it writes.
  ArgumentReader& output(const std::string& name, const std::string& value_name,
                         const std::string& help);
  /// "--name" without a value.
  ArgumentReader& flag(const std::string& name, const std::string& help);
  /// The next positional argument; it must be given unless `required` is false.
  ArgumentReader& positional(const std::string& name, const std::string& help,
                             bool required = true);

  /// Prints the command's help and returns nullopt if --help is among the arguments. Throws
  /// UserError on an unknown option (naming the nearest), a missing value or positional argument,
  /// an option given twice or empty, too many arguments, or an output that is another argument's
  /// file.
  [[nodiscard]] std::optional<Arguments> read(const std::vector<std::string>& args) const;

  /// The names of all arguments and options but these, for commands that have modes.
  [[nodiscard]] std::vector<std::string> names_besides(const std::vector<std::string>& left) const;

 private:
  struct Positional {
    std::string name;
    std::string help;
    bool required;
  };
  [[nodiscard]] std::string help() const;
  void check_outputs(const boost::program_options::variables_map& values) const;

  const Command& command_;
  boost::program_options::options_description options_;
  std::vector<Positional> positionals_;
  std::vector<std::pair<std::string, std::string>> aliases_;  ///< older name, name
  std::vector<std::string> inputs_;   ///< names of options that name files to read
  std::vector<std::string> outputs_;  ///< and files to write
};

/// Prints "warning: …" on standard error, unless the text is empty.
void print_warning(const std::string& text);

/// Where the value of an option came from, for messages: "--channels".
[[nodiscard]] SourceLocation argument_location(const std::string& name);

}  // namespace cclgym
