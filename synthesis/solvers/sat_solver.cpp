#include "synthesis/solvers/sat_solver.hpp"

#include <algorithm>
#include <atomic>
#include <cadical.hpp>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "core/error.hpp"

namespace cclgym::synthesis {

struct SatSolver::Solver : CaDiCaL::Terminator {
  CaDiCaL::Solver cadical;
  std::atomic<bool> stopped{false};
  Deadline deadline{};
  std::FILE* memory = nullptr;  ///< stream of a proof that is kept in memory
  bool traces = false;          ///< a proof was begun and not completed
  char* proof = nullptr;
  std::size_t proof_bytes = 0;

  Solver() {
    cadical.connect_terminator(this);
    cadical.set("quiet", 1);
  }
  ~Solver() override {
    cadical.disconnect_terminator();
    if (memory == nullptr) return;
    if (traces) cadical.close_proof_trace();
    std::fclose(memory);
    std::free(proof);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  bool terminate() override { return stopped.load(std::memory_order_relaxed) || deadline.over(); }
};

SatSolver::SatSolver() : solver_(std::make_unique<Solver>()) {}
SatSolver::~SatSolver() = default;

void SatSolver::add_clause(std::span<const Literal> literals) {
  for (const Literal literal : literals) {
    solver_->cadical.add(literal);
    formula_.push_back(literal);
  }
  solver_->cadical.add(0);
  formula_.push_back(0);
  ++clauses_;
}

void SatSolver::set_seed(int seed) { solver_->cadical.set("seed", seed); }

namespace {

void prepare_proof(CaDiCaL::Solver& cadical) {
  // These remove clauses in ways that need resolution asymmetric tautologies (RAT) in the proof.
  for (const char* option : {"elim", "block", "cover", "condition"}) cadical.set(option, 0);
  cadical.set("binary", 1);
}

}  // namespace

void SatSolver::trace_proof(const std::string& path) {
  prepare_proof(solver_->cadical);
  if (!solver_->cadical.trace_proof(path.c_str())) {
    throw UserError(fmt::format("cannot write the proof to {}", quoted(path)));
  }
}

void SatSolver::trace_proof() {
  prepare_proof(solver_->cadical);
  solver_->memory = open_memstream(&solver_->proof, &solver_->proof_bytes);
  if (solver_->memory == nullptr || !solver_->cadical.trace_proof(solver_->memory, "memory")) {
    throw std::runtime_error("cannot keep a proof in memory");
  }
  solver_->traces = true;
}

std::string SatSolver::close_proof() {
  solver_->cadical.flush_proof_trace();
  solver_->cadical.close_proof_trace();
  solver_->traces = false;
  if (solver_->memory == nullptr) return {};
  std::fflush(solver_->memory);
  return {solver_->proof, solver_->proof_bytes};
}

void SatSolver::limit_conflicts(std::int64_t conflicts) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  solver_->cadical.limit("conflicts",
                         static_cast<int>(std::clamp<std::int64_t>(conflicts, 0, kMax)));
}

SatResult SatSolver::solve(std::span<const Literal> assumptions, const Deadline& deadline) {
  if (deadline.over()) return SatResult::Unknown;
  for (const Literal literal : assumptions) solver_->cadical.assume(literal);
  solver_->deadline = deadline;
  switch (solver_->cadical.solve()) {
    case 10:
      return SatResult::Satisfiable;
    case 20:
      return SatResult::Unsatisfiable;
    default:
      return SatResult::Unknown;
  }
}

void SatSolver::stop() { solver_->stopped.store(true, std::memory_order_relaxed); }

bool SatSolver::value(Literal literal) const { return solver_->cadical.val(literal) == literal; }

std::string SatSolver::dimacs() const {
  std::string text = fmt::format("p cnf {} {}\n", variables_, clauses_);
  for (const Literal literal : formula_) {
    text += fmt::format("{}{}", literal, literal == 0 ? '\n' : ' ');
  }
  return text;
}

std::vector<Literal> add_counter(SatSolver& solver, std::span<const Literal> literals,
                                 std::int64_t bound) {
  std::vector<Literal> before;
  for (const Literal literal : literals) {
    if (std::ssize(before) == bound) solver.add_clause({-literal, -before.back()});
    std::vector<Literal> counts;
    for (std::size_t j = 0; j <= before.size() && std::ssize(counts) < bound; ++j) {
      const Literal count = solver.new_variable();
      if (j < before.size()) solver.add_clause({-before[j], count});
      if (j == 0) {
        solver.add_clause({-literal, count});
      } else {
        solver.add_clause({-literal, -before[j - 1], count});
      }
      counts.push_back(count);
    }
    before = std::move(counts);
  }
  return before;
}

void add_at_most(SatSolver& solver, std::span<const Literal> literals, int bound) {
  if (bound >= std::ssize(literals)) return;
  if (bound <= 0) {
    for (const Literal literal : literals) solver.add_clause({-literal});
    return;
  }
  // The last literal needs no count.
  const std::vector<Literal> counts =
      add_counter(solver, literals.first(literals.size() - 1), bound);
  solver.add_clause({-literals.back(), -counts.back()});
}

}  // namespace cclgym::synthesis
