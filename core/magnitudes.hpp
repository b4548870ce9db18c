// Bounds of physical quantities: a typing error (a wrong unit, an exponent) must not pass for a
// machine.
#pragma once

namespace cclgym {

// The slowest link that collectives run over is a serial line with some KB/s; the fastest, the
// memory of a GPU, moves 8 TB/s. A factor of 100 on top leaves room for future links.
inline constexpr double kLeastRate_Bps = 1e3;
inline constexpr double kMostRate_Bps = 1e15;
/// Latencies and overheads, s: a message to a satellite and back takes 0.6 s.
inline constexpr double kMostLatency_s = 10;
/// Correlation times of other tenants' load and pauses between their calls, s: a day.
inline constexpr double kMostPause_s = 86'400;

}  // namespace cclgym
