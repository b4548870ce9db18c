#include "collectives/compiler/replicate.hpp"

#include <cassert>
#include <fmt/format.h>

#include "collectives/expand_parallel.hpp"
#include "core/error.hpp"

namespace cclgym {

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
  Program result = with_cut_chunks(program, instances);
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
      instance.group = group_of_instance(operation.group, instances, i);
      instance.answers = group_of_instance(operation.answers, instances, i);
      instance.source = moved(operation.source, operation.count, i);
      instance.target = moved(operation.target, operation.count, i);
      result.operations.push_back(instance);
    }
  }
  return result;
}

}  // namespace cclgym
