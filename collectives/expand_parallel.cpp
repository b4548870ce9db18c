#include "collectives/expand_parallel.hpp"

#include <algorithm>
#include <numeric>

namespace cclgym {

Program with_cut_chunks(const Program& program, int factor) {
  Program result{
      program.name, program.contract.refined(factor), program.channels, program.scratch_chunks, {}};
  for (std::int32_t& chunks : result.scratch_chunks) chunks *= factor;
  result.gates = program.gates;
  return result;
}

std::int32_t group_of_instance(std::int32_t group, int instances, int instance) {
  return group == kNoGroup ? kNoGroup : group * instances + instance;
}

Program expand_parallel(const Program& program) {
  std::int32_t factor = 1;
  std::size_t operations = 0;
  for (const Operation& operation : program.operations) {
    factor = std::lcm(factor, operation.parallel);
    operations += static_cast<std::size_t>(operation.parallel);
  }
  if (factor == 1) return program;
  Program result = with_cut_chunks(program, factor);
  result.operations.reserve(operations);
  for (const Operation& operation : program.operations) {
    Operation instance = operation;
    instance.parallel = 1;
    instance.first_instance = 0;
    instance.instance_step = 1;
    instance.count = operation.count * (factor / operation.parallel);
    for (std::int32_t i = operation.first_instance; i < operation.parallel;
         i += operation.instance_step) {
      instance.channel = operation.channel + i;
      instance.group = group_of_instance(operation.group, factor, i);
      instance.answers = group_of_instance(operation.answers, factor, i);
      instance.source.index = operation.source.index * factor + i * instance.count;
      instance.target.index = operation.target.index * factor + i * instance.count;
      result.operations.push_back(instance);
    }
  }
  return result;
}

bool has_partial_operations(const Program& program) {
  return std::ranges::any_of(program.operations, [](const Operation& operation) {
    return operation.first_instance != 0 || operation.instance_step != 1;
  });
}

}  // namespace cclgym
