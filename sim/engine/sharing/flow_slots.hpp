// The flows in flight of the flow engine: one cache line each, recycled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

using FlowSlotId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

/// A started, unfinished firing: waiting for its latency to pass, or moving bytes.
struct alignas(64) FlowSlot {
  double bytes_left = 0;  ///< bytes left at the date `since_s`
  double rate_Bps = 0;    ///< rate since `since_s`; 0 during its latency
  double since_s = 0;     ///< date of the last change of rate
  double bound_Bps = 0;   ///< rate when nothing is shared: min(cap, narrowest link)
  double target_Bps = 0;  ///< rate from the last settling; negative while undecided
  TransferId node = kNone;
  std::int32_t hops = kNone;  ///< links it occupies; kNone during its latency
  std::int32_t bucket = kNone;
  FlowSlotId next = kNone;
  FlowSlotId previous = kNone;
  std::uint32_t mark = 0;
};

/// A pool of slots. After `reset` slots are allocated in the same order in every run.
class FlowSlots {
 public:
  FlowSlot& operator[](FlowSlotId id) { return slots_[static_cast<std::size_t>(id)]; }
  const FlowSlot& operator[](FlowSlotId id) const { return slots_[static_cast<std::size_t>(id)]; }

  FlowSlotId allocate() {
    if (free_ != kNone) {
      const FlowSlotId id = free_;
      free_ = (*this)[id].next;
      return id;
    }
    if (static_cast<std::size_t>(used_) == slots_.size()) {
      slots_.emplace_back();
    }
    return used_++;
  }

  void release(FlowSlotId id) {
    (*this)[id].next = free_;
    free_ = id;
  }

  void reset() {
    free_ = kNone;
    used_ = 0;
  }

  void clear_marks() {
    for (FlowSlot& slot : slots_) {
      slot.mark = 0;
    }
  }

 private:
  std::vector<FlowSlot> slots_;
  FlowSlotId free_ = kNone;
  std::int32_t used_ = 0;
};

}  // namespace cclgym
