// NCCL's log, and the environment of a job.
#pragma once

#include <cstdlib>

#include "deploy/nccl_plugin/nccl_tuner_abi.h"

namespace cclgym {

/// Writes lines to NCCL's log.
class PluginLog {
 public:
  PluginLog() = default;
  explicit PluginLog(cclgym_nccl_logger logger) : logger_(logger) {}
  void info(const char* text) const { say(CCLGYM_NCCL_LOG_INFO, text); }
  void warn(const char* text) const { say(CCLGYM_NCCL_LOG_WARN, text); }

 private:
  void say(int level, const char* text) const {
    if (logger_ == nullptr) return;
    logger_(level, static_cast<unsigned long>(CCLGYM_NCCL_INIT | CCLGYM_NCCL_TUNING), "cclgym", 0,
            "TUNER/cclgym: %s", text);
  }
  cclgym_nccl_logger logger_ = nullptr;
};

/// Value of an environment variable; null if it is unset or empty.
[[nodiscard]] inline const char* plugin_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace cclgym
