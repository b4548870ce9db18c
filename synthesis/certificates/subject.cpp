#include "synthesis/certificates/subject.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"

namespace cclgym::synthesis {

namespace {

std::string bounds_text(const std::optional<std::int64_t>& lower,
                        const std::optional<std::int64_t>& upper) {
  return fmt::format("[{},{}]", lower ? fmt::format("{}", *lower) : "",
                     upper ? fmt::format("{}", *upper) : "");
}

}  // namespace

std::string program_hash(const ExactProgram& program) {
  std::uint64_t state = fnv1a({});
  for (const ExactColumn& column : program.columns) {
    state =
        fnv1a(fmt::format("{}{};", column.cost, bounds_text(column.lower, column.upper)), state);
  }
  for (const ExactRow& row : program.rows) {
    for (const ExactTerm& term : row.terms) {
      state = fnv1a(fmt::format("{}*{}+", term.coefficient, term.column), state);
    }
    state = fnv1a(bounds_text(row.lower, row.upper) + ";", state);
  }
  return hex_digits(state);
}

}  // namespace cclgym::synthesis
