// Feeds arbitrary bytes to the readers of environments: options of CollectiveTuning-v0, workloads
// and call traces, rewards and regimes of noise. Workloads make some calls. No machine is built and
// no program compiled, which takes a thousand times as long as reading. The first byte chooses the
// reader.
#include "core/random.hpp"
#include "env/tuning/noise_regimes.hpp"
#include "env/tuning/tuning_options.hpp"
#include "env/tuning/tuning_reward.hpp"
#include "env/tuning/workload/workload.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(environment) {
  using namespace cclgym;
  std::string_view text = fuzz::text_of(data, size);
  const unsigned kind = fuzz::take_kind(text, 4);
  fuzz::guarded([&] {
    const YamlLimits limits{.bytes = 1 << 16, .nodes = 500, .depth = 16};
    const YamlValue value = parse_yaml(text, "fuzz.yaml", limits);
    if (kind == 0) {
      const auto workload = read_workload(value, {.ranks = 8, .gpu_model = "NVIDIA A100"});
      Random random(1);
      for (int i = 0; i < 20; ++i) {
        if (workload->next(random).call.bytes == 0) std::abort();
      }
    } else if (kind == 1) {
      (void)read_reward(value);
    } else if (kind == 2) {
      (void)read_noise_regimes(value);
    } else {
      const TuningOptions options = read_tuning_options(value);
      if (options.fabric.name.empty() || options.cost_model.empty()) std::abort();
      if (options.regimes.regimes.empty()) std::abort();
    }
  });
  return 0;
}
