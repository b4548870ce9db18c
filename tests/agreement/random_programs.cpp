#include "agreement/random_programs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "support/index.hpp"
#include "support/shipped_algorithms.hpp"

namespace cclgym::test {

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  /// A number from 0 to limit - 1.
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  /// A number from low to high, both included.
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[ix(below(static_cast<int>(list.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (int i = static_cast<int>(list.size()) - 1; i > 0; --i) {
      std::swap(list[ix(i)], list[ix(below(i + 1))]);
    }
  }
  /// Usually few, so that most programs are small enough to be explored exhaustively.
  int ranks() { return chance(60) ? between(2, 4) : chance(70) ? between(5, 8) : between(9, 16); }
  OperationOptions channel() { return {.channel = chance(50) ? kAutoChannel : below(3)}; }
  int instances() { return chance(80) ? 1 : between(2, 3); }

 private:
  std::mt19937_64 random_;
};

/// An independent model of the DSL's operations: the sum of input chunks that each place holds.
class Model {
 public:
  using Sum = std::map<ChunkId, int>;  ///< number of occurrences of each chunk

  void set(const Location& place, Sum sum) { places_[key(place)] = std::move(sum); }
  [[nodiscard]] const Sum* find(Location place, int offset = 0) const {
    place.index += offset;
    const auto found = places_.find(key(place));
    return found == places_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool holds(const Location& place, int count) const {
    for (int k = 0; k < count; ++k) {
      if (find(place, k) == nullptr) return false;
    }
    return true;
  }
  /// True if one of the sums would contain a chunk twice.
  [[nodiscard]] bool overlap(const Location& a, const Location& b, int count) const {
    for (int k = 0; k < count; ++k) {
      for (const auto& term : *find(a, k)) {
        if (find(b, k)->contains(term.first)) return true;
      }
    }
    return false;
  }
  void apply(OperationKind kind, const Location& source, const Location& target, int count) {
    std::vector<Sum> sums;
    for (int k = 0; k < count; ++k) {
      Sum sum = *find(source, k);
      if (kind == OperationKind::Reduce) {
        for (const auto& [chunk, times] : *find(target, k)) sum[chunk] += times;
      }
      sums.push_back(std::move(sum));
    }
    for (int k = 0; k < count; ++k) {
      set({target.rank, target.buffer, target.index + k}, std::move(sums[ix(k)]));
    }
  }
  /// Empty if the place has no value, or a sum that no contract can require.
  [[nodiscard]] std::optional<RequiredValue> required(int rank, int index) const {
    const Sum* sum = find({rank, Buffer::Output, index});
    if (sum == nullptr) return std::nullopt;
    RequiredValue value;
    for (const auto& [chunk, times] : *sum) {
      if (times != 1) return std::nullopt;
      value.push_back(chunk);
    }
    return value;
  }

 private:
  using Key = std::tuple<int, Buffer, int>;
  static Key key(const Location& place) { return {place.rank, place.buffer, place.index}; }
  std::map<Key, Sum> places_;
};

/// Generates the programs of the family "operations".
class RandomOperations {
 public:
  explicit RandomOperations(Dice& dice) : dice_(dice), ranks_(dice.ranks()) {
    for (int rank = 0; rank < ranks_; ++rank) {
      inputs_.push_back(dice.between(1, 4));
      outputs_.push_back(dice.between(1, 4));
    }
  }

  Program make() {
    // The contract's postcondition is the final state of the model.
    const auto model = std::make_shared<Model>();
    ProgramBuilder p("random", Contract::custom("random", ranks_, inputs_, outputs_,
                                                [model](int rank, int index) {
                                                  return model->required(rank, index);
                                                }));
    for (int rank = 0; rank < ranks_; ++rank) {
      for (int i = 0; i < inputs_[ix(rank)]; ++i) {
        model->set({rank, Buffer::Input, i}, {{{rank, i}, 1}});
      }
    }
    const int operations = dice_.chance(60) ? dice_.between(1, 8) : dice_.between(9, 40);
    const int doubled =
        dice_.chance(20) ? 30 : 0;  // percentage of sums that may contain a chunk twice
    std::optional<Location> last;
    int last_count = 1;
    for (int done = 0, tried = 0; done < operations && tried < 50 * operations; ++tried) {
      if (dice_.chance(3)) p.next_kernel();
      const auto scope = p.parallelize(dice_.chance(15) ? dice_.between(2, 3) : 1);
      Location source{};
      int count = dice_.chance(70) ? 1 : dice_.between(2, 3);
      if (last && dice_.chance(60)) {  // continue from the target of the last operation
        source = *last;
        if (dice_.chance(80)) count = last_count;
      } else {
        source = any_place();
      }
      if (!fits(source, count) || !model->holds(source, count)) continue;
      const Location target = any_place();
      if (!fits(target, count)) continue;
      if (source.rank == target.rank && source.buffer == target.buffer &&
          std::abs(source.index - target.index) < count) {
        continue;
      }
      const bool reduce = dice_.chance(50) && model->holds(target, count) &&
                          (!model->overlap(source, target, count) || dice_.chance(doubled));
      // Most sums are kept.
      if (!reduce && model->holds(target, count) && dice_.chance(70)) continue;
      const ChunkRef from = p.chunk(source.rank, source.buffer, source.index, count);
      if (reduce) {
        const ChunkRef to = p.chunk(target.rank, target.buffer, target.index, count);
        (void)to.reduce(from, dice_.channel());
      } else {
        (void)from.copy(target.rank, target.buffer, target.index, dice_.channel());
      }
      model->apply(reduce ? OperationKind::Reduce : OperationKind::Copy, source, target, count);
      last = target;
      last_count = count;
      ++done;
    }
    if (last) {
      (void)p.chunk(last->rank, last->buffer, last->index)
          .copy(next(last->rank), Buffer::Output, 0);
      model->apply(OperationKind::Copy, *last, {next(last->rank), Buffer::Output, 0}, 1);
    }
    return p.finish();
  }

 private:
  static constexpr int kScratch = 4;

  [[nodiscard]] int next(int rank) const { return (rank + 1) % ranks_; }
  [[nodiscard]] int chunks(const Location& place) const {
    return place.buffer == Buffer::Input    ? inputs_[ix(place.rank)]
           : place.buffer == Buffer::Output ? outputs_[ix(place.rank)]
                                            : kScratch;
  }
  [[nodiscard]] bool fits(const Location& place, int count) const {
    return place.index + count <= chunks(place);
  }
  Location any_place() {
    Location place{dice_.below(ranks_), static_cast<Buffer>(dice_.below(3)), 0};
    place.index = dice_.below(chunks(place));
    return place;
  }

  Dice& dice_;
  int ranks_;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
};

/// Generates the programs of the family "routes", in units of `unit_` chunks that move together.
class RandomRoutes {
 public:
  explicit RandomRoutes(Dice& dice)
      : dice_(dice), contract_(random_contract(dice)), p_("routes", contract_) {
    std::vector<int> divisors;
    for (int d = 1; d <= contract_.chunks(); ++d) {
      if (contract_.chunks() % d == 0) divisors.push_back(d);
    }
    unit_ = dice.pick(divisors);
    scratch_.assign(ix(contract_.ranks()), 0);
  }

  Program make() {
    // Outputs with the same value are spread together.
    std::map<RequiredValue, std::vector<Location>> outputs;
    for (int rank = 0; rank < contract_.ranks(); ++rank) {
      for (int index = 0; index < contract_.output_chunks(rank); index += unit_) {
        const auto value = contract_.postcondition(rank, index);
        if (value) outputs[*value].push_back({rank, Buffer::Output, index});
      }
    }
    std::vector<std::pair<RequiredValue, std::vector<Location>>> groups(outputs.begin(),
                                                                        outputs.end());
    dice_.shuffle(groups);
    // In place, outputs may overwrite inputs, so all values are copied to scratch before any is
    // spread.
    const bool staged = contract_.in_place() || dice_.chance(20);
    std::vector<ChunkRef> made;
    for (const auto& group : groups) {
      const auto scope = p_.parallelize(dice_.chance(10) ? 2 : 1);
      made.push_back(make_value(group.first, staged));
      if (!staged) spread(made.back(), group.second);
    }
    if (!staged) return p_.finish();
    if (dice_.chance(10)) p_.next_kernel();

    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto scope = p_.parallelize(dice_.chance(10) ? 2 : 1);
      spread(made[i], groups[i].second);
    }
    return p_.finish();
  }

 private:
  static Contract random_contract(Dice& dice) {
    const CollectiveKind kind = dice.pick(all_collectives());
    const int ranks = std::min(dice.ranks(), kind == CollectiveKind::AllToAll ? 6 : 9);
    const int chunks = dice.chance(60) ? 1 : dice.between(2, 4);
    const bool has_in_place = kind != CollectiveKind::AllToAll && kind != CollectiveKind::Gather &&
                              kind != CollectiveKind::Scatter;
    return Contract::make(kind, ranks, chunks, has_in_place && dice.chance(50), dice.below(ranks));
  }

  ChunkRef to_scratch(const ChunkRef& from, int rank) {
    const int index = scratch_[ix(rank)];
    scratch_[ix(rank)] += unit_;
    return from.copy(rank, Buffer::Scratch, index, dice_.channel());
  }

  /// The sum of the chunks. It is in scratch if `staged` or if there are several chunks, otherwise
  /// in the chunk's own place.
  ChunkRef make_value(const RequiredValue& value, bool staged) {
    const int rank = dice_.below(contract_.ranks());
    if (value.size() == 1) {
      const ChunkRef c = p_.chunk(value[0].rank, Buffer::Input, value[0].index, unit_);
      return staged ? to_scratch(c, rank) : c;
    }
    RequiredValue shuffled = value;
    dice_.shuffle(shuffled);
    const auto cut = shuffled.begin() + dice_.between(1, static_cast<int>(value.size()) - 1);
    ChunkRef sum = make_value({shuffled.begin(), cut}, true);
    if (dice_.chance(20)) sum = to_scratch(sum, dice_.below(contract_.ranks()));
    return sum.reduce(make_value({cut, shuffled.end()}, false), dice_.channel());
  }

  void spread(const ChunkRef& made, std::vector<Location> targets) {
    dice_.shuffle(targets);
    std::vector<ChunkRef> copies{made};
    for (const Location& target : targets) {
      ChunkRef from = dice_.pick(copies);
      while (dice_.chance(15)) from = to_scratch(from, dice_.below(contract_.ranks()));
      copies.push_back(from.copy(target.rank, target.buffer, target.index, dice_.channel()));
    }
  }

  Dice& dice_;
  Contract contract_;
  ProgramBuilder p_;
  int unit_ = 1;
  std::vector<int> scratch_;  ///< number of used chunks, by rank
};

/// Generates a program of the family "library".
Program library_program(Dice& dice) {
  for (;;) {
    const AlgorithmEntry& algorithm = dice.pick(shipped_algorithms());
    AlgorithmRequest request;
    request.collective = dice.pick(algorithm.collectives);
    request.ranks = dice.ranks();
    if (check_ranks(algorithm.name, request.ranks)) continue;
    request.channels = dice.between(1, request.ranks > 8 ? 1 : 3);
    request.root = dice.below(request.ranks);
    std::vector<int> divisors;
    for (int d = 1; d <= request.ranks; ++d) {
      if (request.ranks % d == 0) divisors.push_back(d);
    }
    request.ranks_per_server = dice.pick(divisors);
    if (check_request(algorithm, request)) continue;
    for (int rings = dice.below(3); rings > 0; --rings) {
      std::vector<int>& ring = request.rings.emplace_back(ix(request.ranks));
      std::iota(ring.begin(), ring.end(), 0);
      dice.shuffle(ring);
    }
    Program program = trace_algorithm(algorithm.name, request);
    // The fabrics of these tests have no switches that copy and add.
    for (Operation& operation : program.operations) {
      operation.group = kNoGroup;
      operation.answers = kNoGroup;
    }
    return program;
  }
}

CompileOptions random_options(Dice& dice, CollectiveKind kind) {
  CompileOptions options;
  options.fuse = dice.chance(75);
  options.share_blocks = dice.chance(50);
  options.slots = dice.chance(60) ? 2 : dice.between(1, 8);
  options.instances = dice.instances();
  constexpr std::array kUnsliced{CollectiveKind::AllReduce, CollectiveKind::Broadcast,
                                 CollectiveKind::Reduce, CollectiveKind::AllToNext};
  const bool batched = std::ranges::find(kUnsliced, kind) != kUnsliced.end() && dice.chance(50);
  if (batched) options.policy = InstancePolicy::Batched;
  return options;
}

}  // namespace

RandomProgram random_program(std::uint64_t seed) {
  Dice dice(seed);
  const int family = dice.below(10);
  RandomProgram result = family < 5 ? RandomProgram{"operations", RandomOperations(dice).make(), {}}
                         : family < 8 ? RandomProgram{"routes", RandomRoutes(dice).make(), {}}
                                      : RandomProgram{"library", library_program(dice), {}};
  result.options = random_options(dice, result.program.contract.kind());
  return result;
}

}  // namespace cclgym::test
