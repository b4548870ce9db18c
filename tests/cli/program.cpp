#include "cli/program.hpp"

#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {

namespace {

// Becomes the program, in a child process whose streams are prepared. Never returns.
[[noreturn]] void execute(const std::string& program, const std::vector<std::string>& args,
                          const std::string& folder) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

const std::string kProgram = build_path("cclgym");

// Becomes cclgym, with files for output and errors. Never returns.
[[noreturn]] void become_program(const std::vector<std::string>& args, const std::string& folder,
                                 const std::string& out, const std::string& err) {
  const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(to_out, STDOUT_FILENO);
  ::dup2(to_err, STDERR_FILENO);
  execute(kProgram, args, folder);
}

int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

Ended run_program(const std::vector<std::string>& args, const std::string& folder,
                  const std::string& to) {
  const TemporaryFolder outputs;
  const std::string out = to.empty() ? outputs / "out" : to;
  const std::string err = outputs / "err";
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become_program(args, folder, out, err);
  const Ended ended{exit_code(child), to.empty() ? read_file(out) : "", read_file(err)};
  // A check of the code alone would not say why the program failed.
  if (ended.code != 0) UNSCOPED_INFO("cclgym wrote: " << ended.err);
  return ended;
}

Ended run_with_streams(const std::vector<std::string>& args, const std::string& folder,
                       const std::array<Stream, 3>& streams, const std::string& program) {
  const TemporaryFolder outputs;
  const std::array<std::string, 3> kept{"/dev/null", outputs / "out", outputs / "err"};
  write_file(kept[1], "");
  write_file(kept[2], "");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    for (int stream = 0; stream < 3; ++stream) {
      const Stream wanted = streams[static_cast<std::size_t>(stream)];
      if (wanted == Stream::Unread) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) ::_exit(127);
        ::close(ends[0]);
        ::dup2(ends[1], stream);
        if (ends[1] > STDERR_FILENO) ::close(ends[1]);
        continue;
      }
      const char* const path =
          wanted == Stream::Full ? "/dev/full" : kept[static_cast<std::size_t>(stream)].c_str();
      const int file = ::open(path, stream == 0 ? O_RDONLY : O_WRONLY);
      ::dup2(file, stream);
      if (file > STDERR_FILENO) ::close(file);
    }
    for (int stream = 0; stream < 3; ++stream) {
      if (streams[static_cast<std::size_t>(stream)] == Stream::Closed) ::close(stream);
    }
    execute(program.empty() ? kProgram : program, args, folder);
  }
  const int code = exit_code(child);
  return {code, read_file(kept[1]), read_file(kept[2])};
}

pid_t start_program(const std::vector<std::string>& args, const std::string& err) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::setpgid(0, 0);
    become_program(args, ".", "/dev/null", err);
  }
  return child;
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

void wait_for_group(pid_t program) {
  REQUIRE(comes_true([program] { return ::kill(-program, 0) != 0; }));
}

}  // namespace cclgym::test
