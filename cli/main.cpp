// The program: finds the subcommand, and turns its exceptions into a message and an exit code.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/core.h>
#include <new>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "calibration/cuda/cuda_build.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "cli/support/torch_program.hpp"
#include "core/error.hpp"
#include "core/files/companion_library.hpp"
#include "core/limits/resource_error.hpp"
#include "core/ranks/launch.hpp"
#include "core/version.hpp"
#include "sim/engine/engine.hpp"

namespace cclgym {
namespace {

constexpr int kOutputLost = 1;
constexpr int kNoResources = 1;
// Time in which rank 0 prints its message and ends all ranks.
constexpr std::chrono::seconds kTimeOfRankZero{2};
constexpr int kUsageError = 2;
constexpr int kStalled = 3;
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h; also for WorkLost

std::string help() {
  std::string text =
      "cclgym simulates GPU collective communication on cluster fabrics\n\n"
      "Usage: cclgym COMMAND [arguments]\n\nCommands:\n";
  for (const Command* command : all_commands()) {
    if (command->hidden) continue;
    text += fmt::format("  {:<18}{}\n", command->name, command->summary);
  }
  text +=
      "\n  cclgym help COMMAND  explain a command, with examples; also: cclgym COMMAND --help\n"
      "  cclgym version       print the version and the built-in libraries\n\n"
      "Exit codes: 0 done; 1 not enough memory or room for files, standard output cannot be "
      "written,\n"
      "`verify` found a program wrong, or `synthesize` found none; 2 a mistake in the input; 3 a\n"
      "simulation stalled; 70 a fault of cclgym itself, or processes that died; 130 Ctrl-C\n";
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

bool asks_for_help(const std::string& arg) { return arg == "--help" || arg == "-h"; }

// `cclgym help COMMAND [BACKEND]` means `cclgym COMMAND [BACKEND] --help`.
std::vector<std::string> in_command_order(const std::vector<std::string>& args) {
  if (args.size() < 2 || args.front() != "help" || asks_for_help(args[1])) return args;
  std::vector<std::string> turned(args.begin() + 1, args.end());
  turned.emplace_back("--help");
  return turned;
}

int run_program(const std::vector<std::string>& args, TaskPlace* place) {
  if (args.empty()) {
    print_error("{}", help());
    return kUsageError;
  }
  const std::string& name = args.front();
  if (asks_for_help(name) || name == "help") {
    print_out("{}", help());
    return 0;
  }
  if (name == "--version" || name == "version") {
    print_out("{}", version());
    return 0;
  }
  std::vector<std::string> names;
  for (const Command* command : all_commands()) {
    if (command->name == name) {
      const std::vector<std::string> rest(args.begin() + 1, args.end());
      return command->run_in ? command->run_in(rest, place) : command->run(rest);
    }
    if (!command->hidden) names.push_back(command->name);
  }
  if (name.starts_with("-")) {
    throw UserError(unknown_name_message("option", name, {"--help", "--version"}));
  }
  throw UserError(unknown_name_message("command", name, names));
}

// Returns the exit code, and reports an exception on standard error.
int guarded_run(const std::vector<std::string>& args, TaskPlace* place = nullptr) noexcept {
  try {
    return run_program(args, place);
  } catch (const ResourceError& error) {
    tell("error: ", error.what());
    return kNoResources;
  } catch (const UserError& error) {
    tell("error: ", error.what());
    return kUsageError;
  } catch (const LibraryMissing& error) {
    tell("error: ", error.what());
    return kUsageError;
  } catch (const std::bad_alloc&) {
    tell("error: ", kOutOfMemory);
    return kNoResources;
  } catch (const SimulationStalled& error) {
    tell("error: ", error.what());
    return kStalled;
  } catch (const WorkLost& error) {
    tell("error: ", error.what());
  } catch (const std::exception& error) {
    tell("internal error: ", error.what());
  } catch (...) {
    tell("internal error: ", "something was thrown that is not an exception");
  }
  return kInternalError;
}

const Command* command_of(const std::vector<std::string>& args) {
  if (args.empty()) return nullptr;
  for (const Command* command : all_commands()) {
    if (command->name == args.front()) return command;
  }
  return nullptr;
}

// Runs the command on all ranks that a launcher started, or refuses to; only rank 0 prints.
int run_launched(const LaunchedRank& launched, const std::vector<std::string>& args) noexcept {
  const bool first = launched.rank == 0;
  try {
    const Command* const command = command_of(args);
    const bool help = std::ranges::any_of(args, asks_for_help);
    if (first && (command == nullptr || help)) return guarded_run(args);
    if (help) return 0;
    // A rank that leaves with 0 would let others wait for it, if they run another command; one that
    // leaves with an error ends them, so rank 0 gets time for its message.
    if (command != nullptr && command->run_in) {
      // The program with LibTorch replaces this one before a host is forked and MPI starts.
      if (!command->torch_for.empty()) {
        need_torch(command->name, {args.begin() + 1, args.end()}, command->torch_for);
      }
      return run_on_ranks(args, [&args](TaskPlace* place) { return guarded_run(args, place); });
    }
    if (!first) std::this_thread::sleep_for(kTimeOfRankZero);
    if (command == nullptr) return kUsageError;
    print_error(
        "error: cclgym {} runs in one process, but {} ranks were started; start it "
        "without mpirun\n",
        command->name, launched.ranks);
    return kUsageError;
  } catch (const std::bad_alloc&) {
    tell("error: ", kOutOfMemory);
    return kNoResources;
  } catch (const UserError& error) {
    if (first) tell("error: ", error.what());
    return first ? kUsageError : 0;
  } catch (const std::exception& error) {
    tell("internal error: ", error.what());
  }
  return kInternalError;
}

int run_here_or_on_ranks(const std::vector<std::string>& given) noexcept {
  const std::vector<std::string> args = in_command_order(given);
  const std::optional<LaunchedRank> launched = launched_rank();
  return launched ? run_launched(*launched, args) : guarded_run(args);
}

// OpenBLAS, which a solver and LibTorch link, starts threads when it is loaded, in cclgym-train
// before main() begins. If a limit on addresses refuses their buffers, they ask again for ever, and
// a fork waits for them. With one thread it starts none.
void start_without_blas_threads(char** argv) {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  const auto limited = [](auto resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  if (std::getenv(kThreads) != nullptr || (!limited(RLIMIT_AS) && !limited(RLIMIT_DATA))) return;
  if (::setenv(kThreads, "1", 1) == 0) ::execv("/proc/self/exe", argv);
  // Without /proc the program goes on as it is.
}

}  // namespace
}  // namespace cclgym

int main(int argc, char** argv) {
  cclgym::start_without_blas_threads(argv);
  cclgym::open_closed_standard_streams();
  cclgym::keep_running_without_readers();
  // A file beyond `ulimit -f` is an error of its write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const int code = cclgym::run_here_or_on_ranks({argv + (argc > 0 ? 1 : 0), argv + argc});
  if (code == cclgym::kNoResources) {
    // Without memory the end of libraries may never come: OpenBLAS waits for threads that it could
    // not start.
    std::fflush(nullptr);
    ::_exit(code);
  }
  // Lost output (a full disk, say) must not look like success.
  if (!cclgym::standard_output_lost()) return code;
  // A reader that closed the pipe needs no message.
  if (!cclgym::standard_output_unread()) {
    cclgym::tell("error: ", "standard output cannot be written");
  }
  return code == 0 ? cclgym::kOutputLost : code;
}
