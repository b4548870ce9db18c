// Lower bounds on the rounds of synchronous schedules for every chunk count at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/flows/exact_program.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/solvers/deadline.hpp"
#include "synthesis/symmetry/automorphisms.hpp"

namespace cclgym::synthesis {

/// Relaxation of a chunk that several ranks need. A chunk with one target is never copied, and both
/// are the same.
enum class Copying : std::uint8_t {
  /// A rank may send any part that it holds along every hop, and parts that arrive on two hops
  /// count twice: a small program, exact for AllGather on many fabrics.
  PerChunk,
  /// One flow per target within what the hops carry: a tighter bound, and a program that is larger
  /// by the number of targets.
  PerTarget
};

struct StepRelaxationOptions {
  Copying copying = Copying::PerChunk;
  /// Automorphisms of the instance that map the demand to itself: one chunk per orbit is routed,
  /// with one capacity row per orbit of limits.
  std::vector<InstanceSymmetry> symmetries{};
  Deadline deadline{};
};

/// Lower bound on the rounds of a schedule in `steps` steps if chunks can be cut at will: a
/// schedule of C copies of the demand (SCCL: C chunks per rank) takes at least C times this.
struct StepRelaxation {
  int steps = 0;
  Rational rounds{0};
  DualCertificate certificate{};  ///< about step_relaxation_program; bound: `rounds`
};

/// The linear program: rounds of each step >= 0; a rank holds, before a step, at most what it held
/// before the last one and what it received, sends along each hop at most what it holds, and a
/// limit carries at most units * rounds per step. Throws UserError if a chunk cannot reach a target
/// in so many steps, or if an automorphism changes the instance or the demand.
[[nodiscard]] ExactProgram step_relaxation_program(const Instance& instance, const Demand& demand,
                                                   int steps,
                                                   const StepRelaxationOptions& options = {});

/// Solves the linear program and proves its optimum to within 1e-6, nearly always exactly. Throws
/// UserError as above, and if there is no optimum before the deadline.
[[nodiscard]] StepRelaxation step_relaxation(const Instance& instance, const Demand& demand,
                                             int steps, const StepRelaxationOptions& options = {});

/// Verifies a bound without a solver. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_step_relaxation(const Instance& instance, const Demand& demand,
                                                const StepRelaxation& relaxation,
                                                const StepRelaxationOptions& options = {});

}  // namespace cclgym::synthesis
