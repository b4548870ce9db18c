#include "core/tasks/wire.hpp"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace cclgym {

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool send_some(int socket, std::string& bytes) {
  std::size_t done = 0;
  bool open = true;
  while (done < bytes.size()) {
    const ssize_t sent =
        ::send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      open = errno == EAGAIN || errno == EWOULDBLOCK;
      break;
    }
    done += static_cast<std::size_t>(sent);
  }
  bytes.erase(0, done);
  return open;
}

bool receive_some(int socket, std::string& bytes) {
  std::array<char, 65536> part{};
  while (true) {
    const ssize_t got = ::recv(socket, part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (got == 0) return false;
    bytes.append(part.data(), static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < part.size()) return true;
  }
}

std::optional<std::string> receive_text(int socket, std::string& inbox) {
  while (true) {
    std::string_view bytes = inbox;
    if (std::optional<std::string> text = get_text(bytes)) {
      inbox.erase(0, inbox.size() - bytes.size());
      return text;
    }
    pollfd polled{socket, POLLIN, 0};
    if (::poll(&polled, 1, -1) < 0 && errno != EINTR) return std::nullopt;
    if (!receive_some(socket, inbox)) return std::nullopt;
  }
}

}  // namespace cclgym
