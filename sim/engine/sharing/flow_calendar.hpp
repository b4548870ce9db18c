// The event queue of the flow engine: a heap of distinct dates, each with a list of flows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/sharing/flow_slots.hpp"

namespace cclgym {

/// Each flow in flight has one event: the end of its latency or of its transfer. In symmetric
/// collectives thousands of events fall on the same date, so each date is stored once (a bucket)
/// with a list of its flows: adding to a recently used date costs O(1), a new date O(log dates). A
/// flow that moves leaves its old bucket at once, so the heap never holds more dates than there are
/// flows in flight.
class FlowCalendar {
 public:
  explicit FlowCalendar(FlowSlots& slots) : slots_(slots) { reset(); }

  void reset();

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The earliest date; the calendar must not be empty.
  [[nodiscard]] double next_date() const { return heap_.front().date_s; }

  /// Removes the earliest bucket and returns its flows as a list linked by FlowSlot::next, in the
  /// order in which they were added.
  FlowSlotId pop();

  void add(FlowSlotId slot, double date_s) {
    std::int32_t& cached = cache_[hash(date_s)];
    if (cached == kNone || bucket(cached).date_s != date_s) {
      cached = open_bucket(date_s);
    }
    Bucket& target = bucket(cached);
    FlowSlot& flow = slots_[slot];
    flow.bucket = cached;
    flow.next = kNone;
    flow.previous = target.tail;
    (target.tail == kNone ? target.head : slots_[target.tail].next) = slot;
    target.tail = slot;
  }

  void remove(FlowSlotId slot);

  /// Moves the event of a flow to another date.
  void move(FlowSlotId slot, double date_s);

 private:
  struct Bucket {
    double date_s;  ///< NaN while the bucket is free
    FlowSlotId head;
    FlowSlotId tail;
    std::int32_t heap_position;
  };
  struct Entry {
    double date_s;
    std::int32_t bucket;
  };
  static constexpr std::size_t kCacheBits = 6;
  static constexpr std::size_t kFanOut = 4;

  static std::size_t hash(double date_s) {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(date_s) * 0x9e3779b97f4a7c15U) >>
                                    (64 - kCacheBits));
  }
  Bucket& bucket(std::int32_t id) { return buckets_[static_cast<std::size_t>(id)]; }
  void place(std::size_t position, Entry entry) {
    heap_[position] = entry;
    bucket(entry.bucket).heap_position = static_cast<std::int32_t>(position);
  }
  void rise(std::size_t position, Entry entry);
  void sink(std::size_t position, Entry entry);
  void erase_from_heap(std::size_t position);
  std::int32_t open_bucket(double date_s);
  void close_bucket(std::int32_t id);

  FlowSlots& slots_;
  std::vector<Bucket> buckets_;
  std::vector<Entry> heap_;
  std::vector<std::int32_t> free_buckets_;
  std::array<std::int32_t, std::size_t{1} << kCacheBits> cache_{};
};

}  // namespace cclgym
