// The program: finds the subcommand and turns what it throws into a message and an exit code.
#include <cstdio>
#include <exception>
#include <fmt/core.h>

#include "calibration/cuda/cuda_build.hpp"
#include "cli/command.hpp"
#include "core/error.hpp"
#include "experiments/version.hpp"
#include "sim/engine.hpp"

namespace cclgym {
namespace {

constexpr int kUsageError = 2;
constexpr int kStalled = 3;
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all{
      &run_command(),      &report_command(),   &simulate_command(),  &describe_command(),
      &list_command(),     &compile_command(),  &verify_command(),    &tune_dispatch_command(),
      &fit_command(),      &compare_command(),  &calibrate_command(), &train_command(),
      &evaluate_command(), &validate_command(), &export_command(),    &deploy_command()};
  return all;
}

std::string help() {
  std::string text =
      "cclgym: simulates GPU collective communication on cluster fabrics\n\n"
      "Usage: cclgym COMMAND [arguments]\n\nCommands:\n";
  for (const Command* command : commands()) {
    text += fmt::format("  {:<15}{}\n", command->name, command->summary);
  }
  text +=
      "\n  cclgym COMMAND --help  explains a command, with examples\n"
      "  cclgym --version       prints the version and what is built in\n";
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

int run_program(const std::vector<std::string>& args) {
  if (args.empty()) {
    fmt::print(stderr, "{}", help());
    return kUsageError;
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    fmt::print("{}", help());
    return 0;
  }
  if (name == "--version") {
    fmt::print("{}", version());
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

}  // namespace
}  // namespace cclgym

int main(int argc, char** argv) {
  try {
    const int code = cclgym::run_program({argv + (argc > 0 ? 1 : 0), argv + argc});
    // What could not be written (a full disk, say) must not look like success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw cclgym::UserError("standard output cannot be written");
    }
    return code;
  } catch (const cclgym::UserError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return cclgym::kUsageError;
  } catch (const cclgym::SimulationStalled& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return cclgym::kStalled;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return cclgym::kInternalError;
  }
}
