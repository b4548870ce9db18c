#include "core/tasks/peers.hpp"

#include <cerrno>
#include <poll.h>
#include <system_error>
#include <utility>

namespace cclgym {

LocalPeers::LocalPeers(const std::function<Task()>& make_task, const TaskHost::Setup& setup,
                       const std::string& common)
    : workers_(setup.simulators), host_(make_task, setup) {
  host_.begin({.number = 1, .common = common});
}

void LocalPeers::send(std::size_t /*peer*/, std::vector<TaskOrder> tasks) {
  host_.submit(std::move(tasks));
}

std::vector<PeerEvent> LocalPeers::wait() {
  std::vector<pollfd> polled;
  host_.add_polled(polled);
  if (::poll(polled.data(), polled.size(), host_.wait_ms()) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  std::vector<PeerEvent> events;
  events.push_back({.peer = 0, .kind = PeerEvent::Kind::Replies, .replies = host_.collect()});
  return events;
}

}  // namespace cclgym
