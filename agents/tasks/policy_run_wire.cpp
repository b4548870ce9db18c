#include "agents/tasks/policy_run_wire.hpp"

#include <utility>

#include "core/tasks/field_reader.hpp"
#include "core/tasks/wire.hpp"
#include "sim/call/config_wire.hpp"

namespace cclgym {

namespace {

void put_cell(std::string& bytes, const EvaluatedCell& cell) {
  put_text(bytes, cell.collective);
  put(bytes, cell.bytes);
  put(bytes, cell.calls);
  put(bytes, cell.time_us);
  put(bytes, cell.oracle_ratio);
  put(bytes, cell.default_ratio);
  put_text(bytes, cell.choice);
  put_config(bytes, cell.config);
  put(bytes, cell.costs.steps);
  put(bytes, cell.costs.rounds_per_chunk);
}

EvaluatedCell get_cell(FieldReader& in) {
  EvaluatedCell cell;
  in.text(cell.collective);
  in.number(cell.bytes);
  in.number(cell.calls);
  in.number(cell.time_us);
  in.number(cell.oracle_ratio);
  in.number(cell.default_ratio);
  in.text(cell.choice);
  cell.config = get_config(in);
  in.number(cell.costs.steps);
  in.number(cell.costs.rounds_per_chunk);
  return cell;
}

}  // namespace

std::string policy_run_bytes(const PolicyRun& run) {
  std::string bytes;
  put_text(bytes, run.policy);
  put(bytes, run.seed);
  put(bytes, run.calls);
  put(bytes, run.oracle_ratio);
  put(bytes, run.default_ratio);
  put(bytes, run.decisions_per_call);
  put(bytes, run.step_us);
  put(bytes, run.iteration_us);
  put(bytes, run.cells.size());
  for (const EvaluatedCell& cell : run.cells) put_cell(bytes, cell);
  return bytes;
}

std::optional<PolicyRun> read_policy_run(std::string_view bytes) {
  FieldReader in(bytes);
  PolicyRun run;
  in.text(run.policy);
  in.number(run.seed);
  in.number(run.calls);
  in.number(run.oracle_ratio);
  in.number(run.default_ratio);
  in.number(run.decisions_per_call);
  in.number(run.step_us);
  in.number(run.iteration_us);
  std::size_t cells = 0;
  in.number(cells);
  for (std::size_t i = 0; i < cells && in.ok(); ++i) run.cells.push_back(get_cell(in));
  if (!in.at_end()) return std::nullopt;
  return run;
}

}  // namespace cclgym
