# Trains sb3-contrib's MaskablePPO on CollectiveTuning-v0; docs/gym.md shows this.
import sys

import cclgym
from sb3_contrib import MaskablePPO

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
options = {"fabric": "ndv4", "actions": "stock-nccl", "episode": 64}


def mean_reward(choose, episodes=4):
    """Mean reward of a call; choose(env, observation) returns an action."""
    env = cclgym.make("CollectiveTuning-v0", options)
    env.action_space.seed(1)
    total = count = 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=100 + episode)
        truncated = False
        while not truncated:
            observation, reward, _, truncated, _ = env.step(choose(env, observation))
            total, count = total + reward, count + 1
    return total / count


env = cclgym.make("CollectiveTuning-v0", options, wrappers=["RecordEpisodeStatistics"])
model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=64, seed=1, device="cpu")
model.learn(steps)
trained = mean_reward(lambda env, observation: model.predict(
    observation, action_masks=env.action_masks(), deterministic=True)[0])
random = mean_reward(lambda env, _: env.sample_legal_action())
print(f"mean log-speedup over NCCL's default: MaskablePPO {trained:.3f}, random {random:.3f}")
