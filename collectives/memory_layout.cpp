#include "collectives/memory_layout.hpp"

#include <cassert>

namespace cclgym {

MemoryLayout::MemoryLayout(const Contract& contract, std::span<const std::int32_t> scratch_chunks) {
  std::size_t next = 0;
  bases_.reserve(static_cast<std::size_t>(contract.ranks()) + 1);
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    Bases bases;
    bases.begin = next;
    bases.input_chunks = contract.input_chunks(rank);
    bases.output_chunks = contract.output_chunks(rank);
    if (!scratch_chunks.empty()) {
      bases.scratch_chunks = scratch_chunks[static_cast<std::size_t>(rank)];
    }
    // In place, one buffer lies inside the other, and the canonical buffer gets the places.
    const Location input = contract.resolve({rank, Buffer::Input, 0});
    const Location output = contract.resolve({rank, Buffer::Output, 0});
    const auto place_buffer = [&next](std::int32_t chunks) {
      const std::size_t base = next;
      next += static_cast<std::size_t>(chunks);
      return base;
    };
    if (input.buffer == Buffer::Input) bases.input = place_buffer(bases.input_chunks);
    if (output.buffer == Buffer::Output) bases.output = place_buffer(bases.output_chunks);
    if (input.buffer == Buffer::Output) {
      bases.input = bases.output + static_cast<std::size_t>(input.index);
    }
    if (output.buffer == Buffer::Input) {
      bases.output = bases.input + static_cast<std::size_t>(output.index);
    }
    bases.scratch = place_buffer(bases.scratch_chunks);
    bases_.push_back(bases);
  }
  Bases end;
  end.begin = next;
  bases_.push_back(end);
}

std::int32_t MemoryLayout::chunks(int rank, Buffer buffer) const {
  const Bases& bases = bases_[static_cast<std::size_t>(rank)];
  switch (buffer) {
    case Buffer::Input:
      return bases.input_chunks;
    case Buffer::Output:
      return bases.output_chunks;
    case Buffer::Scratch:
      return bases.scratch_chunks;
  }
  return 0;
}

Location MemoryLayout::location(int rank, std::size_t place) const {
  const Bases& bases = bases_[static_cast<std::size_t>(rank)];
  assert(place >= bases.begin);
  const auto inside = [place](std::size_t base, std::int32_t chunks) {
    return place >= base && place < base + static_cast<std::size_t>(chunks);
  };
  Location location{rank, Buffer::Scratch, 0};
  // The larger of two buffers that share memory is canonical.
  const bool input_first = bases.input_chunks >= bases.output_chunks;
  const Buffer first = input_first ? Buffer::Input : Buffer::Output;
  const Buffer second = input_first ? Buffer::Output : Buffer::Input;
  for (const Buffer buffer : {first, second}) {
    if (location.buffer == Buffer::Scratch && inside(bases.of(buffer), chunks(rank, buffer))) {
      location.buffer = buffer;
    }
  }
  location.index = static_cast<int>(place - bases.of(location.buffer));
  return location;
}

}  // namespace cclgym
