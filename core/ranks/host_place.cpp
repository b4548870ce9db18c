#include "core/ranks/host_place.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/files/companion_library.hpp"
#include "core/limits/resource_error.hpp"
#include "core/ranks/messages.hpp"
#include "core/tasks/task_host.hpp"
#include "core/tasks/wire.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

// Message of the error that a command has printed: the text after the last "error: ".
std::string printed_error(int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(file, 0, SEEK_END))), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  const std::size_t begin = text.rfind("error: ");
  if (begin != std::string::npos) text.erase(0, begin + std::string_view("error: ").size());
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

class HostPlace : public TaskPlace {
 public:
  explicit HostPlace(int channel) : channel_(channel) {}

  void send(const std::string& message) const {
    std::string bytes;
    put_text(bytes, message);
    if (!send_all(channel_, bytes)) ::_exit(0);  // the courier is gone
  }

  // A host gives no tasks out, so that it need not know how many there are.
  [[nodiscard]] std::size_t ranks() const override { return 1; }

  void serve(const TaskSet& set, const TaskOptions& options) override {
    const std::optional<std::string> start = receive_text(channel_, inbox_);
    if (!start) ::_exit(0);
    std::string_view parts = *start;
    if (take_kind(parts) != MessageKind::Start) ::_exit(1);
    TaskHost::Setup setup{.simulators = 0,
                          .task_timeout_s = options.task_timeout_s,
                          .stop_timeout_s = options.peer_timeout_s,
                          .cores = {}};
    for (const cpu_set_t& cores : read_start(parts)) {
      setup.cores.insert(setup.cores.end(), options.jobs, cores);
    }
    setup.simulators = setup.cores.size();
    send(hello_message({.version = std::string(program_version()),
                        .identity = set.identity,
                        .simulators = setup.simulators}));
    try {
      serve_tasks(set, setup);
    } catch (const ResourceError& error) {
      send(failed_message({1, error.what()}));
    } catch (const std::bad_alloc&) {
      send(failed_message({1, kOutOfMemory}));
    } catch (const UserError& error) {
      send(failed_message({2, error.what()}));
    } catch (const LibraryMissing& error) {
      send(failed_message({2, error.what()}));
    } catch (const SimulationStalled& error) {
      send(failed_message({3, error.what()}));
    } catch (const std::exception& error) {
      send(failed_message({70, error.what()}));
    }
    ::_exit(0);
  }

  std::unique_ptr<Peers> peers(const TaskSet& /*set*/, const TaskOptions& /*options*/) override {
    throw std::runtime_error("a command gave tasks out without sharing them first");
  }

 private:
  void serve_tasks(const TaskSet& set, const TaskHost::Setup& setup) {
    std::unique_ptr<TaskHost> host;
    TaskRound round;
    while (true) {
      std::vector<pollfd> polled{{channel_, POLLIN, 0}};
      if (host) host->add_polled(polled);
      const int wait_ms = host ? host->wait_ms() : -1;
      if (::poll(polled.data(), polled.size(), wait_ms) < 0 && errno != EINTR) ::_exit(1);
      if (polled[0].revents != 0 && !receive_some(channel_, inbox_)) ::_exit(0);
      std::string_view bytes = inbox_;
      while (const std::optional<std::string> message = get_text(bytes)) {
        std::string_view parts = *message;
        const MessageKind kind = take_kind(parts);
        if (kind == MessageKind::Round) {
          round = read_round(parts);
          if (host) host->begin(round);
        }
        if (kind != MessageKind::Work) continue;
        // Simulators are made for the first task: a run that was complete needs none.
        if (!host) {
          if (set.prepare) set.prepare(setup.simulators);
          host = std::make_unique<TaskHost>(set.make_task, setup);
          host->begin(round);
        }
        host->submit(read_work(parts));
      }
      inbox_.erase(0, inbox_.size() - bytes.size());
      if (!host) continue;
      const std::vector<TaskReply> replies = host->collect();
      if (!replies.empty()) send(replies_message(replies));
    }
  }

  int channel_;
  std::string inbox_;
};

}  // namespace

void run_as_host(int channel, pid_t courier, const std::function<int(TaskPlace*)>& command) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != courier) ::_exit(1);
  // Rank 0 alone prints. Messages of errors are kept for it.
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int errors = ::memfd_create("errors", MFD_CLOEXEC);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  HostPlace place(channel);
  const int code = command(&place);
  place.send(failed_message({code, printed_error(errors)}));
  ::_exit(0);
}

}  // namespace cclgym
