"""A policy gradient (REINFORCE with Adam) in NumPy alone, on a vector of 32 environments.

    numpy_policy.py [UPDATES]

While C++ carries out a step of one half of the environments, Python computes the gradient of the other half:
send() and recv().
"""

import sys

import cclgym
import numpy as np

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 300
options = {"fabric": "ndv4", "actions": "stock-nccl", "episode": 64,
           "workload": {"name": "sweep", "collectives": ["allreduce", "allgather"], "sizes": "1KiB..256MiB x4"}}
random = np.random.default_rng(1)
halves = [cclgym.make_vec("CollectiveTuning-v0", 16, options, autoreset_mode="SameStep") for _ in range(2)]
inputs, actions = halves[0].single_observation_space.shape[0], int(halves[0].single_action_space.n)
weights = np.zeros((inputs + 1, actions))
moments = [np.zeros_like(weights), np.zeros_like(weights)]


def probabilities(observations, masks):
    """The inputs with a constant, and the softmax over legal actions."""
    features = np.hstack([observations, np.ones((len(observations), 1))])
    logits = np.where(masks, features @ weights, -np.inf)
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    return features, likely / likely.sum(axis=1, keepdims=True)


def draw(likely):
    """One action per row."""
    return (likely.cumsum(axis=1) < random.random((len(likely), 1))).sum(axis=1).clip(max=actions - 1)


def learn(features, likely, chosen, rewards, update):
    """A step of Adam towards the choices whose rewards are above the mean."""
    slope = -likely
    slope[np.arange(len(chosen)), chosen] += 1
    advantages = (rewards - rewards.mean()).clip(-1, 1)
    gradient = features.T @ (slope * advantages[:, None]) / len(chosen)
    for moment, power, keep in zip(moments, (1, 2), (0.9, 0.999)):
        moment += (1 - keep) * (gradient**power - moment)
    scale = np.sqrt(moments[1] / (1 - 0.999 ** (update + 1))) + 1e-8
    weights[:] += 0.03 * moments[0] / (1 - 0.9 ** (update + 1)) / scale


sent = []
means = []
for number, envs in enumerate(halves):
    observations, _ = envs.reset(seed=100 * number + 1)
    features, likely = probabilities(observations, envs.action_masks())
    chosen = draw(likely)
    envs.send(chosen)
    sent.append((features, likely, chosen))
for update in range(updates):
    number = update % 2
    envs = halves[number]
    observations, rewards, *_ = envs.recv()
    learned = (*sent[number], rewards, update)
    features, likely = probabilities(observations, envs.action_masks())
    chosen = draw(likely)
    envs.send(chosen)
    sent[number] = (features, likely, chosen)
    learn(*learned)
    means.append(rewards.mean())
part = max(1, updates // 10)
print(f"mean log-speedup over NCCL's default: first updates {np.mean(means[:part]):.3f}, "
      f"last updates {np.mean(means[-part:]):.3f}")
