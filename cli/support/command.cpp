#include "cli/support/command.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>

#include "cli/support/help_layout.hpp"
#include "cli/support/print.hpp"
#include "core/files/writable.hpp"
#include "core/split.hpp"

namespace cclgym {

namespace po = boost::program_options;

namespace {

// One message per kind of command-line error.
[[noreturn]] void refuse(const po::error& error, const po::options_description& options) {
  if (const auto* unknown = dynamic_cast<const po::unknown_option*>(&error)) {
    std::vector<std::string> names;
    for (const auto& option : options.options()) names.push_back("--" + option->long_name());
    throw UserError(unknown_name_message("option", unknown->get_option_name(), names));
  }
  if (const auto* twice = dynamic_cast<const po::multiple_occurrences*>(&error)) {
    throw UserError(twice->get_option_name() + " is given more than once");
  }
  throw UserError(error.what());
}

// True if two paths lead to the same regular file, or would if it existed. Devices may be read and
// written at once.
bool is_one_file(const std::string& one, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (one.empty() || other.empty() || one.find('\0') != std::string::npos ||
      other.find('\0') != std::string::npos) {
    return false;
  }
  if (fs::exists(one, error) || fs::exists(other, error)) {
    return fs::is_regular_file(one, error) && fs::equivalent(one, other, error);
  }
  return fs::weakly_canonical(fs::absolute(one), error) ==
         fs::weakly_canonical(fs::absolute(other), error);
}

// An option as in the help: "-o, --out FILE".
std::string shown_name(const po::option_description& option) {
  const std::string first =
      option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  const std::string value = option.format_parameter();
  return fmt::format("{}--{}{}", first.starts_with('-') ? first + ", " : "", option.long_name(),
                     value.empty() ? "" : " " + value);
}

// The last argument of a command that is asked for its records. No user can type it, because it
// has a zero byte.
const std::string kRecordsRequest("-\0records", 9);

// Ends a command that was asked for its records.
struct RecordsAnswer {
  std::vector<ArgumentRecord> records;
};

// Texts of an argument, which has several only if it is repeated.
std::vector<std::string> texts_of(const po::variable_value& value) {
  if (const auto* texts = boost::any_cast<std::vector<std::string>>(&value.value())) return *texts;
  return {value.as<std::string>()};
}

}  // namespace

const std::string& Arguments::required(const std::string& name) const {
  if (has(name)) return text(name);
  throw UserError(fmt::format("--{} is missing; see cclgym {} --help", name, command_));
}

std::vector<std::string> Arguments::names(const std::string& name) const {
  std::vector<std::string> names;
  if (!has(name)) return names;
  for (const std::string_view one : split(text(name), ',')) {
    if (one.empty()) {
      throw UserError(argument_location(name),
                      fmt::format("found an empty name in {}; expected names, separated by commas",
                                  quoted(text(name), 200)));
    }
    if (std::ranges::find(names, one) != names.end()) {
      throw UserError(argument_location(name),
                      fmt::format("names {} twice", quoted(std::string(one), 200)));
    }
    names.emplace_back(one);
  }
  return names;
}

const std::string& Arguments::choice(const OptionSpec& spec) const {
  return spec.choices[read_choice(text_or_default(spec), spec, argument_location(spec.name))];
}

const std::string& Arguments::text_or_default(const OptionSpec& spec) const {
  return has(spec.name) ? text(spec.name) : spec.default_text;
}

std::int64_t Arguments::integer(const OptionSpec& spec) const {
  return read_integer(text_or_default(spec), spec, argument_location(spec.name));
}

ArgumentReader::ArgumentReader(const Command& command) : command_(command) {}

ArgumentReader& ArgumentReader::option(const OptionSpec& spec, const std::string& value_name) {
  for (const std::string& alias : spec.aliases) aliases_.emplace_back(alias, spec.name);
  if (!spec.choices.empty()) choices_[spec.name] = spec.choices;
  return option(spec.name, value_name, help_text(spec));
}

ArgumentReader& ArgumentReader::option(const std::string& name, const std::string& value_name,
                                       const std::string& help) {
  options_.add_options()(name.c_str(), po::value<std::string>()->value_name(value_name),
                         help.c_str());
  return *this;
}

ArgumentReader& ArgumentReader::input(const std::string& name, const std::string& value_name,
                                      const std::string& help) {
  inputs_.push_back(name);
  return option(name, value_name, help);
}

ArgumentReader& ArgumentReader::output(const std::string& name, const std::string& value_name,
                                       const std::string& help) {
  outputs_.push_back(name.substr(0, name.find(',')));
  return option(name, value_name, help);
}

ArgumentReader& ArgumentReader::flag(const std::string& name, const std::string& help) {
  options_.add_options()(name.c_str(), help.c_str());
  return *this;
}

ArgumentReader& ArgumentReader::positional(const std::string& name, const std::string& help,
                                           bool required) {
  positionals_.push_back({name, help, required});
  return *this;
}

ArgumentReader& ArgumentReader::repeated(const std::string& name, const std::string& help) {
  positionals_.push_back({.name = name, .help = help, .required = true, .repeated = true});
  return *this;
}

std::optional<Arguments> ArgumentReader::read(const std::vector<std::string>& args) const {
  if (!args.empty() && args.back() == kRecordsRequest) throw RecordsAnswer{records()};
  po::options_description shown(options_);
  shown.add_options()("help,h", "this text");
  // Positional arguments are options inside the library; users do not see that.
  po::options_description all;
  all.add(shown);
  po::positional_options_description order;
  for (const Positional& positional : positionals_) {
    if (positional.repeated) {
      all.add_options()(positional.name.c_str(), po::value<std::vector<std::string>>());
    } else {
      all.add_options()(positional.name.c_str(), po::value<std::string>());
    }
    order.add(positional.name.c_str(), positional.repeated ? -1 : 1);
  }
  for (const auto& [alias, name] : aliases_) {
    all.add_options()(alias.c_str(), po::value<std::string>());
  }
  po::variables_map values;
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    auto parsed = po::command_line_parser(args).options(all).positional(order).style(style).run();
    for (const auto& [alias, name] : aliases_) {
      const auto given = [&](const std::string& key) {
        return std::ranges::find(parsed.options, key, &po::option::string_key) !=
               parsed.options.end();
      };
      if (!given(alias) || !given(name)) continue;
      throw UserError(
          fmt::format("--{} and --{} are two names of one option, and both are given; "
                      "leave --{} out",
                      name, alias, alias));
    }
    for (auto& option : parsed.options) {
      for (const auto& [alias, name] : aliases_) {
        if (option.string_key == alias) option.string_key = name;
      }
      // A positional argument must not be given by its internal name.
      const bool inner = std::any_of(
          positionals_.begin(), positionals_.end(),
          [&](const Positional& positional) { return positional.name == option.string_key; });
      if (inner && option.position_key < 0) throw po::unknown_option("--" + option.string_key);
    }
    po::store(parsed, values);
    po::notify(values);
  } catch (const po::too_many_positional_options_error&) {
    throw UserError(
        fmt::format("too many arguments; expected: cclgym {} {}", command_.name, command_.usage));
  } catch (const po::error& error) {
    refuse(error, shown);
  }
  if (values.count("help") > 0) {
    print_out("{}", help());
    return std::nullopt;
  }
  for (const Positional& positional : positionals_) {
    if (positional.required && values.count(positional.name) == 0) {
      throw UserError(fmt::format("missing {}; expected: cclgym {} {}", positional.name,
                                  command_.name, command_.usage));
    }
  }
  for (const auto& option : all.options()) {
    const std::string& name = option->long_name();
    // A flag has no value.
    if (option->semantic()->max_tokens() == 0 || values.count(name) == 0) continue;
    const std::vector<std::string> texts = texts_of(values[name]);
    if (std::ranges::find(texts, "") == texts.end()) continue;
    const bool is_positional = std::any_of(positionals_.begin(), positionals_.end(),
                                           [&](const auto& one) { return one.name == name; });
    throw UserError(is_positional ? SourceLocation{.file = name} : argument_location(name),
                    "is empty; expected a value");
  }
  check_outputs(values);
  return Arguments(command_.name, std::move(values));
}

std::vector<std::string> ArgumentReader::names_besides(const std::vector<std::string>& left) const {
  std::vector<std::string> names;
  for (const Positional& positional : positionals_) names.push_back(positional.name);
  for (const auto& option : options_.options()) names.push_back(option->long_name());
  std::erase_if(names, [&](const std::string& name) {
    return std::find(left.begin(), left.end(), name) != left.end();
  });
  return names;
}

void ArgumentReader::check_outputs(const po::variables_map& values) const {
  const auto check = [&](const std::string& output, const std::string& other,
                         const std::string& shown) {
    if (values.count(output) == 0 || values.count(other) == 0) return;
    const std::string& path = values[output].as<std::string>();
    const std::vector<std::string> others = texts_of(values[other]);
    if (std::ranges::none_of(others, [&](const auto& one) { return is_one_file(path, one); })) {
      return;
    }
    throw UserError(argument_location(output), fmt::format("{} is also the file of {}; choose "
                                                           "another",
                                                           quoted(path, 200), shown));
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (values.count(outputs_[i]) > 0 && values[outputs_[i]].as<std::string>() == "-") {
      throw UserError(argument_location(outputs_[i]),
                      "found '-'; expected the name of a file: /dev/stdout is standard output, "
                      "./- a file with this name");
    }
    for (const std::string& input : inputs_) check(outputs_[i], input, "--" + input);
    for (const Positional& input : positionals_) check(outputs_[i], input.name, input.name);
    for (std::size_t k = 0; k < i; ++k) check(outputs_[i], outputs_[k], "--" + outputs_[k]);
  }
}

std::string ArgumentReader::help() const {
  std::vector<HelpEntry> arguments;
  for (const Positional& positional : positionals_) {
    arguments.push_back({positional.name, positional.help});
  }
  std::vector<HelpEntry> options;
  for (const auto& option : options_.options()) {
    options.push_back({shown_name(*option), option->description()});
  }
  options.push_back({"-h, --help", "print this text"});
  const std::size_t column = std::max(help_column(arguments), help_column(options));
  std::string text =
      fmt::format("{}\n\nUsage: cclgym {} {}\n\n{}{}Options:\n{}\nExamples:\n{}", command_.summary,
                  command_.name, command_.usage, help_lines(arguments, column),
                  arguments.empty() ? "" : "\n", help_lines(options, column), command_.examples);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::vector<ArgumentRecord> ArgumentReader::records() const {
  std::vector<ArgumentRecord> all;
  for (const Positional& positional : positionals_) {
    all.push_back({.name = positional.name, .help = positional.help, .positional = true});
  }
  for (const auto& option : options_.options()) {
    const std::string first =
        option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    const auto found = choices_.find(option->long_name());
    all.push_back(
        {.name = option->long_name(),
         .short_name = first.starts_with('-') ? first.substr(1) : "",
         .value_name = option->format_parameter(),
         .help = option->description(),
         .choices = found == choices_.end() ? std::vector<std::string>{} : found->second});
  }
  return all;
}

std::vector<ArgumentRecord> argument_records(const Command& command) {
  std::vector<std::vector<std::string>> modes = command.modes;
  modes.insert(modes.begin(), std::vector<std::string>{});
  std::vector<ArgumentRecord> all;
  for (std::vector<std::string>& args : modes) {
    args.push_back(kRecordsRequest);
    try {
      (void)(command.run_in ? command.run_in(args, nullptr) : command.run(args));
    } catch (const RecordsAnswer& answer) {
      for (const ArgumentRecord& record : answer.records) {
        const bool known = std::ranges::find(all, record.name, &ArgumentRecord::name) != all.end();
        if (!known) all.push_back(record);
      }
    }
  }
  all.push_back({.name = "help", .short_name = "h", .help = "print this text"});
  return all;
}

void require_output(const Arguments& arguments, const std::string& option) {
  if (!arguments.has(option)) return;
  const std::string& path = arguments.text(option);
  at_option(option, path, [&] { check_writable(path); });
}

void print_warning(const std::string& text) {
  if (!text.empty()) print_error("warning: {}\n", text);
}

SourceLocation argument_location(const std::string& name) { return {.file = "--" + name}; }

void throw_at(const SourceLocation& option, const std::string& value, const UserError& error) {
  const std::string message = error.what();
  if (message.starts_with(value + ":")) throw UserError(message);
  throw UserError(option, message);
}

}  // namespace cclgym
