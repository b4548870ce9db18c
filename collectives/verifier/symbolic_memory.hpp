// Memory whose places hold reductions of input chunks instead of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/memory_layout.hpp"

namespace cclgym {

/// Id of a symbolic value; equal values have equal ids.
using ValueId = std::int32_t;

/// Value of a place that has not been written.
inline constexpr ValueId kUninitialisedValue = -1;
/// Result of a step that was reported as wrong: its uses are not reported again.
inline constexpr ValueId kPoisonedValue = -2;

/// The chunks with ids [begin, end), each `multiplicity` times. The id of input chunk (rank, index)
/// is index * ranks + rank, so the reduction of one index over neighbouring ranks is one interval.
struct ValueTerm {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t multiplicity = 1;
  friend bool operator==(const ValueTerm&, const ValueTerm&) = default;
};

/// Hash-consed multisets of input chunks, each a sorted list of disjoint, maximal intervals. The
/// cost of a sum is linear in the intervals of its operands (rings and trees have only a few).
class ValueTable {
 public:
  [[nodiscard]] ValueId single(std::int64_t chunk);
  [[nodiscard]] ValueId sum(ValueId a, ValueId b);
  /// The value of these chunk ids, which must be in ascending order.
  [[nodiscard]] ValueId set(std::span<const std::int64_t> chunks);
  [[nodiscard]] std::span<const ValueTerm> terms(ValueId value) const;

 private:
  void append(const ValueTerm& term);
  ValueId intern();  ///< the id of the terms in work_

  std::vector<std::size_t> first_{0};  ///< value i: terms [first_[i], first_[i + 1])
  std::vector<ValueTerm> terms_;
  std::vector<ValueId> buckets_;  ///< open addressing; kUninitialisedValue: free
  std::vector<std::uint64_t> hashes_;
  std::vector<ValueTerm> work_;
};

/// The memory of all ranks, initialised from the contract's precondition.
class SymbolicMemory {
 public:
  SymbolicMemory(const Contract& contract, std::span<const std::int32_t> scratch_chunks);

  [[nodiscard]] const MemoryLayout& layout() const { return layout_; }
  [[nodiscard]] ValueId read(std::size_t place) const { return values_[place]; }
  void write(std::size_t place, ValueId value) { values_[place] = value; }
  /// The sum of two values, poisoned if either operand holds no value.
  [[nodiscard]] ValueId sum(ValueId a, ValueId b);

  /// Adds one line for each output location that does not hold the required value, at most `limit`
  /// of them; returns the total number of wrong locations. Poisoned locations do not count.
  std::size_t check_outputs(std::vector<std::string>& problems, std::size_t limit);

  /// "{input[5] of ranks 0-2, input[5] of rank 4 2 times}".
  [[nodiscard]] std::string describe(ValueId value) const;

 private:
  [[nodiscard]] std::int64_t chunk_id(const ChunkId& chunk) const;
  [[nodiscard]] ValueId required(const RequiredValue& chunks);

  const Contract& contract_;
  MemoryLayout layout_;
  ValueTable table_;
  std::vector<ValueId> values_;  ///< by place
  std::vector<std::int64_t> ids_;
};

}  // namespace cclgym
