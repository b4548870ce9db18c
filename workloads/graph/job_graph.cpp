#include "workloads/graph/job_graph.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cclgym {

namespace {

std::int32_t index_in(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
  names.emplace_back(name);
  return static_cast<std::int32_t>(names.size()) - 1;
}

}  // namespace

std::string_view to_string(JobOpKind kind) {
  switch (kind) {
    case JobOpKind::Compute:
      return "compute";
    case JobOpKind::Collective:
      return "collective";
    case JobOpKind::Send:
      return "send";
    case JobOpKind::Recv:
      break;
  }
  return "recv";
}

std::int32_t RankProgram::add(const JobOp& op, const std::vector<std::int32_t>& dependencies) {
  ops.push_back(op);
  deps.insert(deps.end(), dependencies.begin(), dependencies.end());
  dep_begin.push_back(static_cast<std::uint32_t>(deps.size()));
  return size() - 1;
}

std::int32_t JobGraph::name_index(std::string_view text) { return index_in(names, text); }
std::int32_t JobGraph::stream_index(std::string_view stream) { return index_in(streams, stream); }

SourceLocation location_of(const JobGraph& job, const RankProgram& program, const JobOp& op) {
  SourceLocation where{.file = program.file};
  if (job.origin_word == "line" && op.origin > 0) {
    where.line = static_cast<std::size_t>(op.origin);
    where.column = static_cast<std::size_t>(op.origin_column);
  }
  return where;
}

std::string describe_op(const JobGraph& job, std::int32_t rank, std::int32_t op) {
  const JobOp& described = job.program(rank).ops[at(op)];
  const std::string_view name =
      at(described.name) < job.names.size() ? job.names[at(described.name)] : std::string_view{};
  std::string text = fmt::format("rank {}, {}", rank, to_string(described.kind));
  if (!name.empty()) text += fmt::format(" {}", quoted(name));
  if (described.origin > 0) text += fmt::format(" ({} {})", job.origin_word, described.origin);
  return text;
}

}  // namespace cclgym
