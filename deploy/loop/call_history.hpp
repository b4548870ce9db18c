// Which calls a rank has made, as a hash that ranks compare.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/hash.hpp"

namespace cclgym {

/// A number of calls, and the hash of these calls' keys in order.
struct CallMark {
  std::uint64_t calls = 0;
  std::uint64_t hash = 0;
};

/// Hashes after each of the last kRemembered calls. One thread adds calls; others may ask.
class CallHistory {
 public:
  static constexpr std::size_t kRemembered = 1024;

  /// Adds a call before it is counted. Does not allocate or lock.
  void add(std::uint64_t key) {
    hash_ = mix_hash(hash_, key);
    hashes_[(added_ + 1) % kRemembered].store(hash_, std::memory_order_relaxed);
    ++added_;
  }
  /// The hash after the first `calls` calls; nullopt if it is forgotten. `made`: number of calls
  /// that are known to be counted, at least `calls`.
  [[nodiscard]] std::optional<std::uint64_t> after(std::uint64_t calls, std::uint64_t made) const {
    // One more call may be under way.
    if (made + 2 - calls > kRemembered) return std::nullopt;
    return hashes_[calls % kRemembered].load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t added_ = 0;
  std::array<std::atomic<std::uint64_t>, kRemembered> hashes_{};
};

}  // namespace cclgym
