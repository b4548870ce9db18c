// NCCL's profiler plugin, v5 and v6: kernel times of collectives, if CCLGYM_PROFILE names a file or
// CCLGYM_LOOP a rendezvous.
#include <exception>
#include <memory>
#include <span>
#include <string>

#include "deploy/nccl_plugin/communicator_loop.hpp"
#include "deploy/nccl_plugin/kernel_times.hpp"
#include "deploy/nccl_plugin/nccl_profiler_abi.h"
#include "deploy/nccl_plugin/plugin_log.hpp"

namespace {

using namespace cclgym;

struct Profiler {
  std::shared_ptr<CommunicatorLoop> loop;  ///< null unless CCLGYM_LOOP is set
  std::unique_ptr<KernelTimes> times;      ///< its thread uses the loop
  std::string path;                        ///< empty: no file
  cclgym_nccl_logger logger;

  void say(int level, const std::string& text) const {
    if (logger == nullptr) return;
    logger(level, CCLGYM_NCCL_INIT, "cclgym", 0, "PROFILER/cclgym: %s", text.c_str());
  }
};

// Without the file there are no times in a file; the loop does not need it.
void open_times(Profiler& profiler, const std::string& path, const TimedCommunicator& of,
                const KernelTimes::Taker& taker) {
  try {
    profiler.times = std::make_unique<KernelTimes>(path, of, taker);
    profiler.path = path;
    profiler.say(CCLGYM_NCCL_LOG_INFO, path + ": kernel times of collectives");
  } catch (const std::exception& error) {
    profiler.say(CCLGYM_NCCL_LOG_WARN, std::string(error.what()) + ": no times are written");
  }
}

int init(void** context, std::uint64_t communicator, int* activation_mask,
         const char* /*communicator_name*/, int nodes, int ranks, int rank,
         cclgym_nccl_logger logger) {
  constexpr int kEvents = CCLGYM_NCCL_EVENT_COLLECTIVE | CCLGYM_NCCL_EVENT_KERNEL_CHANNEL;
  if (context != nullptr) *context = nullptr;
  if (context == nullptr || activation_mask == nullptr) return CCLGYM_NCCL_SUCCESS;
  // The mask is that of the process: a communicator without a loop must not stop the others'
  // events.
  *activation_mask = loop_wanted() ? kEvents : 0;
  const char* pattern = plugin_variable("CCLGYM_PROFILE");
  if (pattern == nullptr && !loop_wanted()) return CCLGYM_NCCL_SUCCESS;
  try {
    const TimedCommunicator of{.id = communicator, .rank = rank, .ranks = ranks, .nodes = nodes};
    auto profiler = std::make_unique<Profiler>();
    profiler->logger = logger;
    KernelTimes::Taker taker;
    if (loop_wanted() && ranks > 1) {
      const auto loop = CommunicatorLoop::of(communicator);
      if (loop->add_profiler(of, PluginLog(logger))) {
        profiler->loop = loop;
        taker = [own = loop.get()](std::span<const KernelTimes::Row> rows) { own->take(rows); };
      }
    }
    if (pattern != nullptr) open_times(*profiler, times_path(pattern, of), of, taker);
    if (!profiler->times && !profiler->loop) return CCLGYM_NCCL_SUCCESS;
    if (!profiler->times) profiler->times = std::make_unique<KernelTimes>("", of, taker);
    *context = profiler.release();
    *activation_mask = kEvents;
  } catch (...) {
    *context = nullptr;  // no memory or no thread
  }
  return CCLGYM_NCCL_SUCCESS;
}

int start_event(void* context, void** handle, cclgym_nccl_event* event) {
  if (handle == nullptr) return CCLGYM_NCCL_SUCCESS;
  *handle = nullptr;
  auto* profiler = static_cast<Profiler*>(context);
  if (profiler == nullptr || event == nullptr) return CCLGYM_NCCL_SUCCESS;
  if (event->kind == CCLGYM_NCCL_EVENT_COLLECTIVE) {
    *handle = profiler->times->start_collective(event->collective);
  } else if (event->kind == CCLGYM_NCCL_EVENT_KERNEL_CHANNEL) {
    *handle = KernelTimes::start_channel(event->parent, event->kernel_channel);
  }
  return CCLGYM_NCCL_SUCCESS;
}

// NCCL stops the event of a collective when it has been enqueued; its kernels run later.
int stop_event(void* /*handle*/) { return CCLGYM_NCCL_SUCCESS; }

int record_event_state(void* handle, int state, cclgym_nccl_event_state* arguments) {
  if (state == CCLGYM_NCCL_KERNEL_CHANNEL_STOP && arguments != nullptr) {
    KernelTimes::stop_channel(handle, arguments->kernel_channel.stop_ns);
  }
  return CCLGYM_NCCL_SUCCESS;
}

int finalize(void* context) {
  const std::unique_ptr<Profiler> profiler(static_cast<Profiler*>(context));
  try {
    if (profiler == nullptr || profiler->path.empty()) return CCLGYM_NCCL_SUCCESS;
    const std::uint64_t dropped = profiler->times->dropped();
    profiler->say(dropped > 0 ? CCLGYM_NCCL_LOG_WARN : CCLGYM_NCCL_LOG_INFO,
                  profiler->path + ": " + std::to_string(profiler->times->recorded()) +
                      " collectives, " + std::to_string(dropped) + " more were dropped");
  } catch (...) {
    return CCLGYM_NCCL_SUCCESS;  // no memory for the line
  }
  return CCLGYM_NCCL_SUCCESS;
}

constexpr cclgym_nccl_profiler kProfiler{"cclgym",           init,    start_event, stop_event,
                                         record_event_state, finalize};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that NCCL looks for
extern "C" {
[[gnu::visibility("default")]] extern const cclgym_nccl_profiler ncclProfiler_v5;
[[gnu::visibility("default")]] extern const cclgym_nccl_profiler ncclProfiler_v6;
const cclgym_nccl_profiler ncclProfiler_v5 = kProfiler;
const cclgym_nccl_profiler ncclProfiler_v6 = kProfiler;
}
// NOLINTEND(readability-identifier-naming)
