// Source of a value in a parameter set: the grammar of its `source` line, which
// docs/cost-models.md describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

enum class SourceKind : std::uint8_t {
  Fitted,     ///< "fitted to ROWS; 95 %: LOW to HIGH[, not determined][; …]"
  TakenOver,  ///< "taken over from set NAME: SOURCE THERE", "taken over from WHAT: …"
  Measured,   ///< "measured: …"
  SetByHand,  ///< "set by hand: WHY"
};

/// A parsed `source`.
struct ValueSource {
  SourceKind kind = SourceKind::SetByHand;
  /// Fitted: its 95 % interval spans less than a decade. False without an interval ("no interval").
  bool determined = false;
  std::string set{};    ///< TakenOver: from this parameter set; empty: from something else
  std::string there{};  ///< TakenOver from a set: the source of the value in that set
};

/// Reads a `source`. A fitted value must have its interval or say "no interval", and say ", not
/// determined" exactly if the interval's ends differ by a factor of 10 or more. If a value is taken
/// over from a set, the source that it has there must itself be valid. Throws UserError at `where`
/// with the text that was found and the texts that were expected.
[[nodiscard]] ValueSource read_source(std::string_view text, const SourceLocation& where = {});

/// True if the interval determines the value: its ends (> 0) differ by a factor below 10.
[[nodiscard]] bool is_determined(double least, double most);

/// "4.836us to 8.359us", "0.6631us to 27.4us, not determined": the ends are > 0, in SI units.
[[nodiscard]] std::string interval_source(const CostParameter& parameter, double least,
                                          double most);
/// The source of a value that was fitted to `rows` ("40 rows of H100-cluster on 2, 8 ranks"; its
/// semicolons become commas) with this 95 % interval; `more` is additional text, or empty.
[[nodiscard]] std::string fitted_source(const CostParameter& parameter, std::string_view rows,
                                        double least, double most, std::string_view more);
/// The source of a value taken over from parameter set `set`, in which its source is `there`.
[[nodiscard]] std::string taken_over_source(std::string_view set, std::string_view there);

/// Source of a value that a set leaves at the default of its parameter.
inline constexpr std::string_view kDefaultSource = "taken over from cclgym: the default";
/// Source of a value that a set states without a source. read_source refuses it.
inline constexpr std::string_view kNoSource = "not said there";

}  // namespace cclgym
