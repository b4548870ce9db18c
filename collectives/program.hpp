// The chunk DSL: a collective is written as a C++ program that moves references to chunks, in the
// style of MSCCLang (Cowan et al., ASPLOS 2023, section 3). Running it traces it into a Program.
//
//   ProgramBuilder p("ring", Contract::make(CollectiveKind::AllGather, n, 1));
//   for (int rank = 0; rank < n; ++rank) {
//     ChunkRef c = p.chunk(rank, Buffer::Input, 0).copy(rank, Buffer::Output, rank);
//     for (int step = 1; step < n; ++step) c = c.copy((rank + step) % n, Buffer::Output, rank);
//   }
//   ThreadBlockProgram compiled = compile(p.finish());
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/ir.hpp"
#include "collectives/memory_layout.hpp"

namespace cclgym {

/// The compiler chooses the channel.
inline constexpr std::int32_t kAutoChannel = -1;

enum class OperationKind : std::uint8_t {
  Copy,   ///< target = source
  Reduce  ///< target = target + source
};

[[nodiscard]] std::string_view to_string(OperationKind kind);

/// One traced operation on `count` chunks starting at `source` and `target`. It is remote (a
/// message) if the two are on different ranks.
struct Operation {
  OperationKind kind = OperationKind::Copy;
  std::int32_t channel = 0;  ///< or kAutoChannel
  std::int32_t count = 1;
  Location source;
  Location target;
  /// The compiler splits it into this many operations, each with its part of the data and its own
  /// channel.
  std::int32_t parallel = 1;
  /// Only these of them: `first_instance`, `first_instance` + `instance_step`, ….
  std::int32_t first_instance = 0;
  std::int32_t instance_step = 1;
  std::int32_t kernel = 0;  ///< launch that it belongs to (ProgramBuilder::next_kernel)
  /// Operations of one group are carried out at once by the switches on their route
  /// (ChunkRef::multicast, ChunkRef::reduce_in_switch); kNoGroup: by GPUs.
  std::int32_t group = kNoGroup;
  std::int32_t answers = kNoGroup;  ///< Instruction::answers
  bool device = false;              ///< OperationOptions::device

  [[nodiscard]] bool remote() const { return source.rank != target.rank; }
  /// True if both are split into the same parts.
  [[nodiscard]] bool has_instances_of(const Operation& other) const {
    return parallel == other.parallel && first_instance == other.first_instance &&
           instance_step == other.instance_step;
  }
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// "copy of rank 0 input[3] to rank 1 output[3]", "reduce of rank 1 input[3] into rank 2 input[3]".
[[nodiscard]] std::string describe(const Operation& operation);

/// A traced program. Its meaning is the result of running the operations one after another; the
/// compiler preserves that result and runs operations on different places in parallel.
struct Program {
  std::string name;
  Contract contract;
  std::int32_t channels = 1;                 ///< one more than the highest named channel
  std::vector<std::int32_t> scratch_chunks;  ///< by rank
  /// In trace order; "operation 17" is operations[17]. Kernel numbers never decrease.
  std::vector<Operation> operations;
  std::vector<KernelGate> gates{};

  [[nodiscard]] std::int32_t kernels() const {
    return operations.empty() ? 1 : operations.back().kernel + 1;
  }
};

struct OperationOptions {
  /// Channel of a remote operation's connection, >= 0. By default the compiler takes the lowest
  /// channel on which all operations of a fusable chain stay together.
  int channel = kAutoChannel;
  /// Copies inside a GPU: a copy kernel of the whole GPU makes the copy, at the rate of the GPU's
  /// memory, not a thread block of the program.
  bool device = false;
};

class ProgramBuilder;

/// A reference to `count` consecutive chunks, as they are at this point of the program.
///
/// The freshness rule: a reference is stale as soon as one of its locations has been overwritten,
/// and a stale reference cannot be used. The program therefore states which version of the data it
/// means, and every order of execution that respects its dependencies gives the same result.
class ChunkRef {
 public:
  [[nodiscard]] int rank() const { return location_.rank; }
  [[nodiscard]] Buffer buffer() const { return location_.buffer; }
  [[nodiscard]] int index() const { return location_.index; }
  [[nodiscard]] int count() const { return count_; }

  /// Copies the chunks to `count()` locations starting at (rank, buffer, index); returns a
  /// reference to them. Throws UserError naming the operation: stale reference, bad rank, index out
  /// of range, overlap of source and target, negative channel, a device copy between two ranks.
  ChunkRef copy(int rank, Buffer buffer, int index, OperationOptions options = {}) const;

  /// Adds the chunks of `other` (on any rank, the same number) to these, in place; returns the new
  /// reference to this location. Throws UserError as copy does, and if the counts differ.
  ChunkRef reduce(const ChunkRef& other, OperationOptions options = {}) const;

  /// Copies the chunks to `count()` locations starting at (rank, buffer, index) on each of `ranks`,
  /// in one transfer: they are sent once and the switches on the route copy them (NVLS:
  /// multimem.st). Loads this rank's links like a single copy. Throws UserError as copy does, and
  /// if `ranks` contains this rank or a duplicate.
  void multicast(std::span<const int> ranks, Buffer buffer, int index,
                 OperationOptions options = {}) const;

  /// Adds the chunks of all `others`, each on another rank, to these, in place; returns the new
  /// reference to this location. The switches on the route add them (NVLS: multimem.ld_reduce;
  /// SHARP), so that this rank receives only the sum. Throws UserError as reduce does, and if two
  /// references are on one rank.
  ChunkRef reduce_in_switch(std::span<const ChunkRef> others, OperationOptions options = {}) const;

  /// Adds the chunks of all `others`, each on another rank, to these, and copies the sum to the
  /// places of all `others`, in one transfer: the switches send the sum back as soon as they have
  /// it (SHARP). Returns the new reference to this location. Throws UserError as reduce_in_switch
  /// does.
  ChunkRef all_reduce_in_switch(std::span<const ChunkRef> others,
                                OperationOptions options = {}) const;

 private:
  friend class ProgramBuilder;
  ChunkRef(ProgramBuilder* program, const Location& location, int count, std::int32_t taken_at)
      : program_(program), location_(location), count_(count), taken_at_(taken_at) {}

  ProgramBuilder* program_;
  Location location_;
  int count_;
  std::int32_t taken_at_;  ///< number of operations traced before the reference was taken
};

/// While it lives, each traced operation becomes `instances` operations, each on an equal part of
/// the data: the directive `parallelize` (MSCCLang, section 5.1). Instance i of an operation on
/// channel k runs on channel k + i. Scopes nest: their numbers multiply.
///
/// A scope may trace only every `step`-th instance from `first` on. So parts of the data can take
/// different ways (rings in different orders), each in a scope of its own. A reference is stale as
/// soon as any part of its chunks is overwritten.
class ParallelScope {
 public:
  ParallelScope(const ParallelScope&) = delete;
  ParallelScope& operator=(const ParallelScope&) = delete;
  ~ParallelScope();

 private:
  friend class ProgramBuilder;
  ParallelScope(ProgramBuilder& program, int instances, int first, int step);
  ProgramBuilder& program_;
  Operation outer_;
};

/// Traces a program. References must not outlive the builder.
class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, Contract contract);
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  /// The latest reference to `count` chunks starting at (rank, buffer, index). Throws UserError on
  /// a bad rank, an index out of range, a count < 1 or a location that holds nothing yet.
  [[nodiscard]] ChunkRef chunk(int rank, Buffer buffer, int index, int count = 1);

  /// Opens a scope of `instances` parallel instances; it ends when the returned object is
  /// destroyed. Throws UserError on instances < 1.
  [[nodiscard]] ParallelScope parallelize(int instances);

  /// The same for the instances `first`, `first` + `step`, … below `instances` only. Throws
  /// UserError if there are none, on step < 1, and if one of two nested scopes is such a scope.
  [[nodiscard]] ParallelScope parallelize(int instances, int first, int step);

  /// The following operations belong to the next kernel: on every GPU they start when all of the
  /// GPU's earlier kernels are done, as with separate launches on one stream. GPUs do not wait for
  /// each other, except at gates. No effect while the current kernel has no operations. Throws
  /// UserError on more than kMostKernels.
  void next_kernel();

  /// The current kernel starts on `rank` only when it is done on rank `after` (KernelGate). Throws
  /// UserError on a bad rank.
  void gate(int rank, int after);

  [[nodiscard]] const Contract& contract() const { return program_.contract; }

  /// The traced program. Using the builder or its references afterwards is a UserError.
  [[nodiscard]] Program finish();

 private:
  friend class ChunkRef;
  friend class ParallelScope;
  /// State of a location: the operation that wrote it last, or one of these.
  static constexpr std::int32_t kInitial = -1;        ///< holds its input chunk
  static constexpr std::int32_t kUninitialised = -2;  ///< holds nothing

  ChunkRef add(Operation operation, const ChunkRef& source, const ChunkRef* target);
  [[nodiscard]] std::int32_t& last_writer(const Location& location, int offset);
  void grow_scratch(const Location& location, int count);
  void require_range(const Location& location, int count, const Operation* operation) const;
  void require_fresh(const ChunkRef& reference, const Operation& operation);
  void require_disjoint(const Operation& operation) const;
  /// `operation` is the operation being traced; nullptr for a call of chunk().
  [[noreturn]] void fail(const Operation* operation, const std::string& reason) const;
  /// While it lives, operations between `rank` and `others`, which must be distinct, form one
  /// group.
  struct GroupScope {
    GroupScope(ProgramBuilder& builder, int rank, std::vector<int> others,
               std::int32_t answers = kNoGroup);
    GroupScope(const GroupScope&) = delete;
    GroupScope& operator=(const GroupScope&) = delete;
    ~GroupScope() { program.group_ = program.answers_ = kNoGroup; }
    ProgramBuilder& program;
  };

  std::int32_t group_ = kNoGroup;    ///< for the following operations
  std::int32_t answers_ = kNoGroup;  ///< for the following operations
  std::int32_t groups_ = 0;
  bool finished_ = false;
  Operation split_;          ///< the split of the following operations: product of the open scopes
  std::int32_t kernel_ = 0;  ///< for the following operations
  Program program_;
  MemoryLayout layout_;
  std::vector<std::int32_t> last_writer_;           ///< by place: input and output
  std::vector<std::vector<std::int32_t>> scratch_;  ///< by rank and index
};

}  // namespace cclgym
