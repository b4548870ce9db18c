#include "synthesis/lowering/schedule_program.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

void require_right(const std::string& problem) {
  if (!problem.empty()) throw UserError("the schedule cannot be lowered: " + problem);
}

std::vector<Move> moves_of(const Instance& instance, const Demand& demand,
                           const StepSchedule& schedule) {
  require_right(check_schedule(instance, demand, schedule));
  std::vector<Move> moves;
  for (const StepSend& send : schedule.sends) {
    moves.push_back({send.step, send.step + 1, send.chunk, send.hop});
  }
  return needed_moves(instance, demand, std::move(moves));
}

std::vector<Move> moves_of(const TimedInstance& instance, const Demand& demand,
                           const TimedSchedule& schedule) {
  require_right(check_schedule(instance, demand, schedule));
  std::vector<Move> moves;
  for (const TimedSend& send : schedule.sends) {
    moves.push_back(
        {send.start, send.start + instance.duration[at(send.hop)], send.chunk, send.hop});
  }
  return needed_moves(instance.instance, demand, std::move(moves));
}

TimedInstance reversed(const TimedInstance& instance) {
  TimedInstance result = instance;
  result.instance = instance.instance.reversed();
  return result;
}
Instance reversed(const Instance& instance) { return instance.reversed(); }

const Instance& plain(const TimedInstance& instance) { return instance.instance; }
const Instance& plain(const Instance& instance) { return instance; }

template <class AnyInstance, class AnySchedule>
Program lower_any(const AnyInstance& instance, const ProgramForm& form, int chunks,
                  const AnySchedule& schedule, const HopChannels& channels) {
  const CollectiveKind copying = inverse_collective(form.collective);
  const bool reduces = copying != form.collective;
  const int ranks = plain(instance).ranks;
  const Demand demand = make_demand(copying, ranks, chunks, form.root, form.group);
  std::vector<Move> moves = moves_of(reduces ? reversed(instance) : instance, demand, schedule);
  ChunkLayout layout(form, ranks, chunks, planned_chunks(form.collective, demand));
  return trace_messages(layout,
                        messages_of(plain(instance), std::move(moves), reduces, 0, channels));
}

}  // namespace

Program lower_schedule(const Instance& instance, const ProgramForm& form, int chunks,
                       const StepSchedule& schedule, const HopChannels& channels) {
  return lower_any(instance, form, chunks, schedule, channels);
}

Program lower_schedule(const TimedInstance& instance, const ProgramForm& form, int chunks,
                       const TimedSchedule& schedule, const HopChannels& channels) {
  return lower_any(instance, form, chunks, schedule, channels);
}

Program lower_all_reduce(const Instance& instance, const ProgramForm& form, int chunks,
                         const StepSchedule& reduce_scatter, const StepSchedule& all_gather,
                         const HopChannels& channels) {
  if (form.collective != CollectiveKind::AllReduce) {
    throw UserError(
        fmt::format("two schedules make an AllReduce, not {}", to_string(form.collective)));
  }
  const Demand demand =
      make_demand(CollectiveKind::AllGather, instance.ranks, chunks, 0, form.group);
  std::vector<PlannedMessage> messages = messages_of(
      instance, moves_of(instance.reversed(), demand, reduce_scatter), true, 0, channels);
  const int batches = messages.empty() ? 0 : messages.back().batch + 1;
  for (const PlannedMessage& message :
       messages_of(instance, moves_of(instance, demand, all_gather), false, batches, channels)) {
    messages.push_back(message);
  }
  ChunkLayout layout(form, instance.ranks, static_cast<int>(demand.chunks.size()),
                     planned_chunks(CollectiveKind::AllReduce, demand));
  return trace_messages(layout, messages);
}

}  // namespace cclgym::synthesis
