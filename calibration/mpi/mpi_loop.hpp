// An application loop of collectives on MPI, in which several policies are compared call by call,
// and tables change while it runs (docs/closed-loop.md).
#pragma once

#include <mpi.h>
#include <nlohmann/json_fwd.hpp>

#include "calibration/mpi/mpi_algorithms.hpp"
#include "calibration/mpi/start_clock.hpp"

namespace cclgym {

/// Runs the loop that a request describes; collective call. The request:
///   {"seconds": 600, "compute_us": 2000, "seed": 1, "interface": "",
///    "calls": [{"collective": "allreduce", "bytes": 65536, "root": 0,
///               "configs": [[3, 0], [4, 65536], …], "prior_s": [0.001, null, …]}, …],
///    "lanes": [{"name": "agent", "closed": true, "frozen": false, "asks": false,
///               "table": [1, 0, …]}, …],
///    "trigger": {"sigma": 0.02, "units": 8, "threshold": 1, "confirm": 2, "pause": 0,
///                "weights": […]}}
/// The learned trigger detects changes for closed lanes; without one, two CUSUMs do. A
/// configuration is OpenMPI's number of the algorithm and the bytes of a segment; a lane is a
/// policy with a table that has the configuration of each call. Each call of an iteration is made
/// once in each lane, in random order; all ranks start it together. The tables of closed lanes
/// change, by the agreement of all ranks; the first one is what the prior says. One closed lane may
/// ask for its tables: its first one is given, and the process that sent the request makes the
/// others from the joined calls of all ranks.
///
/// Rank 0 writes {"begun": true} when the time starts, and lines {"rows": [[s since the start,
/// iteration, call, lane, configuration, time in us, 1 if a rank started late, state, bytes that
/// all nodes received], …]} while the loop runs; for a lane that asks, also lines {"joined":
/// [[number of the call in its lane, call, configuration, time in s, bytes], …]}, each of which is
/// answered with {"table": [1, 0, …], "alarms": [number of a call, …]} before the next. Returns, on
/// rank 0, {"lanes": [{"changes": 3, "alarms": [[call, s], …], …}, …]}. Throws std::runtime_error
/// if a rank must not make a call, because no verdict on a change arrived.
[[nodiscard]] nlohmann::json run_mpi_loop(const nlohmann::json& request,
                                          ForcedCommunicators& forced, MPI_Comm control,
                                          StartClock& clock);

}  // namespace cclgym
