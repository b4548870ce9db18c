// How large and how small physical quantities may be: a slip of the pen (a unit too many, an
// exponent) must not pass for a machine.
#pragma once

namespace cclgym {

// The slowest link that anyone runs collectives over is a serial line of some KB/s; the fastest
// there is, the memory of a GPU, moves 8 TB/s. A factor of 100 above that is room for what comes.
inline constexpr double kLeastRate_Bps = 1e3;
inline constexpr double kMostRate_Bps = 1e15;
/// Latencies and overheads, s: a message to a satellite and back takes 0.6 s.
inline constexpr double kMostLatency_s = 10;
/// What the load of other tenants remembers, and pauses between their calls, s: a day.
inline constexpr double kMostPause_s = 86'400;

}  // namespace cclgym
