// A policy that draws legal actions, in eight environments on two threads; docs/gym.md shows this.
#include <iostream>

#include "env/gym/threaded_vector_env.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"

using namespace cclgym;

int main() {
  const EnvironmentMaker tuning = environment_maker(
      "CollectiveTuning-v0", parse_yaml("{fabric: dgx1, episode: 16}", "options"));
  const YamlValue wrappers = parse_yaml("[RecordEpisodeStatistics]", "wrappers");
  ThreadedVectorEnv envs(same_makers(8, [&] { return wrap_environment(tuning(), wrappers); }), 2);
  const EnvironmentSpec& spec = envs.single_spec();
  std::cout << spec.observation_space.size() << " numbers, " << spec.action_space.text() << '\n';

  Random random(1);
  const std::size_t width = spec.action_space.size();
  std::vector<std::int32_t> actions(envs.size() * width);
  std::vector<std::uint8_t> scratch(spec.action_space.mask_size());
  const std::size_t episode_return = info_index(spec, "episode.r");
  envs.reset(1);  // environment i gets seed 1 + i
  for (int step = 0; step < 40; ++step) {
    for (std::size_t i = 0; i < envs.size(); ++i) {
      sample_legal_action(envs, i, random, scratch, std::span(actions).subspan(i * width, width));
    }
    envs.step(actions);
    for (std::size_t i = 0; i < envs.size(); ++i) {
      if (envs.results().truncated[i] == 0) continue;
      const double total = envs.results().infos[i * spec.info_names.size() + episode_return];
      std::cout << "environment " << i << ": return " << total << '\n';
    }
  }
}
