// NCCL's profiler plugin, v5 and v6: kernel times of collectives, if CCLGYM_PROFILE names a file.
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "deploy/nccl_plugin/kernel_times.hpp"
#include "deploy/nccl_plugin/nccl_profiler_abi.h"

namespace {

using namespace cclgym;

struct Profiler {
  KernelTimes times;
  std::string path;
  cclgym_nccl_logger logger;

  void say(int level, const std::string& text) const {
    if (logger == nullptr) return;
    logger(level, CCLGYM_NCCL_INIT, "cclgym", 0, "PROFILER/cclgym: %s", text.c_str());
  }
};

int init(void** context, std::uint64_t communicator, int* activation_mask,
         const char* /*communicator_name*/, int nodes, int ranks, int rank,
         cclgym_nccl_logger logger) {
  if (context != nullptr) *context = nullptr;
  if (context == nullptr || activation_mask == nullptr) return CCLGYM_NCCL_SUCCESS;
  *activation_mask = 0;
  const char* pattern = std::getenv("CCLGYM_PROFILE");
  if (pattern == nullptr || *pattern == '\0') return CCLGYM_NCCL_SUCCESS;
  try {
    const TimedCommunicator of{.id = communicator, .rank = rank, .ranks = ranks, .nodes = nodes};
    const std::string path = times_path(pattern, of);
    auto profiler = std::unique_ptr<Profiler>(
        new Profiler{.times = {path, of}, .path = path, .logger = logger});
    profiler->say(CCLGYM_NCCL_LOG_INFO, path + ": kernel times of collectives");
    *context = profiler.release();
    *activation_mask = CCLGYM_NCCL_EVENT_COLLECTIVE | CCLGYM_NCCL_EVENT_KERNEL_CHANNEL;
  } catch (const std::exception& error) {
    if (logger != nullptr) {
      logger(CCLGYM_NCCL_LOG_WARN, CCLGYM_NCCL_INIT, "cclgym", 0,
             "PROFILER/cclgym: %s: no times are written", error.what());
    }
  } catch (...) {
    *context = nullptr;
  }
  return CCLGYM_NCCL_SUCCESS;
}

int start_event(void* context, void** handle, cclgym_nccl_event* event) {
  if (handle == nullptr) return CCLGYM_NCCL_SUCCESS;
  *handle = nullptr;
  auto* profiler = static_cast<Profiler*>(context);
  if (profiler == nullptr || event == nullptr) return CCLGYM_NCCL_SUCCESS;
  if (event->kind == CCLGYM_NCCL_EVENT_COLLECTIVE) {
    *handle = profiler->times.start_collective(event->collective);
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
    if (profiler == nullptr) return CCLGYM_NCCL_SUCCESS;
    const std::uint64_t dropped = profiler->times.dropped();
    profiler->say(dropped > 0 ? CCLGYM_NCCL_LOG_WARN : CCLGYM_NCCL_LOG_INFO,
                  profiler->path + ": " + std::to_string(profiler->times.recorded()) +
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
