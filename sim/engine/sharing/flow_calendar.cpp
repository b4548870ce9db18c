#include "sim/engine/sharing/flow_calendar.hpp"

#include <algorithm>

namespace cclgym {

void FlowCalendar::reset() {
  buckets_.clear();
  heap_.clear();
  free_buckets_.clear();
  cache_.fill(kNone);
}

void FlowCalendar::rise(std::size_t position, Entry entry) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / kFanOut;
    if (!(entry.date_s < heap_[parent].date_s)) {
      break;
    }
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

void FlowCalendar::sink(std::size_t position, Entry entry) {
  for (;;) {
    const std::size_t first = position * kFanOut + 1;
    if (first >= heap_.size()) {
      break;
    }
    // No branch could be predicted from dates, so the first of the least is found without branches
    // if there are all children.
    const auto less = [this](std::size_t a, std::size_t b) -> std::size_t {
      return heap_[a].date_s < heap_[b].date_s ? 1 : 0;
    };
    std::size_t least = first;
    if (first + kFanOut <= heap_.size()) {
      static_assert(kFanOut == 4);
      const std::size_t low = first + less(first + 1, first);
      const std::size_t high = first + 2 + less(first + 3, first + 2);
      least = low + (high - low) * less(high, low);
    } else {
      for (std::size_t child = first + 1; child < heap_.size(); ++child) {
        if (less(child, least) != 0) least = child;
      }
    }
    if (!(heap_[least].date_s < entry.date_s)) {
      break;
    }
    place(position, heap_[least]);
    position = least;
  }
  place(position, entry);
}

void FlowCalendar::erase_from_heap(std::size_t position) {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) {
    return;
  }
  if (position > 0 && last.date_s < heap_[(position - 1) / kFanOut].date_s) {
    rise(position, last);
  } else {
    sink(position, last);
  }
}

std::int32_t FlowCalendar::open_bucket(double date_s) {
  std::int32_t id = kNone;
  if (free_buckets_.empty()) {
    id = static_cast<std::int32_t>(buckets_.size());
    buckets_.emplace_back();
  } else {
    id = free_buckets_.back();
    free_buckets_.pop_back();
  }
  bucket(id) = {date_s, kNone, kNone, kNone};
  heap_.emplace_back();
  rise(heap_.size() - 1, {date_s, id});
  return id;
}

void FlowCalendar::close_bucket(std::int32_t id) {
  bucket(id).date_s = std::numeric_limits<double>::quiet_NaN();
  free_buckets_.push_back(id);
}

FlowSlotId FlowCalendar::pop() {
  const std::int32_t id = heap_.front().bucket;
  const FlowSlotId head = bucket(id).head;
  erase_from_heap(0);
  close_bucket(id);
  return head;
}

void FlowCalendar::remove(FlowSlotId slot) {
  const FlowSlot& flow = slots_[slot];
  Bucket& from = bucket(flow.bucket);
  (flow.previous == kNone ? from.head : slots_[flow.previous].next) = flow.next;
  (flow.next == kNone ? from.tail : slots_[flow.next].previous) = flow.previous;
  if (from.head == kNone) {
    erase_from_heap(static_cast<std::size_t>(from.heap_position));
    close_bucket(flow.bucket);
  }
}

void FlowCalendar::move(FlowSlotId slot, double date_s) {
  const std::int32_t own = slots_[slot].bucket;
  std::int32_t& cached = cache_[hash(date_s)];
  const bool known = cached != kNone && bucket(cached).date_s == date_s;
  if (known || bucket(own).head != bucket(own).tail) {
    remove(slot);
    add(slot, date_s);
    return;
  }
  // This is the only flow in its bucket (usual if every flow has its own date): move the bucket.
  const auto position = static_cast<std::size_t>(bucket(own).heap_position);
  const bool earlier = date_s < bucket(own).date_s;
  bucket(own).date_s = date_s;
  cached = own;
  if (earlier) {
    rise(position, {date_s, own});
  } else {
    sink(position, {date_s, own});
  }
}

}  // namespace cclgym
