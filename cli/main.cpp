// The program: finds the subcommand, and turns its exceptions into a message and an exit code.
#include <exception>
#include <fmt/core.h>

#include "calibration/cuda/cuda_build.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/error.hpp"
#include "core/version.hpp"
#include "sim/engine/engine.hpp"

namespace cclgym {
namespace {

constexpr int kOutputLost = 1;
constexpr int kUsageError = 2;
constexpr int kStalled = 3;
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all{
      &run_command(),           &report_command(),     &simulate_command(),
      &describe_command(),      &list_command(),       &compile_command(),
      &verify_command(),        &synthesize_command(), &check_certificate_command(),
      &tune_dispatch_command(), &fit_command(),        &compare_command(),
      &calibrate_command(),     &train_command(),      &evaluate_command(),
      &validate_command(),      &export_command(),     &deploy_command()};
  return all;
}

std::string help() {
  std::string text =
      "cclgym simulates GPU collective communication on cluster fabrics\n\n"
      "Usage: cclgym COMMAND [arguments]\n\nCommands:\n";
  for (const Command* command : commands()) {
    text += fmt::format("  {:<18}{}\n", command->name, command->summary);
  }
  text +=
      "\n  cclgym COMMAND --help  explain a command, with examples\n"
      "  cclgym --version       print the version and the built-in libraries\n\n"
      "Exit codes: 0 done; 1 standard output cannot be written, `verify` found a program wrong, "
      "or\n"
      "`synthesize` found none; 2 a mistake in the input; 3 a simulation stalled; 70 a fault of\n"
      "cclgym itself; 130 Ctrl-C\n";
  return text;
}

std::string version() {
  std::string text = fmt::format("cclgym {}\n", program_version());
  for (const EngineInfo& engine : engine_infos()) {
    text += fmt::format("engine {}: {}\n", engine.name, engine.description);
  }
  text += fmt::format("libraries: {}, {}\ncompiler: {}\nbuild type: {}\n", CCLGYM_LIBRARIES,
                      cuda_build_text(), CCLGYM_COMPILER, CCLGYM_BUILD_TYPE);
  return text;
}

// Writes without formatting, which could throw.
void tell(const char* kind, const char* message) noexcept {
  write_to_standard_error(kind);
  write_to_standard_error(message);
  write_to_standard_error("\n");
}

int run_program(const std::vector<std::string>& args) {
  if (args.empty()) {
    print_error("{}", help());
    return kUsageError;
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_out("{}", help());
    return 0;
  }
  if (name == "--version") {
    print_out("{}", version());
    return 0;
  }
  std::vector<std::string> names;
  for (const Command* command : commands()) {
    if (command->name == name) return command->run({args.begin() + 1, args.end()});
    names.push_back(command->name);
  }
  if (name.starts_with("-")) {
    throw UserError(unknown_name_message("option", name, {"--help", "--version"}));
  }
  throw UserError(unknown_name_message("command", name, names));
}

// Returns the exit code, and reports an exception on standard error.
int guarded_run(const std::vector<std::string>& args) noexcept {
  try {
    return run_program(args);
  } catch (const UserError& error) {
    tell("error: ", error.what());
    return kUsageError;
  } catch (const SimulationStalled& error) {
    tell("error: ", error.what());
    return kStalled;
  } catch (const std::exception& error) {
    tell("internal error: ", error.what());
  } catch (...) {
    tell("internal error: ", "something was thrown that is not an exception");
  }
  return kInternalError;
}

}  // namespace
}  // namespace cclgym

int main(int argc, char** argv) {
  cclgym::open_closed_standard_streams();
  cclgym::keep_running_without_readers();
  const int code = cclgym::guarded_run({argv + (argc > 0 ? 1 : 0), argv + argc});
  // Lost output (a full disk, say) must not look like success.
  if (!cclgym::standard_output_lost()) return code;
  // A reader that closed the pipe needs no message.
  if (!cclgym::standard_output_unread()) {
    cclgym::tell("error: ", "standard output cannot be written");
  }
  return code == 0 ? cclgym::kOutputLost : code;
}
