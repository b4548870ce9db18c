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

namespace cclgym {

/// A list of entries with different names. A value: copies are cheap and independent of each other.
/// References to entries are valid until `add` is called on the library, and as long as it lives.
class AlgorithmLibrary {
 public:
  AlgorithmLibrary() : entries_(std::make_shared<const std::vector<AlgorithmEntry>>()) {}
  /// The algorithms that cclgym has, in the order in which `list` shows them.
  [[nodiscard]] static const AlgorithmLibrary& shipped();

  /// Registers an algorithm or a program, behind the ones that are there. An entry that is there
  /// already with the same name and the same program (program_hash) is not added twice. Throws
  /// UserError if the name is taken otherwise, or is no valid name: letters, digits, '.', '_' and
  /// '-', at most 100, beginning with a letter or a digit.
  void add(AlgorithmEntry entry);
  /// Adds the entries of another library that are not in this one; traced algorithms of one name
  /// are taken to be the same. Throws UserError as add().
  void add_all(const AlgorithmLibrary& other);

  [[nodiscard]] const std::vector<AlgorithmEntry>& entries() const { return *entries_; }
  [[nodiscard]] std::vector<std::string> names() const;
  /// nullptr if there is none of this name.
  [[nodiscard]] const AlgorithmEntry* find(std::string_view name) const;
  /// Throws UserError naming the nearest algorithm if there is none of this name.
  [[nodiscard]] const AlgorithmEntry& at(std::string_view name) const;
  /// Index into entries(). Throws as at().
  [[nodiscard]] std::size_t index_of(std::string_view name) const;

 private:
  std::shared_ptr<const std::vector<AlgorithmEntry>> entries_;
};

[[nodiscard]] bool supports(const AlgorithmEntry& algorithm, CollectiveKind collective);
/// "allreduce, allgather": the algorithm's collectives, for messages.
[[nodiscard]] std::string collectives_text(const AlgorithmEntry& algorithm);
/// Reason why the algorithm cannot run on this many ranks; nullopt if it can.
[[nodiscard]] std::optional<std::string> check_ranks(const AlgorithmEntry& algorithm, int ranks);

/// Options with which the algorithm is compiled for a runtime, and by the simulator where it
/// simulates one: fused; blocks serve both directions of a peer where shares_blocks says so, and
/// otherwise one peer each but for fused steps, so that nobody waits for a message that it does not
/// need.
[[nodiscard]] CompileOptions deployed_compile_options(const AlgorithmEntry& algorithm);

/// Maximum number of thread blocks that any GPU has in one kernel of the program of a valid request
/// with the default compile options, in closed form: exact, but for tree AllReduce,
/// recursive-doubling AllGather, recursive-halving, halving-doubling, pat, nvls-tree, hierarchical,
/// hierarchical-all-pairs, two-step, three-step, linear, rabenseifner, butterfly,
/// scatter-allgather, bruck, neighbor-exchange and, on two ranks, spread-ring, where it is an upper
/// bound a few blocks above. The program's own number for a fixed program.
[[nodiscard]] int thread_blocks_per_gpu(const AlgorithmEntry& algorithm,
                                        const AlgorithmRequest& request);

/// Traces the algorithm's program, without compiling it. Throws UserError as build_algorithm does,
/// and for a fixed program.
[[nodiscard]] Program trace_algorithm(const AlgorithmEntry& algorithm,
                                      const AlgorithmRequest& request);

/// Traces, compiles and verifies the algorithm's program; of a fixed program, the program itself.
/// Throws UserError if the algorithm does not have the collective, does not fit the ranks,
/// channels < 1, a ring is no permutation of the ranks, or the request differs from a fixed
/// program; std::logic_error if the program fails its own verification (a bug of the algorithm).
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> build_algorithm(
    const AlgorithmEntry& algorithm, const AlgorithmRequest& request);

/// The outline (outline.hpp) of the program that build_algorithm would make, written down without
/// tracing, compiling and verifying it, which takes time and memory in proportion to the blocks of
/// all ranks, not to their steps; nullopt for programs for which the library cannot do that. Tests
/// compare it with the compiled program for many requests. Throws UserError as build_algorithm.
[[nodiscard]] std::optional<ProgramOutline> outline_algorithm(const AlgorithmEntry& algorithm,
                                                              const AlgorithmRequest& request);

}  // namespace cclgym
