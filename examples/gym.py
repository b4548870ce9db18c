# A policy that draws legal actions; docs/gym.md shows this.
import numpy as np

import cclgym

env = cclgym.make("CollectiveTuning-v0", {"fabric": "dgx1", "episode": 16},
                  wrappers=["RecordEpisodeStatistics"])
random = np.random.default_rng(1)
observation, info = env.reset(seed=1)
terminated = truncated = False
while not (terminated or truncated):
    action = []
    for dimension in env.action_space.nvec:  # each under what the ones before leave legal
        action.append(random.choice(np.flatnonzero(env.conditional_mask(action))))
    observation, reward, terminated, truncated, info = env.step(action)
print(f"return {info['episode']['r']:.3f} after {info['episode']['l']:.0f} calls")
