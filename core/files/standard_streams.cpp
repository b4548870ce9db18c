#include "core/files/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

namespace cclgym {

namespace {

void write_to(std::FILE* stream, std::string_view text) noexcept {
  [[maybe_unused]] const std::size_t ignored = std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

void open_closed_standard_streams() noexcept {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free number, which is this one. Without /dev a folder serves: it
    // can be neither read nor written. Output must not seem to be written (standard_output_lost).
    if (::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0) {
      [[maybe_unused]] const int ignored = ::open("/", O_RDONLY | O_DIRECTORY);
    }
  }
}

void keep_running_without_readers() noexcept {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) {};
  action.sa_flags = SA_RESTART;
  [[maybe_unused]] const int ignored = ::sigaction(SIGPIPE, &action, nullptr);
}

void write_to_standard_output(std::string_view text) noexcept { write_to(stdout, text); }

void write_to_standard_error(std::string_view text) noexcept { write_to(stderr, text); }

bool standard_output_unread() noexcept {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool standard_output_lost() noexcept {
  return std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
}

bool standard_error_redraws() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace cclgym
