// A cache of fixed size for plain keys and values; allocates only when constructed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace cclgym {

/// Set-associative: a key has one set of kWays places; a full set evicts the least recently used
/// entry. May be shared by any number of threads: each set has its own lock, held for some
/// nanoseconds. `Hash` mixes all bits of a key into 64.
template <class Key, class Value, class Hash>
class BoundedCache {
 public:
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>);
  static constexpr std::size_t kWays = 8;

  /// Reserves room for at least `entries` values; the number of sets is a power of two. With 0,
  /// every find fails.
  explicit BoundedCache(std::size_t entries) {
    if (entries == 0) return;
    std::size_t sets = 1;
    while (sets * kWays < entries) sets *= 2;
    sets_ = std::make_unique<Set[]>(sets);
    mask_ = sets - 1;
  }

  [[nodiscard]] std::size_t capacity() const { return sets_ ? (mask_ + 1) * kWays : 0; }

  /// If the key is in the cache, copies its value to `value`.
  bool find(const Key& key, Value& value) {
    if (!sets_) return false;
    const std::uint64_t hash = Hash{}(key);
    Set& set = set_of(hash);
    const Lock lock(set);
    for (Entry& entry : set.entries) {
      if (entry.used != 0 && entry.key == key) {
        entry.used = ++set.clock;
        value = entry.value;
        return true;
      }
    }
    return false;
  }

  void insert(const Key& key, const Value& value) {
    if (!sets_) return;
    Set& set = set_of(Hash{}(key));
    const Lock lock(set);
    Entry* oldest = set.entries;
    for (Entry& entry : set.entries) {
      if (entry.used != 0 && entry.key == key) {
        oldest = &entry;
        break;
      }
      if (entry.used < oldest->used) oldest = &entry;
    }
    *oldest = {key, value, ++set.clock};
  }

  void clear() {
    if (!sets_) return;
    for (std::size_t i = 0; i <= mask_; ++i) {
      const Lock lock(sets_[i]);
      for (Entry& entry : sets_[i].entries) entry.used = 0;
    }
  }

 private:
  struct Entry {
    Key key{};
    Value value{};
    std::uint64_t used = 0;  ///< the set's clock at the last use; 0: free
  };
  struct Set {
    std::atomic_flag locked;
    std::uint64_t clock = 0;
    Entry entries[kWays];
  };
  class Lock {
   public:
    explicit Lock(Set& set) : set_(set) {
      while (set_.locked.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Lock() { set_.locked.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Set& set_;
  };
  // Skips the low bits, which are poor in a weak hash; ours (not std::hash) mixes all of them.
  Set& set_of(std::uint64_t hash) { return sets_[(hash >> 20U) & mask_]; }

  std::unique_ptr<Set[]> sets_;
  std::size_t mask_ = 0;
};

}  // namespace cclgym
