#include "collectives/compiler/replicate.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"

namespace cclgym {

namespace {

/// The program with every chunk cut into `factor` chunks, and without operations.
Program cut(const Program& program, int factor) {
  Program result{
      program.name, program.contract.refined(factor), program.channels, program.scratch_chunks, {}};
  for (std::int32_t& chunks : result.scratch_chunks) chunks *= factor;
  return result;
}

/// Each instance has its own groups.
std::int32_t instance_group(const Operation& operation, int instances, int instance) {
  return operation.group == kNoGroup ? kNoGroup : operation.group * instances + instance;
}

}  // namespace

Program expand_parallel(const Program& program) {
  std::int32_t factor = 1;
  std::size_t operations = 0;
  for (const Operation& operation : program.operations) {
    factor = std::lcm(factor, operation.parallel);
    operations += static_cast<std::size_t>(operation.parallel);
  }
  if (factor == 1) return program;
  Program result = cut(program, factor);
  result.operations.reserve(operations);
  for (const Operation& operation : program.operations) {
    Operation instance = operation;
    instance.parallel = 1;
    instance.count = operation.count * (factor / operation.parallel);
    for (std::int32_t i = 0; i < operation.parallel; ++i) {
      instance.channel = operation.channel + i;
      instance.group = instance_group(operation, factor, i);
      instance.source.index = operation.source.index * factor + i * instance.count;
      instance.target.index = operation.target.index * factor + i * instance.count;
      result.operations.push_back(instance);
    }
  }
  return result;
}

Program replicate(const Program& program, int instances, InstancePolicy policy) {
  if (instances < 1) {
    throw UserError(fmt::format("{} instances; expected at least 1", instances));
  }
  const Contract& contract = program.contract;
  if (policy == InstancePolicy::Batched && instances > 1 &&
      (contract.kind() == CollectiveKind::Custom ||
       size_granularity(contract.kind(), contract.ranks()) > 1)) {
    throw UserError(
        fmt::format("batched instances of {}: its buffers have parts of their own; expected "
                    "interleaved instances",
                    contract.name()));
  }
  if (instances == 1) return program;
  Program result = cut(program, instances);
  result.channels = program.channels * instances;
  result.operations.reserve(program.operations.size() * static_cast<std::size_t>(instances));
  const auto moved = [&](Location location, int count, int i) {
    if (policy == InstancePolicy::Interleaved) {
      location.index = location.index * instances + i * count;
      return location;
    }
    const int length = location.buffer == Buffer::Scratch
                           ? program.scratch_chunks[static_cast<std::size_t>(location.rank)]
                       : location.buffer == Buffer::Input ? contract.input_chunks(location.rank)
                                                          : contract.output_chunks(location.rank);
    location.index += i * length;
    return location;
  };
  for (const Operation& operation : program.operations) {
    assert(operation.parallel == 1);
    for (int i = 0; i < instances; ++i) {
      Operation instance = operation;
      instance.channel += i * program.channels;
      instance.group = instance_group(operation, instances, i);
      instance.source = moved(operation.source, operation.count, i);
      instance.target = moved(operation.target, operation.count, i);
      result.operations.push_back(instance);
    }
  }
  return result;
}

}  // namespace cclgym
