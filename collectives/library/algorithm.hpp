// The algorithm library: named programs that run and sweeps can choose from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/contract.hpp"
#include "collectives/ir.hpp"
#include "collectives/outline.hpp"
#include "collectives/program.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// What an algorithm leaves to switches.
enum class SwitchUse : std::uint8_t {
  None,
  Everywhere,  ///< between any two ranks
  InServers,   ///< between the ranks of each server
  Network      ///< between servers
};

struct AlgorithmInfo {
  std::string name;         ///< as in YAML: "ring", "recursive-doubling", "tree", …
  std::string description;  ///< one line
  std::vector<CollectiveKind> collectives;
  std::string rank_rule;  ///< in words: "any number of ranks >= 2", "a power of two"
  Runtime runtime = Runtime::Interpreter;  ///< who runs it: NCCL what NCCL has built in
  /// Does one thread block serve both directions of a peer, as MSCCL's own program has it?
  bool shares_blocks = false;
  /// Switches that must be able to copy and to add (Node::computes).
  SwitchUse switches = SwitchUse::None;
};

/// The shipped algorithms, in the order in which `list` shows them.
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithm_infos();
/// Throws UserError naming the nearest algorithm if there is none such.
[[nodiscard]] const AlgorithmInfo& algorithm_info(std::string_view name);
[[nodiscard]] bool supports(const AlgorithmInfo& algorithm, CollectiveKind collective);
/// How the algorithm is compiled for a runtime, and by the simulator where it simulates one: fused;
/// blocks serve both directions of a peer where shares_blocks says so, and otherwise one peer each
/// but for fused steps, so that nobody waits for a message that it does not need. Throws as
/// algorithm_info.
[[nodiscard]] CompileOptions deployed_compile_options(std::string_view algorithm);
/// Why the algorithm cannot run on this many ranks; nullopt if it can.
[[nodiscard]] std::optional<std::string> rank_misfit(std::string_view algorithm, int ranks);

/// The most thread blocks that any GPU has in one kernel of the program of a valid request with the
/// default compile options, in closed form: exact, but for tree AllReduce, recursive-doubling
/// AllGather, recursive-halving, halving-doubling, pat, nvls-tree, hierarchical,
/// hierarchical-all-pairs, two-step, three-step, linear, rabenseifner, butterfly,
/// scatter-allgather, bruck, neighbor-exchange and, on two ranks, spread-ring, where it is an upper
/// bound a few blocks above. Throws UserError naming the nearest algorithm if there is none
/// such.
[[nodiscard]] int thread_blocks_per_gpu(std::string_view algorithm,
                                        const AlgorithmRequest& request);

/// Traces the algorithm's program, without compiling it. Throws UserError as build_algorithm does.
[[nodiscard]] Program trace_algorithm(std::string_view name, const AlgorithmRequest& request);

/// Traces, compiles and verifies the algorithm's program. Throws UserError if the algorithm does
/// not have the collective, does not fit the ranks, channels < 1, or a ring is no permutation of
/// the ranks; std::logic_error if the
/// program fails its own verification (a bug of the library).
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> build_algorithm(
    std::string_view name, const AlgorithmRequest& request);

/// The outline (outline.hpp) of the program that build_algorithm would make, written down without
/// tracing, compiling and verifying it, which takes time and memory in proportion to the blocks of
/// all ranks, not to their steps; nullopt for programs for which the library cannot do that. Tests
/// compare it with the compiled program for many requests. Throws UserError as build_algorithm.
[[nodiscard]] std::optional<ProgramOutline> outline_algorithm(std::string_view name,
                                                              const AlgorithmRequest& request);

/// Logical rings for a fabric: link-disjoint Hamiltonian cycles over direct GPU-GPU links, each as
/// often as its narrowest link has units and in both directions (DGX-1: six rings from two cycles);
/// where GPUs meet in switches, the one ring 0, 1, …, n - 1.
///
/// Over several servers of G ranks, rings go through server after server. Inside each, they follow
/// the cycles of its direct links, or, where GPUs meet in switches, one ring for each rank follows
/// the order of the ranks. They are cut open so that channel after channel crosses by the NICs
/// least used. Where NICs of equal ranks are nearer to each other than those of others ("rails":
/// NICs on different network switches), every other server is passed through backwards, and the
/// rings cross between equal ranks.
///
/// Greedy: the widest cycle left (then the first in the order of the ranks) is taken until there is
/// none, or, on up to eight GPUs of one server, the cycle over the most free links one unit at a
/// time if that leaves room for more; on larger dense fabrics another choice might. Backtracking
/// with a step limit on up to 16 GPUs; with more, a ring of any size is found in linear time.
[[nodiscard]] std::vector<std::vector<int>> logical_rings(const Fabric& fabric);

}  // namespace cclgym
