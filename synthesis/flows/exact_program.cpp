#include "synthesis/flows/exact_program.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/index.hpp"
#include "synthesis/flows/exact_value.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

int ExactProgram::add_column(std::int64_t cost, std::optional<std::int64_t> lower,
                             std::optional<std::int64_t> upper) {
  columns.push_back({cost, lower, upper});
  return static_cast<int>(columns.size()) - 1;
}

int ExactProgram::add_row(std::vector<ExactTerm> terms, std::optional<std::int64_t> lower,
                          std::optional<std::int64_t> upper) {
  rows.push_back({std::move(terms), lower, upper});
  return static_cast<int>(rows.size()) - 1;
}

void ExactProgram::load(LinearProgram& solver) const {
  const auto lower_of = [](const auto& bounded) {
    return bounded.lower ? static_cast<double>(*bounded.lower) : -kUnbounded;
  };
  const auto upper_of = [](const auto& bounded) {
    return bounded.upper ? static_cast<double>(*bounded.upper) : kUnbounded;
  };
  for (std::size_t k = at(solver.columns()); k < columns.size(); ++k) {
    solver.add_column(static_cast<double>(columns[k].cost), lower_of(columns[k]),
                      upper_of(columns[k]));
  }
  std::vector<Term> terms;
  for (std::size_t k = at(solver.rows()); k < rows.size(); ++k) {
    terms.clear();
    for (const ExactTerm& term : rows[k].terms) {
      terms.push_back({term.column, static_cast<double>(term.coefficient)});
    }
    solver.add_row(terms, lower_of(rows[k]), upper_of(rows[k]));
  }
}

namespace {

std::string malformed(const ExactProgram& program) {
  std::vector<int> last_row(program.columns.size(), -1);
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    for (const ExactTerm& term : program.rows[k].terms) {
      if (term.column < 0 || at(term.column) >= program.columns.size()) {
        return fmt::format("row {} names column {}, but there are {} columns", k, term.column,
                           program.columns.size());
      }
      int& last = last_row[at(term.column)];
      if (last == static_cast<int>(k)) {
        return fmt::format("row {} names column {} twice", k, term.column);
      }
      last = static_cast<int>(k);
    }
  }
  return {};
}

}  // namespace

std::string check_dual(const DualCertificate& certificate) {
  const ExactProgram& program = certificate.program;
  if (std::string problem = malformed(program); !problem.empty()) return problem;
  if (certificate.duals.size() != program.rows.size()) {
    return fmt::format("the certificate has {} dual values; expected one for each of {} rows",
                       certificate.duals.size(), program.rows.size());
  }
  const ExactValue bound = bound_of_duals(program, certificate.duals);
  if (!bound.value) return bound.problem;
  if (*bound.value != certificate.bound) {
    return fmt::format("the dual values prove {}; the certificate states {}", text_of(*bound.value),
                       text_of(certificate.bound));
  }
  return {};
}

std::string check_solution(const ExactProgram& program, const std::vector<Rational>& values,
                           const Rational& cost) {
  if (std::string problem = malformed(program); !problem.empty()) return problem;
  if (values.size() != program.columns.size()) {
    return fmt::format("there are {} values; expected one for each of {} columns", values.size(),
                       program.columns.size());
  }
  const ExactValue found = cost_of_solution(program, values);
  if (!found.value) return found.problem;
  if (*found.value != cost) {
    return fmt::format("the values cost {}; expected {}", text_of(*found.value), text_of(cost));
  }
  return {};
}

}  // namespace cclgym::synthesis
