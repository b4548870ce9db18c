// The constraints C1 to C6 of SCCL (section 3.4) as a Boolean formula.
#pragma once

#include <optional>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/solvers/sat_solver.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/symmetry/automorphisms.hpp"

namespace cclgym::synthesis {

/// Chunk permutations that a group of an instance induces: by element and chunk. Equal chunks keep
/// their order among each other. Nothing if some element does not preserve the demand.
[[nodiscard]] std::optional<std::vector<Permutation>> chunk_permutations(
    const Demand& demand, const InstanceGroup& group);

/// Schedules to which a formula is restricted. A restricted formula is smaller, but if it is
/// unsatisfiable, there may still be a schedule.
struct StepRestriction {
  /// Schedules that are invariant under a group, which is semiregular on the ranks and preserves
  /// the demand.
  const InstanceGroup* group = nullptr;
  /// Schedules in which chunks with one target take shortest paths.
  bool shortest_paths = false;
};

/// Formula that is satisfiable if and only if a schedule of `steps` steps and at most `rounds`
/// rounds meets the demand. Arrivals are order-encoded: a variable says that a rank holds a chunk
/// after a step. Pairs that are too far from the source or from every target are left out, and
/// interchangeable chunks are ordered by their first hops.
class StepEncoding {
 public:
  StepEncoding(const Instance& instance, const Demand& demand, int steps, int rounds,
               const StepRestriction& restriction, SatSolver& solver);

  /// Schedule of the solver's last satisfying assignment, without sends that nobody needs. It has
  /// at most as many rounds as were asked for.
  [[nodiscard]] StepSchedule schedule() const;

 private:
  [[nodiscard]] std::size_t place(int chunk, int rank) const;
  [[nodiscard]] Literal held(int chunk, int rank, int step) const;
  [[nodiscard]] Literal& send_variable(int chunk, int hop, int step);
  /// Literal of a send of any chunk, by way of the chunk that represents its orbit.
  [[nodiscard]] Literal send(int chunk, int hop, int step) const;

  void represent_chunks(const InstanceGroup* group);
  void find_windows(bool shortest_paths);
  void add_variables();
  void add_arrivals();
  /// A chunk with one target takes one path: no rank sends it twice, or receives it in vain.
  void add_paths();
  void add_loads(const InstanceGroup* group, int rounds);
  void order_equal_chunks();

  const Instance* instance_;
  const Demand* demand_;
  SatSolver* solver_;
  int steps_;
  std::vector<int> representative_;          ///< by chunk
  std::vector<const Permutation*> to_hops_;  ///< by chunk: hops as its representative sees them
  std::vector<int> earliest_;                ///< by chunk and rank: steps until it can arrive
  std::vector<int> latest_;                  ///< by chunk and rank: last useful arrival
  std::vector<std::vector<Literal>> held_;   ///< by chunk and rank: by step from earliest_ on
  std::vector<Literal> sends_;               ///< by chunk, hop and step
};

}  // namespace cclgym::synthesis
