// One number for each chunk-sized place in the memory of all ranks, so that passes over a program
// can keep data about places in flat arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/contract.hpp"

namespace cclgym {

/// Numbers the places rank by rank. With an in-place contract the two names of a place have one
/// number. Cost: O(ranks) memory, O(1) per lookup.
class MemoryLayout {
 public:
  /// `scratch_chunks`: by rank; empty: none.
  MemoryLayout(const Contract& contract, std::span<const std::int32_t> scratch_chunks);

  /// Number of a location's place; the location must be in range (see `chunks`).
  [[nodiscard]] std::size_t place(int rank, Buffer buffer, int index) const {
    return bases_[static_cast<std::size_t>(rank)].of(buffer) + static_cast<std::size_t>(index);
  }
  [[nodiscard]] std::size_t place(const Location& location) const {
    return place(location.rank, location.buffer, location.index);
  }
  /// Number of chunks in a rank's buffer.
  [[nodiscard]] std::int32_t chunks(int rank, Buffer buffer) const;
  /// Number of places on all ranks.
  [[nodiscard]] std::size_t size() const { return bases_.back().begin; }
  /// The places of a rank are [begin(rank), begin(rank + 1)).
  [[nodiscard]] std::size_t begin(int rank) const {
    return bases_[static_cast<std::size_t>(rank)].begin;
  }
  /// The canonical location (Contract::resolve) of a place of `rank`.
  [[nodiscard]] Location location(int rank, std::size_t place) const;

 private:
  struct Bases {
    std::size_t begin = 0;  ///< first place of the rank
    std::size_t input = 0;
    std::size_t output = 0;
    std::size_t scratch = 0;
    std::int32_t input_chunks = 0;
    std::int32_t output_chunks = 0;
    std::int32_t scratch_chunks = 0;

    [[nodiscard]] std::size_t of(Buffer buffer) const {
      return buffer == Buffer::Input ? input : buffer == Buffer::Output ? output : scratch;
    }
  };
  std::vector<Bases> bases_;  ///< by rank, and an end marker
};

}  // namespace cclgym
