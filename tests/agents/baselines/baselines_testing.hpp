// A small setup for the tests of baselines.
#pragma once

#include <memory>
#include <string>

#include "core/yaml/yaml.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym::test {

[[nodiscard]] inline std::shared_ptr<const TuningSetup> setup_of(const std::string& yaml) {
  return read_tuning_setup(parse_yaml(yaml, "test.yaml"));
}

/// AllReduce at eleven sizes, without noise, with the knobs of NCCL's tuner.
[[nodiscard]] inline std::shared_ptr<const TuningSetup> small_setup() {
  return setup_of(
      "{fabric: dgx1, actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], "
      "sizes: 1KiB..1GiB x4}}");
}

}  // namespace cclgym::test
