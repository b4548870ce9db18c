#include "collectives/verifier/symbolic_memory.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "core/hash.hpp"

namespace cclgym {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return splitmix64_finaliser(hash + word + kGoldenRatio);
}

std::uint64_t hash_terms(std::span<const ValueTerm> terms) {
  std::uint64_t hash = 0;
  for (const ValueTerm& term : terms) {
    hash = mix(hash, static_cast<std::uint64_t>(term.begin));
    hash = mix(hash, static_cast<std::uint64_t>(term.end));
    hash = mix(hash, static_cast<std::uint64_t>(term.multiplicity));
  }
  return hash;
}

std::int32_t add_multiplicities(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  return a > kMost - b ? kMost : a + b;  // a wrong program may double without end
}

}  // namespace

std::span<const ValueTerm> ValueTable::terms(ValueId value) const {
  const auto i = static_cast<std::size_t>(value);
  return {terms_.data() + first_[i], first_[i + 1] - first_[i]};
}

void ValueTable::append(const ValueTerm& term) {
  if (!work_.empty() && work_.back().end == term.begin &&
      work_.back().multiplicity == term.multiplicity) {
    work_.back().end = term.end;
  } else {
    work_.push_back(term);
  }
}

ValueId ValueTable::single(std::int64_t chunk) {
  work_.assign(1, {chunk, chunk + 1, 1});
  return intern();
}

ValueId ValueTable::set(std::span<const std::int64_t> chunks) {
  work_.clear();
  for (const std::int64_t chunk : chunks) append({chunk, chunk + 1, 1});
  return intern();
}

ValueId ValueTable::sum(ValueId a, ValueId b) {
  work_.clear();
  const auto left = terms(a);
  const auto right = terms(b);
  std::size_t i = 0;
  std::size_t j = 0;
  // Remainder of each side's current interval.
  ValueTerm x = left.empty() ? ValueTerm{} : left[0];
  ValueTerm y = right.empty() ? ValueTerm{} : right[0];
  const auto next_left = [&] {
    if (++i < left.size()) x = left[i];
  };
  const auto next_right = [&] {
    if (++j < right.size()) y = right[j];
  };
  while (i < left.size() && j < right.size()) {
    if (x.end <= y.begin) {
      append(x);
      next_left();
    } else if (y.end <= x.begin) {
      append(y);
      next_right();
    } else if (x.begin != y.begin) {
      ValueTerm& early = x.begin < y.begin ? x : y;
      const std::int64_t cut = std::max(x.begin, y.begin);
      append({early.begin, cut, early.multiplicity});
      early.begin = cut;
    } else {
      const std::int64_t end = std::min(x.end, y.end);
      append({x.begin, end, add_multiplicities(x.multiplicity, y.multiplicity)});
      x.begin = y.begin = end;
      if (x.begin == x.end) next_left();
      if (y.begin == y.end) next_right();
    }
  }
  while (i < left.size()) {
    append(x);
    next_left();
  }
  while (j < right.size()) {
    append(y);
    next_right();
  }
  return intern();
}

ValueId ValueTable::intern() {
  if (2 * (hashes_.size() + 1) > buckets_.size()) {
    buckets_.assign(std::max<std::size_t>(64, 2 * buckets_.size()), kUninitialisedValue);
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      std::size_t slot = hashes_[i] & (buckets_.size() - 1);
      while (buckets_[slot] >= 0) slot = (slot + 1) & (buckets_.size() - 1);
      buckets_[slot] = static_cast<ValueId>(i);
    }
  }
  const std::uint64_t hash = hash_terms(work_);
  std::size_t slot = hash & (buckets_.size() - 1);
  for (; buckets_[slot] >= 0; slot = (slot + 1) & (buckets_.size() - 1)) {
    const ValueId candidate = buckets_[slot];
    if (hashes_[static_cast<std::size_t>(candidate)] == hash &&
        std::ranges::equal(terms(candidate), work_)) {
      return candidate;
    }
  }
  const auto value = static_cast<ValueId>(hashes_.size());
  buckets_[slot] = value;
  hashes_.push_back(hash);
  terms_.insert(terms_.end(), work_.begin(), work_.end());
  first_.push_back(terms_.size());
  return value;
}

SymbolicMemory::SymbolicMemory(const Contract& contract,
                               std::span<const std::int32_t> scratch_chunks)
    : contract_(contract),
      layout_(contract, scratch_chunks),
      values_(layout_.size(), kUninitialisedValue) {
  for (int rank = 0; rank < contract.ranks(); ++rank) {
    for (int index = 0; index < contract.input_chunks(rank); ++index) {
      if (const auto chunk = contract.precondition(rank, index)) {
        values_[layout_.place(rank, Buffer::Input, index)] = table_.single(chunk_id(*chunk));
      }
    }
  }
}

ValueId SymbolicMemory::sum(ValueId a, ValueId b) {
  return a < 0 || b < 0 ? kPoisonedValue : table_.sum(a, b);
}

std::int64_t SymbolicMemory::chunk_id(const ChunkId& chunk) const {
  return static_cast<std::int64_t>(chunk.index) * contract_.ranks() + chunk.rank;
}

ValueId SymbolicMemory::required(const RequiredValue& chunks) {
  ids_.clear();
  for (const ChunkId& chunk : chunks) ids_.push_back(chunk_id(chunk));
  std::sort(ids_.begin(), ids_.end());
  return table_.set(ids_);
}

std::size_t SymbolicMemory::check_outputs(std::vector<std::string>& problems, std::size_t limit) {
  std::size_t wrong = 0;
  // All ranks of an AllReduce must hold the same value, a list with one entry per rank, so each
  // value is built once.
  std::vector<ValueId> of_index;
  for (int rank = 0; rank < contract_.ranks(); ++rank) {
    for (int index = 0; index < contract_.output_chunks(rank); ++index) {
      ValueId expected = kUninitialisedValue;
      if (contract_.kind() == CollectiveKind::AllReduce && rank > 0) {
        expected = of_index[static_cast<std::size_t>(index)];
      } else {
        const auto chunks = contract_.postcondition(rank, index);
        if (!chunks) continue;
        expected = required(*chunks);
        if (contract_.kind() == CollectiveKind::AllReduce) of_index.push_back(expected);
      }
      const ValueId held = values_[layout_.place(rank, Buffer::Output, index)];
      if (held == expected || held == kPoisonedValue) continue;
      if (wrong++ >= limit) continue;
      problems.push_back(fmt::format("wrong output: {} holds {}, must hold {}",
                                     describe_location({rank, Buffer::Output, index}),
                                     describe(held), describe(expected)));
    }
  }
  return wrong;
}

std::string SymbolicMemory::describe(ValueId value) const {
  if (value == kUninitialisedValue) return "nothing";
  if (value == kPoisonedValue) return "an undefined value";
  constexpr std::size_t kMostParts = 8;
  const std::int64_t ranks = contract_.ranks();
  std::size_t parts = 0;
  std::string text = "{";
  for (const ValueTerm& term : table_.terms(value)) {
    for (std::int64_t id = term.begin; id < term.end;) {
      if (parts++ >= kMostParts) return text + ", …}";
      const std::int64_t index = id / ranks;
      const std::int64_t end = std::min(term.end, (index + 1) * ranks);
      const std::int64_t first = id - index * ranks;
      const std::int64_t last = end - 1 - index * ranks;
      text += fmt::format("{}input[{}] of rank", parts > 1 ? ", " : "", index);
      text += first == last ? fmt::format(" {}", first) : fmt::format("s {}-{}", first, last);
      if (term.multiplicity > 1) text += fmt::format(" {} times", term.multiplicity);
      id = end;
    }
  }
  return text + "}";
}

}  // namespace cclgym
