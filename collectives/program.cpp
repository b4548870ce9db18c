#include "collectives/program.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "collectives/ir.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

/// Limit on the scratch of one rank: a higher index was probably computed wrongly, and would
/// exhaust the memory.
constexpr int kMostScratchChunks = 1 << 24;

/// More than the channels of any runtime.
constexpr int kMostInstances = 1024;

}  // namespace

std::string_view to_string(OperationKind kind) {
  return kind == OperationKind::Copy ? "copy" : "reduce";
}

std::string describe(const Operation& operation) {
  return fmt::format("{} of {} {} {}", to_string(operation.kind),
                     describe_location(operation.source, operation.count),
                     operation.kind == OperationKind::Copy ? "to" : "into",
                     describe_location(operation.target, operation.count));
}

ChunkRef ChunkRef::copy(int rank, Buffer buffer, int index, OperationOptions options) const {
  Operation operation{OperationKind::Copy, options.channel,       count_,
                      location_,           {rank, buffer, index}, 1};
  operation.device = options.device;
  return program_->add(operation, *this, nullptr);
}

ChunkRef ChunkRef::reduce(const ChunkRef& other, OperationOptions options) const {
  const Operation operation{OperationKind::Reduce, options.channel, count_,
                            other.location_,       location_,       1};
  return program_->add(operation, other, this);
}

void ChunkRef::multicast(std::span<const int> ranks, Buffer buffer, int index,
                         OperationOptions options) const {
  const ProgramBuilder::GroupScope group(*program_, rank(), {ranks.begin(), ranks.end()});
  for (const int target : ranks) (void)copy(target, buffer, index, options);
}

ChunkRef ChunkRef::reduce_in_switch(std::span<const ChunkRef> others,
                                    OperationOptions options) const {
  std::vector<int> ranks;
  for (const ChunkRef& other : others) ranks.push_back(other.rank());
  const ProgramBuilder::GroupScope group(*program_, rank(), std::move(ranks));
  ChunkRef sum = *this;
  for (const ChunkRef& other : others) sum = sum.reduce(other, options);
  return sum;
}

ChunkRef ChunkRef::all_reduce_in_switch(std::span<const ChunkRef> others,
                                        OperationOptions options) const {
  const ChunkRef sum = reduce_in_switch(others, options);
  std::vector<int> ranks;
  for (const ChunkRef& other : others) ranks.push_back(other.rank());
  const ProgramBuilder::GroupScope group(*program_, rank(), std::move(ranks),
                                         program_->groups_ - 1);
  for (const ChunkRef& other : others) {
    (void)sum.copy(other.rank(), other.buffer(), other.index(), options);
  }
  return sum;
}

ParallelScope::ParallelScope(ProgramBuilder& program, int instances, int first, int step)
    : program_(program), outer_(program.split_) {
  program_.split_.parallel *= instances;
  program_.split_.first_instance = first;
  program_.split_.instance_step = step;
}

ParallelScope::~ParallelScope() { program_.split_ = outer_; }

ParallelScope ProgramBuilder::parallelize(int instances) { return parallelize(instances, 0, 1); }

ParallelScope ProgramBuilder::parallelize(int instances, int first, int step) {
  if (instances < 1 || instances > kMostInstances / split_.parallel) {
    fail(nullptr, fmt::format("parallelize({}): expected 1 to {} instances", instances,
                              kMostInstances / split_.parallel));
  }
  if (first < 0 || first >= instances || step < 1) {
    fail(nullptr, fmt::format("parallelize({}, {}, {}): expected a first instance of 0 to {} and a "
                              "step of at least 1",
                              instances, first, step, instances - 1));
  }
  const auto whole = [](int from, int by) { return from == 0 && by == 1; };
  const bool nested = split_.parallel > 1;
  if (nested && !(whole(first, step) && whole(split_.first_instance, split_.instance_step))) {
    fail(nullptr, "a scope of some instances cannot be nested in another scope, nor contain one");
  }
  return {*this, instances, first, step};
}

void ProgramBuilder::next_kernel() {
  if (finished_) fail(nullptr, "the program is finished");
  const std::int32_t next = program_.operations.empty() ? 0 : program_.kernels();
  if (next == kMostKernels) {
    fail(nullptr, fmt::format("next_kernel(): more than {} kernels", kMostKernels));
  }
  kernel_ = next;
}

void ProgramBuilder::gate(int rank, int after) {
  const int ranks = contract().ranks();
  if (rank == after || std::min(rank, after) < 0 || std::max(rank, after) >= ranks) {
    fail(nullptr,
         fmt::format("gate({}, {}): expected two ranks from 0 to {}", rank, after, ranks - 1));
  }
  program_.gates.push_back({rank, kernel_, after});
}

ProgramBuilder::ProgramBuilder(std::string name, Contract contract)
    : program_{std::move(name), std::move(contract), 1, {}, {}}, layout_(program_.contract, {}) {
  const int ranks = program_.contract.ranks();
  last_writer_.assign(layout_.size(), kUninitialised);
  scratch_.resize(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int index = 0; index < layout_.chunks(rank, Buffer::Input); ++index) {
      if (program_.contract.precondition(rank, index)) {
        last_writer_[layout_.place(rank, Buffer::Input, index)] = kInitial;
      }
    }
  }
}

ChunkRef ProgramBuilder::chunk(int rank, Buffer buffer, int index, int count) {
  if (finished_) fail(nullptr, "the program is finished");
  const Location location{rank, buffer, index};
  const auto traced = static_cast<std::int32_t>(program_.operations.size());
  const ChunkRef reference(this, location, count, traced);
  require_range(location, count, nullptr);
  for (int i = 0; i < count; ++i) {
    const bool beyond = buffer == Buffer::Scratch && index >= std::ssize(scratch_[at(rank)]) - i;
    if (beyond || last_writer(location, i) == kUninitialised) {
      fail(nullptr, fmt::format("chunk of {}: nothing has been written to {} yet",
                                describe_location(location, count),
                                describe_location({rank, buffer, index + i})));
    }
  }
  return reference;
}

Program ProgramBuilder::finish() {
  if (finished_) fail(nullptr, "the program is finished");
  finished_ = true;
  for (const auto& scratch : scratch_) {
    program_.scratch_chunks.push_back(static_cast<std::int32_t>(scratch.size()));
  }
  Program program = std::move(program_);
  program_.name = program.name;
  return program;
}

ProgramBuilder::GroupScope::GroupScope(ProgramBuilder& builder, int rank, std::vector<int> others,
                                       std::int32_t answers)
    : program(builder) {
  others.push_back(rank);
  std::sort(others.begin(), others.end());
  const auto twice = std::adjacent_find(others.begin(), others.end());
  if (twice != others.end()) {
    program.fail(nullptr, fmt::format("rank {} appears twice in one switch operation", *twice));
  }
  if (others.size() == 1) {
    program.fail(nullptr, "a switch operation without other ranks; expected at least one");
  }
  program.group_ = program.groups_++;
  program.answers_ = answers;
}

ChunkRef ProgramBuilder::add(Operation operation, const ChunkRef& source, const ChunkRef* target) {
  if (finished_) fail(&operation, "the program is finished");
  if (operation.channel < kAutoChannel) {
    fail(&operation, fmt::format("channel {}; expected at least 0", operation.channel));
  }
  if (operation.device && operation.remote()) {
    fail(&operation, "a device copy between two ranks; expected one inside a GPU");
  }
  operation.parallel = split_.parallel;
  operation.first_instance = split_.first_instance;
  operation.instance_step = split_.instance_step;
  operation.kernel = kernel_;
  operation.group = group_;
  operation.answers = answers_;
  require_fresh(source, operation);
  if (target != nullptr) {
    if (source.program_ != target->program_) {
      fail(&operation, "the two references belong to different programs");
    }
    if (source.count_ != target->count_) {
      fail(&operation, fmt::format("{} chunks added to {}; expected equal counts", source.count_,
                                   target->count_));
    }
    require_fresh(*target, operation);
  } else {
    require_range(operation.target, operation.count, &operation);
  }
  require_disjoint(operation);

  const auto number = static_cast<std::int32_t>(program_.operations.size());
  if (operation.target.buffer == Buffer::Scratch) {
    grow_scratch(operation.target, operation.count);
  }
  for (int i = 0; i < operation.count; ++i) last_writer(operation.target, i) = number;
  if (operation.channel != kAutoChannel) {
    program_.channels = std::max(program_.channels, operation.channel + split_.parallel);
  }
  program_.operations.push_back(operation);
  return {this, operation.target, operation.count, number + 1};
}

std::int32_t& ProgramBuilder::last_writer(const Location& location, int offset) {
  if (location.buffer == Buffer::Scratch) {
    return scratch_[at(location.rank)][at(location.index + offset)];
  }
  return last_writer_[layout_.place(location) + at(offset)];
}

void ProgramBuilder::grow_scratch(const Location& location, int count) {
  auto& scratch = scratch_[at(location.rank)];
  const std::size_t needed = at(location.index) + at(count);
  if (scratch.size() < needed) scratch.resize(needed, kUninitialised);
}

void ProgramBuilder::require_range(const Location& location, int count,
                                   const Operation* operation) const {
  const std::string prefix =
      operation == nullptr && location.rank >= 0 && location.rank < contract().ranks()
          ? fmt::format("chunk of {}: ", describe_location(location, std::max(count, 1)))
          : "";
  if (location.rank < 0 || location.rank >= contract().ranks()) {
    fail(operation,
         fmt::format("no rank {}; expected 0 to {}", location.rank, contract().ranks() - 1));
  }
  if (count < 1) fail(operation, fmt::format("{}count {}; expected at least 1", prefix, count));
  const int chunks = location.buffer == Buffer::Scratch
                         ? kMostScratchChunks
                         : layout_.chunks(location.rank, location.buffer);
  if (location.index < 0 || location.index > chunks - count) {
    fail(operation, fmt::format("{}index out of range: the {} buffer of rank {} has {} chunks",
                                prefix, to_string(location.buffer), location.rank, chunks));
  }
}

void ProgramBuilder::require_fresh(const ChunkRef& reference, const Operation& operation) {
  if (reference.program_ != this) {
    fail(&operation, "the two references belong to different programs");
  }
  for (int i = 0; i < reference.count_; ++i) {
    const std::int32_t writer = last_writer(reference.location_, i);
    if (writer < reference.taken_at_) continue;
    Location location = reference.location_;
    location.index += i;
    fail(&operation, fmt::format("stale reference, {} was overwritten by operation {} ({})",
                                 describe_location(location), writer,
                                 describe(program_.operations[at(writer)])));
  }
}

void ProgramBuilder::require_disjoint(const Operation& operation) const {
  if (operation.remote()) return;
  const Location source = contract().resolve(operation.source);
  const Location target = contract().resolve(operation.target);
  if (source.buffer != target.buffer) return;
  if (source == target) fail(&operation, "source and target are the same place");
  // Both are in range, so the sums below cannot overflow.
  if (source.index < target.index + operation.count &&
      target.index < source.index + operation.count) {
    fail(&operation, "source and target overlap");
  }
}

void ProgramBuilder::fail(const Operation* operation, const std::string& reason) const {
  const auto number = program_.operations.size();
  throw UserError(fmt::format("program '{}', operation {}: {}{}", program_.name, number,
                              operation == nullptr ? "" : describe(*operation) + ": ", reason));
}

}  // namespace cclgym
