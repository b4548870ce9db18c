// A lock-free queue of fixed capacity for several producers and one consumer.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace cclgym {

/// Dmitry Vyukov's bounded queue: a cell's turn tells whether its next access is a write or a read.
/// `Capacity` is a power of 2.
template <class Value, std::size_t Capacity>
class BoundedQueue {
  static_assert(Capacity > 1 && (Capacity & (Capacity - 1)) == 0);

 public:
  BoundedQueue() : cells_(std::make_unique<Cell[]>(Capacity)) {
    for (std::size_t i = 0; i < Capacity; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Returns false if the queue is full. May be called from any thread.
  bool push(const Value& value) {
    std::size_t place = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[place % Capacity];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == place) {
        if (tail_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
          cell.value = value;
          cell.turn.store(place + 1, std::memory_order_release);
          return true;
        }
      } else if (turn < place) {
        return false;
      } else {
        place = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  /// Returns false if the queue is empty. Must be called from one thread only.
  bool pop(Value& value) {
    Cell& cell = cells_[head_ % Capacity];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    value = cell.value;
    cell.turn.store(head_ + Capacity, std::memory_order_release);
    ++head_;
    return true;
  }

 private:
  struct Cell {
    std::atomic<std::size_t> turn{0};
    Value value{};
  };
  std::unique_ptr<Cell[]> cells_;
  std::atomic<std::size_t> tail_{0};
  std::size_t head_ = 0;
};

}  // namespace cclgym
