// Checks that the start of a job never waits for a file that an environment variable names, nor for
// a large file.
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "deploy/runtime/policy_runtime.h"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPatience_s = 600;  // only a hang takes so long

// Runs `work` in a child process, which is killed if it waits. Returns its exit code, or the
// negative signal number.
int in_a_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kPatience_s);
    // Reading an oversized file to its end would exceed this limit. (Sanitizers map more.)
    const rlimit memory{std::size_t{4} << 30, std::size_t{4} << 30};
    if (!kSanitized) (void)::setrlimit(RLIMIT_AS, &memory);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

struct Bad {
  std::string path;
  std::string message;
};

// Paths that are not readable files; they are made in a folder or exist on any Linux.
std::vector<Bad> bad_files(const TemporaryFolder& folder) {
  const std::string kind = ": not a regular file";
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "link");
  fs::create_directory(folder / "folder");
  fs::create_symlink("loop", folder / "loop");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  ::close(listener);
  // A sparse file needs no space on disk, but reading it would need a terabyte of memory.
  const int huge = ::open((folder / "huge").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(::ftruncate(huge, off_t{1} << 40) == 0);
  ::close(huge);
  std::vector<Bad> bad{{folder / "pipe", kind},
                       {folder / "link", kind},
                       {folder / "socket", kind},
                       {folder / "folder", " is a folder"},
                       {folder / "loop", ": cannot be opened"},
                       {folder / "huge", ": too large; expected at most "},
                       {"/dev/zero", kind},
                       {"/dev/null", kind},
                       {"/dev/tty", kind},
                       {"/dev/fd/0", kind}};
  // The kernel's log, if present, is a file without a size, and its readers wait.
  if (fs::exists("/proc/kmsg") && ::access("/proc/kmsg", R_OK) == 0) {
    bad.push_back({"/proc/kmsg", "/proc/kmsg"});
  }
  return bad;
}

TEST_CASE("the tuner refuses what is no file at once, and NCCL chooses", "[deploy][waiting]") {
  const TemporaryFolder folder;
  const Plugin plugin;
  for (const Bad& bad : bad_files(folder)) {
    for (const char* const name : {"CCLGYM_POLICY", "CCLGYM_TUNER_CSV", "CCLGYM_TUNER_CONSTANTS"}) {
      INFO(name << "=" << bad.path);
      // A table without lines is empty and has no choices.
      const bool may_be_empty = bad.path == "/proc/kmsg" && name != std::string("CCLGYM_POLICY");
      CHECK(in_a_child([&] {
              int ends[2];
              if (::pipe(ends) != 0 || ::dup2(ends[0], STDIN_FILENO) != 0) return false;
              const Variable variable(name, bad.path);
              clear_lines();
              cclgym_nccl_constants constants{};
              const AnyTuner tuner(plugin, 6, 8, 1, record_line, &constants);
              if (tuner.status() != CCLGYM_NCCL_SUCCESS) return false;
              const auto lines = recorded_lines();
              if (may_be_empty) return true;
              return lines.size() == 1 && lines[0].starts_with("WARN ") &&
                     lines[0].find(bad.message) != std::string::npos &&
                     lines[0].ends_with(": NCCL's own choices stay");
            }) == 0);
    }
  }
}

TEST_CASE("the runtime in C refuses what is no file at once", "[deploy][waiting]") {
  const TemporaryFolder folder;
  for (const Bad& bad : bad_files(folder)) {
    INFO(bad.path);
    CHECK(in_a_child([&] {
            int ends[2];
            if (::pipe(ends) != 0 || ::dup2(ends[0], STDIN_FILENO) != 0) return false;
            cclgym_policy* policy = nullptr;
            char error[500] = "";
            return cclgym_policy_load(bad.path.c_str(), &policy, error, sizeof error) ==
                       CCLGYM_POLICY_BAD_FILE &&
                   policy == nullptr && std::string(error).find(bad.message) != std::string::npos;
          }) == 0);
  }
}

TEST_CASE("the profiler writes to regular files alone", "[deploy][waiting]") {
  const TemporaryFolder folder;
  const Plugin plugin;
  const auto& table = *plugin.table<cclgym_nccl_profiler>("ncclProfiler_v6");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const std::string& path :
       {folder / "pipe", std::string("/dev/full"), std::string("/dev/null")}) {
    INFO(path);
    CHECK(in_a_child([&] {
            const Variable variable("CCLGYM_PROFILE", path);
            clear_lines();
            void* context = nullptr;
            int mask = -1;
            const int status = table.init(&context, 1, &mask, "", 1, 8, 0, record_line);
            const auto lines = recorded_lines();
            return status == CCLGYM_NCCL_SUCCESS && context == nullptr && mask == 0 &&
                   lines.size() == 1 && lines[0].find("not a regular file") != std::string::npos;
          }) == 0);
  }
}

}  // namespace
}  // namespace cclgym::test
