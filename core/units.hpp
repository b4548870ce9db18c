// Conversion between human-readable quantities ("64KiB", "1.5us", "25 GB/s") and SI numbers,
// independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace cclgym {

// Each parser reads the entire text (spaces around it and before the unit are ignored) and throws
// UserError, located at `where`, if it does not parse. `what` names the value in the message
// ("bandwidth needs a unit, e.g. '25 GB/s'; found '25'"). Quantities are never negative, infinite
// or NaN, and need a unit, even zero.

/// Bytes: none or B; KB, MB, GB, TB decimal; KiB, MiB, GiB, TiB and, as in nccl-tests, K, M, G, T
/// binary; in any letter case, but "Mb", which could be bits, is refused. The value must be a whole
/// number of bytes below 2^64 ("1.5KiB" is 1536; "0.3 B" is refused); decimal fractions are exact.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text, std::string_view what = "size",
                                        const SourceLocation& where = {});
/// Time in seconds: ns, us (µs), ms, s. Correctly rounded: "0.7us" is the double 0.7e-6.
[[nodiscard]] double parse_time_s(std::string_view text, std::string_view what = "time",
                                  const SourceLocation& where = {});
/// Rate in bytes/second: any unit of bytes, or of bits (b, Kb, Mb, Gb, Tb, decimal), then "/s".
[[nodiscard]] double parse_rate_Bps(std::string_view text, std::string_view what = "rate",
                                    const SourceLocation& where = {});
/// A whole number, e.g. "-3". No unit, no fraction, no exponent.
[[nodiscard]] std::int64_t parse_integer(std::string_view text, std::string_view what = "number",
                                         const SourceLocation& where = {});
/// A finite number without a unit, e.g. "0.92" or "1e-6".
[[nodiscard]] double parse_real(std::string_view text, std::string_view what = "number",
                                const SourceLocation& where = {});
/// "true" or "false".
[[nodiscard]] bool parse_flag(std::string_view text, std::string_view what = "flag",
                              const SourceLocation& where = {});

/// The value in the largest binary unit that divides it: "64KiB", "1MiB", "1000B". parse_bytes
/// reads the same value back.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
/// Four significant digits in a suitable unit: "12.34 us", "1.500 s". For people, not for files.
[[nodiscard]] std::string format_time(double seconds);
/// "25.0 GB/s", "312.5 MB/s" (decimal units). For people, not for files.
[[nodiscard]] std::string format_rate(double bytes_per_second);
/// The shortest text that reads back as the same double ("0.1", "1e-06", "inf", "nan"): for CSV and
/// hashes.
[[nodiscard]] std::string format_double(double value);

}  // namespace cclgym
