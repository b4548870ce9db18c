# A policy that draws legal actions; docs/gym.md shows this.
import cclgym

env = cclgym.make("CollectiveTuning-v0", {"fabric": "dgx1", "episode": 16},
                  wrappers=["RecordEpisodeStatistics"])
env.action_space.seed(1)
observation, info = env.reset(seed=1)
terminated = truncated = False
while not (terminated or truncated):
    action = env.action_space.sample(info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
    print(env.describe_action(action))
print(f"return {info['episode']['r']:.3f} after {info['episode']['l']:.0f} calls")
