// Programs of schedules (SCCL, TE-CCL).
#pragma once

#include "collectives/program.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/lowering/moves.hpp"
#include "synthesis/lowering/program_form.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// Program of a schedule for the demand of `form.collective` with `chunks` chunks (make_demand).
/// Compile it with lowered_compile_options, so that the messages on every connection keep the order
/// of the schedule. A hop's messages use its channel; with `channels`, the chunks that it sends in
/// one step are spread over more channels of the same route, at most one per link unit. Chunks that
/// lie side by side are sent as one message. Superfluous sends are left out.
///
/// For Reduce and ReduceScatter, the schedule is one of inverse_collective on instance.reversed();
/// its sends become reductions along the hops of `instance`, from the last step to the first (SCCL,
/// section 3.5).
///
/// Throws UserError if the schedule is wrong (check_schedule), and for AllReduce, AllToNext and
/// Custom.
[[nodiscard]] Program lower_schedule(const Instance& instance, const ProgramForm& form, int chunks,
                                     const StepSchedule& schedule,
                                     const HopChannels& channels = {});
[[nodiscard]] Program lower_schedule(const TimedInstance& instance, const ProgramForm& form,
                                     int chunks, const TimedSchedule& schedule,
                                     const HopChannels& channels = {});

/// AllReduce as ReduceScatter, then AllGather, each rank with `chunks` chunks. `reduce_scatter` is
/// an AllGather schedule on instance.reversed(), `all_gather` one on `instance`. Chunks do not wait
/// for each other between the two. Throws UserError as lower_schedule does.
[[nodiscard]] Program lower_all_reduce(const Instance& instance, const ProgramForm& form,
                                       int chunks, const StepSchedule& reduce_scatter,
                                       const StepSchedule& all_gather,
                                       const HopChannels& channels = {});

}  // namespace cclgym::synthesis
