// Numbers of the steps, sends and receives of each thread block.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/outline.hpp"

namespace cclgym {

/// A piece of a match between two blocks: from `from` until the next piece, iteration i of a step
/// in one block matches iteration i + shift of step `step` (an index into ProgramOutline::steps) in
/// the other.
struct IterationPiece {
  std::int32_t from = 0;
  std::uint32_t step = 0;
  std::int32_t shift = 0;
};

/// Numbers the steps, the sends and the receives of each block of an outline, each from 0 on in the
/// order in which the block runs them. The outline must outlive it.
class MessageIndex {
 public:
  enum class Of : std::uint8_t { Steps, Sends, Receives };

  explicit MessageIndex(const ProgramOutline& outline);

  /// Number of the first step, send or receive in a loop (an index into ProgramOutline::loops).
  [[nodiscard]] std::int32_t first(Of what, std::uint32_t loop) const {
    return table(what).loops[loop].first;
  }
  /// Number of steps, sends or receives in one iteration of a loop.
  [[nodiscard]] std::int32_t each(Of what, std::uint32_t loop) const {
    return table(what).loops[loop].each;
  }
  /// Number of steps, sends or receives in a block.
  [[nodiscard]] std::int32_t count(Of what, std::uint32_t block) const;

  /// Appends the pieces that cover the numbers `first`, `first` + stride, … (`times` of them) of a
  /// block: iteration i is number first + i * stride. Stops, and returns false, at the first number
  /// that the block does not have. If iterations do not advance together, each becomes a separate
  /// piece.
  bool find(Of what, std::uint32_t block, std::int32_t first, std::int32_t stride,
            std::int32_t times, std::vector<IterationPiece>& pieces) const;

 private:
  struct Numbers {  // numbers of a loop's messages
    std::int32_t first = 0;
    std::int32_t each = 0;
    std::uint32_t first_member = 0;
  };
  struct Table {
    std::vector<Numbers> loops;
    std::vector<std::uint32_t> members;  // the numbered steps, loop by loop; empty if all are
  };
  [[nodiscard]] const Table& table(Of what) const {
    return tables_[static_cast<std::size_t>(what)];
  }

  const ProgramOutline& outline_;
  std::vector<Table> tables_;  // by Of
};

}  // namespace cclgym
