#include "workloads/generators/generated_job.hpp"

namespace cclgym {

JobGraph read_generated_job(const YamlValue& value) {
  throw UserError(value.location(), "generators are not available");
}

}  // namespace cclgym
