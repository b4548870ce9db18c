# PPO in one file of plain PyTorch, in the style of CleanRL, with action masks; docs/gym.md shows this.
import sys

import cclgym
import numpy as np
import torch
from torch import nn

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 100
options = {"fabric": "ndv4", "actions": "stock-nccl", "episode": 64}
num_envs, num_steps, epochs, minibatches = 16, 32, 4, 4
clip, gamma, gae_lambda, entropy_weight = 0.2, 0.9, 0.9, 0.01

torch.manual_seed(1)
torch.set_num_threads(1)
envs = cclgym.make_vec("CollectiveTuning-v0", num_envs, options, autoreset_mode="SameStep")
inputs, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)


def layers(outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                         nn.Linear(64, outputs))


actor, critic = layers(actions), layers(1)
parameters = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)


def policy(observations, masks):
    logits = actor(observations).masked_fill(~masks, -1e8)
    return torch.distributions.Categorical(logits=logits)


observations, _ = envs.reset(seed=1)
for update in range(updates):
    rows = {name: [] for name in ("seen", "masks", "chosen", "logs", "rewards", "ended", "values")}
    for _ in range(num_steps):
        seen, masks = torch.as_tensor(observations), torch.as_tensor(envs.action_masks())
        with torch.no_grad():
            distribution = policy(seen, masks)
            chosen = distribution.sample()
            logs, values = distribution.log_prob(chosen), critic(seen)[:, 0]
        observations, rewards, terminated, truncated, _ = envs.step(chosen.numpy())
        for name, value in (("seen", seen), ("masks", masks), ("chosen", chosen), ("logs", logs),
                            ("values", values),
                            ("rewards", torch.as_tensor(rewards, dtype=torch.float32)),
                            ("ended", torch.as_tensor(terminated | truncated))):
            rows[name].append(value)
    batch = {name: torch.stack(value) for name, value in rows.items()}

    # Generalised advantage estimation (Schulman et al. 2016). An episode that was cut off is
    # treated as ended.
    with torch.no_grad():
        following = critic(torch.as_tensor(observations))[:, 0]
    advantage, advantages = torch.zeros(num_envs), torch.zeros(num_steps, num_envs)
    for step in reversed(range(num_steps)):
        goes_on = (~batch["ended"][step]).float()
        error = (batch["rewards"][step] + gamma * goes_on * following - batch["values"][step])
        advantage = error + gamma * gae_lambda * goes_on * advantage
        advantages[step], following = advantage, batch["values"][step]
    batch["advantages"], batch["returns"] = advantages, advantages + batch["values"]

    flat = {name: value.flatten(0, 1) for name, value in batch.items()}
    for _ in range(epochs):
        for part in torch.randperm(num_envs * num_steps).chunk(minibatches):
            distribution = policy(flat["seen"][part], flat["masks"][part])
            ratio = (distribution.log_prob(flat["chosen"][part]) - flat["logs"][part]).exp()
            gain = flat["advantages"][part]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            loss = (-torch.min(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain).mean()
                    - entropy_weight * distribution.entropy().mean()
                    + 0.5 * (critic(flat["seen"][part])[:, 0] - flat["returns"][part]).pow(2).mean())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
    if update == 0:
        first = batch["rewards"].mean().item()
last = batch["rewards"].mean().item()
np.testing.assert_array_less(-np.inf, last)
print(f"mean log-speedup over NCCL's default: first update {first:.3f}, last update {last:.3f}")
