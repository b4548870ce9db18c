// Feeds arbitrary bytes to what processes of one run read from each other: messages of ranks, parts
// of trainings, runs of policies, and predictions. These readers return nothing,
// or throw std::exception, for bytes that are none. The first byte chooses the reader.
#include <exception>

#include "agents/tasks/policy_run_wire.hpp"
#include "agents/tasks/training_wire.hpp"
#include "calibration/fit/prediction.hpp"
#include "core/ranks/messages.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

void read_message(std::string_view bytes) {
  switch (take_kind(bytes)) {
    case MessageKind::Start:
      return static_cast<void>(read_start(bytes));
    case MessageKind::Hello:
      return static_cast<void>(read_hello(bytes));
    case MessageKind::Failed:
      return static_cast<void>(read_failed(bytes));
    case MessageKind::Replies:
      return static_cast<void>(read_replies(bytes));
    case MessageKind::Round:
      return static_cast<void>(read_round(bytes));
    case MessageKind::Work:
      return static_cast<void>(read_work(bytes));
    default:
      return static_cast<void>(read_alive(bytes));
  }
}

}  // namespace

FUZZ_TARGET(wire) {
  std::string_view bytes = fuzz::text_of(data, size);
  const unsigned kind = fuzz::take_kind(bytes, 6);
  try {
    switch (kind) {
      case 0:
        read_message(bytes);
        break;
      case 1:
        (void)read_training_order(bytes);
        break;
      case 2:
        (void)read_trained_part(bytes);
        break;
      case 3:
        if (const auto run = read_policy_run(bytes)) {
          if (policy_run_bytes(*run) != bytes) std::abort();
        }
        break;
      case 4:
        (void)read_prediction(bytes);
        break;
      default:
        (void)read_difference(CostModel{}, bytes);
    }
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
