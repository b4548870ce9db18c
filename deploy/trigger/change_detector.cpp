#include "deploy/trigger/change_detector.hpp"

namespace cclgym {

void PairedTriggers::start() {
  times_.start();
  bytes_.start();
}

bool PairedTriggers::observe(const TriggerInput& call) {
  bool alarm = times_.observe({.kind = call.kind, .log_ratio = call.log_ratio});
  if (call.counted) {
    alarm = bytes_.observe({.kind = call.kind, .log_ratio = call.log_bytes}) || alarm;
  }
  if (alarm) start();
  return alarm;
}

void ChangeDetector::start() {
  std::visit([](auto& one) { one.start(); }, one_);
}

bool ChangeDetector::observe(const TriggerInput& call) {
  return std::visit([&](auto& one) { return one.observe(call); }, one_);
}

}  // namespace cclgym
