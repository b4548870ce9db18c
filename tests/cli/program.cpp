#include "program.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "../experiments/temporary_folder.hpp"

namespace cclgym::test {

namespace {

// In a child process: becomes the program. Never returns.
[[noreturn]] void become_program(const std::vector<std::string>& args, const std::string& folder,
                                 const std::string& out, const std::string& err) {
  const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int to_err = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(to_out, STDOUT_FILENO);
  ::dup2(to_err, STDERR_FILENO);
  const std::string program = CCLGYM_BINARY_DIR "/cclgym";
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execv(program.c_str(), argv.data());
  ::_exit(127);
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
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, to.empty() ? read_file(out) : "",
          read_file(err)};
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

}  // namespace cclgym::test
