// Declarations shared by the verifier's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/memory_layout.hpp"
#include "collectives/verifier/symbolic_memory.hpp"
#include "collectives/verifier/verify.hpp"

namespace cclgym::verifier {

/// Collects problems up to a limit, and counts the rest.
class Problems {
 public:
  explicit Problems(std::size_t limit) : limit_(limit) {}

  /// True if there is room for another description; avoids formatting texts that are not shown.
  [[nodiscard]] bool wants_text() const { return texts_.size() < limit_; }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::size_t room() const { return limit_ - texts_.size(); }

  /// `describe` gives the text of the problem.
  template <typename Describe>
  void add(const Describe& describe) {
    ++count_;
    if (wants_text()) texts_.push_back(describe());
  }
  void add_all(std::vector<std::string> texts, std::size_t count);
  [[nodiscard]] VerifyReport report() &&;

 private:
  std::size_t limit_;
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
};

/// The thread blocks of all ranks in one numbering, with the connections between them. Messages
/// that several kernels send on one connection are received by the same kernels, before the
/// messages of later kernels, so each kernel has its own connection here.
class BlockIndex {
 public:
  explicit BlockIndex(const ThreadBlockProgram& program);

  struct Entry {
    std::int32_t rank = 0;
    std::int32_t id = 0;      ///< on its rank
    std::int32_t sends = -1;  ///< connection, -1: none
    std::int32_t receives = -1;
    const ThreadBlock* block = nullptr;
  };
  struct Connection {
    std::int32_t source = 0;  ///< rank
    std::int32_t target = 0;  ///< rank
    std::int32_t channel = 0;
    std::int32_t kernel = 0;
    std::int32_t sender = -1;  ///< block, -1: none
    std::int32_t receiver = -1;
  };

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t block) const { return blocks_[block]; }
  [[nodiscard]] const Entry& operator[](std::int32_t block) const {
    return blocks_[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] std::size_t ranks() const { return first_.size() - 1; }
  /// First block of a rank; the blocks of a rank are consecutive.
  [[nodiscard]] std::size_t first(std::size_t rank) const { return first_[rank]; }
  [[nodiscard]] const std::vector<Connection>& connections() const { return connections_; }

 private:
  std::vector<Entry> blocks_;
  std::vector<std::size_t> first_;
  std::vector<Connection> connections_;
};

/// An executed step.
struct ExecutedStep {
  std::int32_t block = 0;  ///< in the BlockIndex
  std::int32_t step = 0;
};

/// Checks that the program is well formed, so that the other checks can rely on its indices.
void check_form(const ThreadBlockProgram& program, Problems& problems);

/// Checks that every switch operation runs: its transfer starts when all messages of its group can.
void check_switches(const ThreadBlockProgram& program, std::int32_t slots, Problems& problems);

/// Executes the program symbolically and checks deadlock, messages and data. Returns the steps in
/// order of execution.
std::vector<ExecutedStep> check_execution(const ThreadBlockProgram& program,
                                          const BlockIndex& blocks, std::int32_t slots,
                                          Problems& problems);

/// Values that an execution read and wrote.
struct ValueLog {
  std::vector<ValueId> initial;    ///< by place
  std::vector<std::size_t> first;  ///< row of executed step i: values [first[i], first[i + 1])
  /// For each step, the values read from its source, the values that a Reduce read from its target,
  /// and the values written to its target: `count` values each, if the step has that access.
  std::vector<ValueId> values;
};

/// Executes the program as check_execution does, and keeps the values read and written.
[[nodiscard]] ValueLog log_values(const ThreadBlockProgram& program, const BlockIndex& blocks,
                                  std::int32_t slots);

/// Looks for races among the executed steps.
void check_races(const ThreadBlockProgram& program, const BlockIndex& blocks,
                 const std::vector<ExecutedStep>& execution, std::int32_t slots,
                 Problems& problems);

/// A step of one GPU, with the steps of that GPU that precede it in every order.
struct OrderedStep {
  std::int32_t block = 0;  ///< on the GPU
  std::int32_t step = 0;
  std::size_t executed = 0;                ///< index into the execution
  std::vector<std::int32_t> known_before;  ///< by block of the GPU: number of preceding steps
};

/// Reports the racy places where the order matters, one problem each. `steps`: all steps of the GPU
/// in order of execution; `places`: in ascending order.
void check_racy_places(const ThreadBlockProgram& program, std::int32_t rank,
                       std::span<const OrderedStep> steps, std::span<const std::size_t> places,
                       const ValueLog& log, Problems& problems);

/// The problem of a program whose kernels wait for each other only at gates.
[[nodiscard]] std::string closed_gates();

/// " in kernel 2"; "" for the first kernel.
[[nodiscard]] std::string in_kernel(std::int32_t kernel);

/// Number of scratch chunks by rank.
[[nodiscard]] std::vector<std::int32_t> scratch_chunks(const ThreadBlockProgram& program);

}  // namespace cclgym::verifier
