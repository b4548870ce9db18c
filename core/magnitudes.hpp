// Limits of physical quantities, which reject typos (a wrong unit or exponent).
#pragma once

namespace cclgym {

// The slowest link for collectives is a serial line of some KB/s; the fastest, the memory of a GPU,
// moves 8 TB/s. A factor of 100 above that leaves room for future hardware.
inline constexpr double kLeastRate_Bps = 1e3;
inline constexpr double kMostRate_Bps = 1e15;
/// Maximum latency or overhead, s; a message to a satellite and back takes 0.6 s.
inline constexpr double kMostLatency_s = 10;
/// Maximum correlation time of other tenants' load, and pause between their calls, s: one day.
inline constexpr double kMostPause_s = 86'400;

}  // namespace cclgym
