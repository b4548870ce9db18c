#include "synthesis/flows/exact_program.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

#include "core/index.hpp"
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

using Whole = boost::multiprecision::cpp_int;

// Rational numbers over one denominator, so that sums need no greatest common divisors.
struct Scaled {
  Whole denominator = 1;
  std::vector<Whole> numerators;

  explicit Scaled(const std::vector<Rational>& values) {
    for (const Rational& value : values) {
      denominator = boost::multiprecision::lcm(denominator, Whole(value.denominator()));
    }
    numerators.reserve(values.size());
    for (const Rational& value : values) {
      numerators.emplace_back(Whole(value.numerator()) * (denominator / value.denominator()));
    }
  }
  // True if `sum`, over the same denominator, equals the value.
  [[nodiscard]] bool equals(const Whole& sum, const Rational& value) const {
    return sum * value.denominator() == denominator * value.numerator();
  }
};

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

// Adds factor * (the bound that the sign of the factor selects); false if there is no such bound.
template <class Bounded>
bool add_at_bound(Whole& sum, const Whole& factor, const Bounded& bounded) {
  if (factor == 0) return true;
  const std::optional<std::int64_t>& bound = factor > 0 ? bounded.lower : bounded.upper;
  if (!bound) return false;
  sum += factor * *bound;
  return true;
}

}  // namespace

std::string check_dual(const DualCertificate& certificate) {
  const ExactProgram& program = certificate.program;
  if (std::string problem = malformed(program); !problem.empty()) return problem;
  if (certificate.duals.size() != program.rows.size()) {
    return fmt::format("the certificate has {} dual values; expected one for each of {} rows",
                       certificate.duals.size(), program.rows.size());
  }
  const Scaled duals(certificate.duals);
  std::vector<Whole> reduced;
  reduced.reserve(program.columns.size());
  for (const ExactColumn& column : program.columns) {
    reduced.emplace_back(duals.denominator * column.cost);
  }
  Whole sum = 0;
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    const Whole& dual = duals.numerators[k];
    if (dual == 0) continue;
    if (!add_at_bound(sum, dual, program.rows[k])) {
      return fmt::format("row {} has the dual value {}/{} but no {} bound", k, dual.str(),
                         duals.denominator.str(), dual > 0 ? "lower" : "upper");
    }
    for (const ExactTerm& term : program.rows[k].terms) {
      reduced[at(term.column)] -= dual * term.coefficient;
    }
  }
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    if (!add_at_bound(sum, reduced[k], program.columns[k])) {
      return fmt::format("column {} has the reduced cost {}/{} but no {} bound", k,
                         reduced[k].str(), duals.denominator.str(),
                         reduced[k] > 0 ? "lower" : "upper");
    }
  }
  if (!duals.equals(sum, certificate.bound)) {
    return fmt::format("the dual values prove {}/{}; the certificate states {}/{}", sum.str(),
                       duals.denominator.str(), certificate.bound.numerator(),
                       certificate.bound.denominator());
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
  const Scaled scaled(values);
  const auto within = [&](const Whole& sum, const auto& bounded) {
    return (!bounded.lower || sum >= scaled.denominator * *bounded.lower) &&
           (!bounded.upper || sum <= scaled.denominator * *bounded.upper);
  };
  Whole total = 0;
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    if (!within(scaled.numerators[k], program.columns[k])) {
      return fmt::format("column {} has the value {}/{}, outside its bounds", k,
                         values[k].numerator(), values[k].denominator());
    }
    total += scaled.numerators[k] * program.columns[k].cost;
  }
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    Whole sum = 0;
    for (const ExactTerm& term : program.rows[k].terms) {
      sum += scaled.numerators[at(term.column)] * term.coefficient;
    }
    if (!within(sum, program.rows[k])) {
      return fmt::format("row {} has the value {}/{}, outside its bounds", k, sum.str(),
                         scaled.denominator.str());
    }
  }
  if (!scaled.equals(total, cost)) {
    return fmt::format("the values cost {}/{}; expected {}/{}", total.str(),
                       scaled.denominator.str(), cost.numerator(), cost.denominator());
  }
  return {};
}

}  // namespace cclgym::synthesis
