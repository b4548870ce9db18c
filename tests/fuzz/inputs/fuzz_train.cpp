// Feeds arbitrary bytes to the reader of training files. It reads the options of each environment,
// and then gets one small environment, which is made once: making them takes a thousand times as
// long as reading.
#include "agents/training/train_config.hpp"
#include "env/tuning/tuning_options.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;
using Shared = std::shared_ptr<const TrainingEnvironment>;

Shared make_small(const std::string& name, const YamlValue& options, const SourceLocation& where,
                  const YamlValue& reward) {
  static const Shared small = make_training_environment(
      "CollectiveTuning-v0",
      parse_yaml("{fabric: {name: ring, gpus: 2}, workload: {name: sweep, sizes: 1MiB}}", "s.yaml"),
      {}, {});
  if (name != small->name()) return make_training_environment(name, options, where, reward);
  const YamlValue* replaced = reward.is_null() ? nullptr : &reward;
  (void)read_tuning_options(options, AlgorithmLibrary::shipped(), replaced);
  return small;
}

}  // namespace

FUZZ_TARGET(train) {
  fuzz::guarded([&] {
    const TrainConfig config =
        read_train_config(std::string(fuzz::text_of(data, size)), "t.yaml", make_small);
    if (config.name.empty() || config.parts.empty() || config.seeds.empty()) std::abort();
  });
  return 0;
}
