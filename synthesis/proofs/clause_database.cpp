#include "synthesis/proofs/clause_database.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

ClauseDatabase::ClauseDatabase(int variables)
    : variables_(variables), watches_(2 * at(variables) + 2), values_(2 * at(variables) + 2, 0) {}

std::size_t ClauseDatabase::index(int literal) {
  return literal > 0 ? 2 * at(literal) : 2 * at(-literal) + 1;
}

std::uint64_t ClauseDatabase::hash(std::span<const int> literals) {
  std::uint64_t sum = 0;
  for (const int literal : literals) sum += splitmix64_finaliser(index(literal));
  return sum;
}

void ClauseDatabase::assign(int literal) {
  values_[index(literal)] = 1;
  values_[index(-literal)] = -1;
  trail_.push_back(literal);
}

void ClauseDatabase::add(std::span<const int> literals) {
  const auto id = static_cast<std::uint32_t>(clauses_.size());
  const std::size_t first = literals_.size();
  clauses_.push_back({.first = first, .size = static_cast<std::uint32_t>(literals.size())});
  by_hash_.emplace(hash(literals), id);
  literals_.insert(literals_.end(), literals.begin(), literals.end());
  // Literals that are not false come first, to be watched.
  int* const clause = literals_.data() + first;
  const auto end = std::stable_partition(clause, clause + literals.size(),
                                         [&](int literal) { return value(literal) >= 0; });
  const auto open = end - clause;
  if (open == 0) {
    contradiction_ = true;
    return;
  }
  if (literals.size() >= 2) {
    watches_[index(clause[0])].push_back({id, clause[1]});
    watches_[index(clause[1])].push_back({id, clause[0]});
  }
  if (open == 1 && value(clause[0]) == 0) {
    assign(clause[0]);
    if (!propagate()) contradiction_ = true;
  }
}

bool ClauseDatabase::remove(std::span<const int> literals) {
  std::vector<int> wanted(literals.begin(), literals.end());
  std::sort(wanted.begin(), wanted.end());
  const auto [begin, end] = by_hash_.equal_range(hash(literals));
  for (auto entry = begin; entry != end; ++entry) {
    Clause& clause = clauses_[entry->second];
    const auto first = literals_.begin() + static_cast<std::ptrdiff_t>(clause.first);
    std::vector<int> found(first, first + clause.size);
    std::sort(found.begin(), found.end());
    if (found != wanted) continue;
    clause.removed = true;
    by_hash_.erase(entry);
    return true;
  }
  return false;
}

bool ClauseDatabase::implies(std::span<const int> literals) {
  if (contradiction_) return true;
  const std::size_t kept = trail_.size();
  bool conflict = false;
  for (const int literal : literals) {
    // A literal that is true already contradicts its negation.
    if (value(literal) > 0) conflict = true;
    if (value(literal) == 0) assign(-literal);
  }
  conflict = conflict || !propagate();
  while (trail_.size() > kept) {
    values_[index(trail_.back())] = 0;
    values_[index(-trail_.back())] = 0;
    trail_.pop_back();
  }
  propagated_ = kept;
  return conflict;
}

bool ClauseDatabase::propagate() {
  while (propagated_ < trail_.size()) {
    if (!propagate_literal(-trail_[propagated_++])) return false;
  }
  return true;
}

bool ClauseDatabase::propagate_literal(int falsified) {
  std::vector<Watch>& watches = watches_[index(falsified)];
  std::size_t kept = 0;
  bool consistent = true;
  for (std::size_t k = 0; k < watches.size(); ++k) {
    const Watch watch = watches[k];
    if (!consistent || value(watch.blocker) > 0) {
      watches[kept++] = watch;
      continue;
    }
    const Clause& clause = clauses_[watch.clause];
    if (clause.removed) continue;
    int* const literals = literals_.data() + clause.first;
    if (literals[0] == falsified) std::swap(literals[0], literals[1]);
    const int other = literals[0];
    if (value(other) > 0) {
      watches[kept++] = {watch.clause, other};
      continue;
    }
    int* const end = literals + clause.size;
    int* const next =
        std::find_if(literals + 2, end, [&](int literal) { return value(literal) >= 0; });
    if (next != end) {
      std::swap(literals[1], *next);
      watches_[index(literals[1])].push_back({watch.clause, other});
      continue;
    }
    watches[kept++] = watch;
    if (value(other) < 0) {
      consistent = false;
    } else {
      assign(other);
    }
  }
  watches.resize(kept);
  return consistent;
}

}  // namespace cclgym::synthesis
