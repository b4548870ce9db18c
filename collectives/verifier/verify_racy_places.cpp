// Decides which races matter: those in which a read, or a final output, would get another value in
// another order. Blocks that write the same value, and writes that are never read, are harmless.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <unordered_map>

#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym::verifier {

namespace {

/// Poisoned values follow from a problem that has already been reported.
bool differ(ValueId a, ValueId b) { return a != b && a != kPoisonedValue && b != kPoisonedValue; }

/// An access of the current place.
struct Access {
  const OrderedStep* by = nullptr;
  ValueId value = kUninitialisedValue;
};

/// The accesses of one place, and the values its reads may find.
///
/// A read may find the value of any write that is not after it, unless another write lies between
/// the two in every order; and the initial value if no write precedes it in every order. If, for
/// every read of every place, the only such value is the one found in this execution, then by
/// induction every read of any other execution finds the same.
class Place {
 public:
  explicit Place(std::size_t blocks) : writes_(blocks) {}

  void add_read(const OrderedStep& by, ValueId value) { reads_.push_back({&by, value}); }
  void add_write(const OrderedStep& by, ValueId value) {
    writes_[at(by.block)].push_back({&by, value});
    last_ = writes_[at(by.block)].back();
  }

  /// Two unordered accesses whose order changes a value that is read, in the order of this
  /// execution; null if there are none.
  struct Conflict {
    const OrderedStep* earlier = nullptr;
    const OrderedStep* later = nullptr;
  };
  /// `initial`: the value at the start; `kept`: the place must hold one value at the end.
  [[nodiscard]] Conflict find_conflict(ValueId initial, bool kept);

 private:
  static constexpr std::int32_t kAll = std::numeric_limits<std::int32_t>::max();

  [[nodiscard]] static bool before(const OrderedStep& a, const OrderedStep& b) {
    return b.known_before[at(a.block)] > a.step;
  }
  [[nodiscard]] static Conflict pair(const OrderedStep* a, const OrderedStep* b) {
    return a->executed < b->executed ? Conflict{a, b} : Conflict{b, a};
  }
  [[nodiscard]] Conflict conflict_of(const OrderedStep* reader, ValueId found, const Access& source,
                                     ValueId initial);

  std::vector<Access> reads_;                ///< in order of execution
  std::vector<std::vector<Access>> writes_;  ///< by block
  Access last_;                              ///< the write executed last
  std::vector<Access> latest_;               ///< working memory
};

/// The conflict, if any, of a read by `reader` (null: the end of the program) that found `found`,
/// which `source` wrote.
Place::Conflict Place::conflict_of(const OrderedStep* reader, ValueId found, const Access& source,
                                   ValueId initial) {
  latest_.clear();  // the last write of each block before the reader
  for (std::size_t block = 0; block < writes_.size(); ++block) {
    const auto& writes = writes_[block];
    const std::int32_t known = reader == nullptr ? kAll : reader->known_before[block];
    auto next = std::ranges::partition_point(
        writes, [known](const Access& write) { return write.by->step < known; });
    if (next != writes.begin()) latest_.push_back(*std::prev(next));
    for (; next != writes.end() && next->by != reader && !before(*reader, *next->by); ++next) {
      if (differ(next->value, found)) return pair(next->by, reader);
    }
  }
  // The source may also come after the reader, or before another write that precedes the reader.
  const bool follows = reader != nullptr && source.by != nullptr && !before(*source.by, *reader);
  if (latest_.empty()) return differ(initial, found) ? pair(source.by, reader) : Conflict{};
  for (const Access& write : latest_) {
    if (!differ(write.value, found)) continue;
    if (!follows && before(*write.by, *source.by)) continue;  // overwritten
    const bool hidden = std::ranges::any_of(
        latest_, [&write](const Access& other) { return before(*write.by, *other.by); });
    if (!hidden) return pair(source.by, follows ? reader : write.by);
  }
  return {};
}

Place::Conflict Place::find_conflict(ValueId initial, bool kept) {
  // The writes in order of execution, to know which write a read found.
  std::vector<Access> executed;
  for (const auto& writes : writes_) executed.insert(executed.end(), writes.begin(), writes.end());
  std::ranges::sort(executed, {}, [](const Access& write) { return write.by->executed; });
  std::size_t done = 0;
  for (const Access& read : reads_) {
    while (done < executed.size() && executed[done].by->executed < read.by->executed) ++done;
    const Access source = done > 0 ? executed[done - 1] : Access{};
    const Conflict conflict = conflict_of(read.by, read.value, source, initial);
    if (conflict.earlier != nullptr) return conflict;
  }
  if (!kept || last_.by == nullptr) return {};
  return conflict_of(nullptr, last_.value, last_, initial);
}

/// True if the place must hold the same value at the end of every execution. Unconstrained outputs
/// of a custom collective must, too.
bool is_kept(const Contract& contract, const MemoryLayout& layout, std::int32_t rank,
             std::size_t place) {
  const std::int32_t outputs = contract.output_chunks(rank);
  if (outputs == 0) return false;
  const std::size_t begin = layout.place(rank, Buffer::Output, 0);
  if (place < begin || place >= begin + at(outputs)) return false;
  return contract.kind() == CollectiveKind::Custom ||
         contract.postcondition(rank, static_cast<int>(place - begin)).has_value();
}

}  // namespace

void check_racy_places(const ThreadBlockProgram& program, std::int32_t rank,
                       std::span<const OrderedStep> steps, std::span<const std::size_t> places,
                       const ValueLog& log, Problems& problems) {
  const MemoryLayout layout(program.contract, scratch_chunks(program));
  const auto& blocks = program.gpus[at(rank)].thread_blocks;
  std::unordered_map<std::size_t, Place> accesses;
  for (const std::size_t place : places) accesses.emplace(place, blocks.size());
  for (const OrderedStep& ordered : steps) {
    const Instruction& step = blocks[at(ordered.block)].steps[at(ordered.step)];
    const ValueId* value = log.values.data() + log.first[ordered.executed];
    const auto each = [&](const BufferSlice& slice, bool write) {
      const std::size_t first = layout.place(rank, slice.buffer, slice.index);
      for (std::size_t k = 0; k < at(step.count); ++k, ++value) {
        const auto found = accesses.find(first + k);
        if (found == accesses.end()) continue;
        if (write) {
          found->second.add_write(ordered, *value);
        } else {
          found->second.add_read(ordered, *value);
        }
      }
    };
    if (reads_source(step.opcode)) each(step.source, false);
    if (step.opcode == Opcode::Reduce) each(step.target, false);
    if (writes_target(step.opcode)) each(step.target, true);
  }
  for (const std::size_t place : places) {
    const auto [earlier, later] = accesses.at(place).find_conflict(
        log.initial[place], is_kept(program.contract, layout, rank, place));
    if (earlier == nullptr) continue;
    problems.add([&, &first = earlier, &second = later] {
      return fmt::format("race on {}: not ordered: {}; and {}",
                         describe_location(layout.location(rank, place)),
                         describe_step(program, rank, first->block, first->step),
                         describe_step(program, rank, second->block, second->step));
    });
  }
}

}  // namespace cclgym::verifier
