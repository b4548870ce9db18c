// Names that operations of job files have by default. Private to the room.
#pragma once

#include <string>
#include <string_view>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Name of an operation whose name is not given: "compute", "send", "recv" or its collective.
[[nodiscard]] inline std::string_view default_op_name(const JobOp& op) {
  return op.kind == JobOpKind::Collective ? to_string(op.collective) : to_string(op.kind);
}

/// Stream of an operation whose stream is not given: "compute" or the name of its communicator.
[[nodiscard]] inline std::string_view default_op_stream(const JobGraph& job, const JobOp& op) {
  if (op.kind == JobOpKind::Compute) return "compute";
  return job.communicators[at(op.communicator)].name;
}

}  // namespace cclgym
