// Jobs that are made by a generator from the value of key `generate` of a job file.
#pragma once

#include "core/yaml/yaml.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// The job that a generator makes. Throws UserError at the place of a wrong value.
[[nodiscard]] JobGraph read_generated_job(const YamlValue& value);

}  // namespace cclgym
