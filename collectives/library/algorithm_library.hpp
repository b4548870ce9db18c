// The algorithm library: named algorithms and programs that runs, sweeps and tuners choose from.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithm_entry.hpp"
#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/contract.hpp"
#include "collectives/ir.hpp"
#include "collectives/outline.hpp"
#include "collectives/program.hpp"
#include "core/error.hpp"

namespace cclgym {

/// A list of entries with different names. It is a value: copies are cheap and independent of each
/// other. References to entries are valid while the library lives, until `add` is called on it.
class AlgorithmLibrary {
 public:
  AlgorithmLibrary() : entries_(std::make_shared<const std::vector<AlgorithmEntry>>()) {}
  /// The algorithms that come with cclgym, in the order in which `list` shows them.
  [[nodiscard]] static const AlgorithmLibrary& shipped();

  /// Registers an algorithm or a program at the end. An entry with the same name and program
  /// (program_hash) as an existing entry is not added again. Throws UserError if another entry has
  /// the name, or if the name is not valid: letters, digits, '.', '_' and '-', at most 100,
  /// beginning with a letter or a digit.
  void add(AlgorithmEntry entry);
  /// Adds the algorithm whose parameters the name spells ("hierarchical:8x4:ring+bruck",
  /// docs/collectives.md), if it has that form and is not in the library; otherwise does nothing.
  /// Throws UserError at `where` if the parameters are wrong.
  void add_spelled(std::string_view name, const SourceLocation& where = {});
  /// Adds the algorithms that the names spell, all at once; leaves out those whose parameters are
  /// wrong and those that are in the library.
  void add_buildable(const std::vector<std::string>& names);
  /// Adds the entries of another library that are not in this one; traced algorithms with the same
  /// name are assumed to be equal. Throws UserError as add() does.
  void add_all(const AlgorithmLibrary& other);

  [[nodiscard]] const std::vector<AlgorithmEntry>& entries() const { return *entries_; }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Entry of this name; nullptr if there is none.
  [[nodiscard]] const AlgorithmEntry* find(std::string_view name) const;
  /// Entry of this name. Throws UserError naming the nearest algorithm if there is none.
  [[nodiscard]] const AlgorithmEntry& at(std::string_view name) const;
  /// Index into entries(). Throws as at() does.
  [[nodiscard]] std::size_t index_of(std::string_view name) const;

 private:
  std::shared_ptr<const std::vector<AlgorithmEntry>> entries_;
};

[[nodiscard]] bool supports(const AlgorithmEntry& algorithm, CollectiveKind collective);
/// "allreduce, allgather": the algorithm's collectives, for messages.
[[nodiscard]] std::string collectives_text(const AlgorithmEntry& algorithm);
/// Reason why the algorithm cannot run on this many ranks; nullopt if it can.
[[nodiscard]] std::optional<std::string> check_ranks(const AlgorithmEntry& algorithm, int ranks);

/// Reason why the algorithm cannot serve a request whose collective and ranks fit; nullopt if it
/// can.
[[nodiscard]] std::optional<std::string> check_request(const AlgorithmEntry& algorithm,
                                                       const AlgorithmRequest& request);

/// Options with which the algorithm is compiled for a runtime, and for simulations of that runtime.
/// Instructions are fused. If shares_blocks is set, blocks serve both directions of a peer;
/// otherwise a block serves one peer, except for fused steps, so that no block waits for a message
/// that it does not need.
[[nodiscard]] CompileOptions deployed_compile_options(const AlgorithmEntry& algorithm);

/// Maximum number of thread blocks on one GPU in one kernel of the program of a valid request with
/// the default compile options, in closed form. It is exact, except for tree AllReduce,
/// recursive-doubling AllGather, recursive-halving, halving-doubling, pat, nvls-tree, hierarchical,
/// hierarchical-all-pairs, two-step, three-step, linear, rabenseifner, butterfly,
/// scatter-allgather, bruck, neighbor-exchange and, on two ranks, spread-ring, where it is an upper
/// bound a few blocks above. A fixed program is counted.
[[nodiscard]] int thread_blocks_per_gpu(const AlgorithmEntry& algorithm,
                                        const AlgorithmRequest& request);

/// Traces the algorithm's program, without compiling it. Throws UserError as build_algorithm does,
/// and for a fixed program.
[[nodiscard]] Program trace_algorithm(const AlgorithmEntry& algorithm,
                                      const AlgorithmRequest& request);

/// Throws ResourceError if the request's program cannot fit into the memory of this process
/// (AlgorithmEntry::memory, core/limits/memory_limit.hpp). `share`: part of that memory that the
/// work at hand takes; 1: for a simulation.
void require_program_memory(const AlgorithmEntry& algorithm, const AlgorithmRequest& request,
                            double share = 1);

/// Traces, compiles and verifies the algorithm's program; returns a fixed program as it is. Throws
/// UserError if the algorithm does not have the collective or does not fit the ranks, if channels <
/// 1, if a ring is not a permutation of the ranks, or if the request differs from a fixed program;
/// std::logic_error if the program fails its own verification (a bug of the algorithm), and
/// ResourceError if it cannot fit into memory.
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> build_algorithm(
    const AlgorithmEntry& algorithm, const AlgorithmRequest& request);

/// The outline (outline.hpp) of the program that build_algorithm would make, written without
/// tracing, compiling and verifying that program. It takes time and memory in proportion to the
/// blocks of all ranks, not to their steps. nullopt for programs for which the library cannot do
/// that. Tests compare it with the compiled program for many requests. Throws UserError as
/// build_algorithm does.
[[nodiscard]] std::optional<ProgramOutline> outline_algorithm(const AlgorithmEntry& algorithm,
                                                              const AlgorithmRequest& request);
/// The same with one channel for all that are alike (AlgorithmEntry::different_channels). If some
/// are, but the library cannot write the outline, the program with one channel of each kind is
/// compiled and verified. Throws as build_algorithm does.
[[nodiscard]] std::optional<ProgramOutline> outline_of_different_channels(
    const AlgorithmEntry& algorithm, const AlgorithmRequest& request);

}  // namespace cclgym
