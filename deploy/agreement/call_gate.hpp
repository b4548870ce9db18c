// The next call of a rank, and the call before which it must stop.
#pragma once

#include <atomic>
#include <cstdint>

namespace cclgym {

/// Two threads meet here without a lock: the one that makes the communicator's calls, in order
/// (pass), and the one that takes part in the agreement (all others).
///
/// pass() announces its call before it reads the limit, and limit_at() sets the limit before it
/// reads the announcement, both in the single order of sequentially consistent operations. So at
/// least one of the two sees the other: no call passes a limit that limit_at() reported as set.
class CallGate {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  explicit CallGate(std::uint32_t table) : table_(table) {}
  CallGate(const CallGate& other)
      : next_(other.next_.load()), limit_(other.limit_.load()), table_(other.table_) {}
  CallGate& operator=(const CallGate& other) {
    next_ = other.next_.load();
    limit_ = other.limit_.load();
    table_ = other.table_;
    return *this;
  }
  ~CallGate() = default;

  /// Counts the next call and gives its table; false if it must wait at the limit. Does not
  /// allocate or lock.
  [[nodiscard]] bool pass(std::uint32_t& table) {
    const std::uint64_t call = next_.load(std::memory_order_relaxed);
    next_.store(call + 1);
    if (call < limit_.load()) {
      table = table_;
      return true;
    }
    next_.store(call);
    return false;
  }
  /// Number of the next call, or of the one after it while pass() is running.
  [[nodiscard]] std::uint64_t next() const { return next_.load(); }
  [[nodiscard]] std::uint64_t limit() const { return limit_.load(); }

  /// Sets the limit; false, without a change, if a call from it on may have been made.
  [[nodiscard]] bool limit_at(std::uint64_t call) {
    const std::uint64_t before = limit_.load();
    limit_.store(call);
    if (next_.load() <= call) return true;
    limit_.store(before);
    return false;
  }
  /// Raises the limit.
  void raise_limit(std::uint64_t call) { limit_.store(call); }
  /// Table of the calls up to the limit.
  [[nodiscard]] std::uint32_t table() const { return table_; }
  /// Changes the table. Only while the other thread waits at the limit.
  void use(std::uint32_t table) { table_ = table; }

 private:
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> limit_{kNone};
  std::uint32_t table_;
};

}  // namespace cclgym
