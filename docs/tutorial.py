# %% [markdown]
# # From nothing to a trained policy
#
# Cells begin with `# %%` (VS Code, Spyder, `jupytext --to ipynb`); `python3 docs/tutorial.py FOLDER`
# runs all of them, and writes its files into FOLDER. It needs package cclgym (docs/gym.md) and
# numpy; with PyTorch it also trains, and with matplotlib it also plots.

# %%
import pathlib
import sys

import cclgym
import numpy as np

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "results/tutorial")
folder.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## One's own cluster
#
# Two nodes of four GPUs: NVLink between every two GPUs of a node, one NIC per GPU, and a switch. The
# times below are simulated: bandwidths and latencies are set by hand, as examples of a cluster's.

# %%
cluster = folder / "cluster.yaml"
pairs = [(f"node{node}/gpu{i}", f"node{node}/nic{i}") for node in (0, 1) for i in range(4)]
cluster.write_text(
    "name: my-cluster\ngpu_model: A100\nnodes:\n"
    "  - {name: node0/gpu0..3, server: 0}\n"
    "  - {name: node1/gpu0..3, server: 1}\n"
    "  - {name: node0/nic0..3, kind: nic, server: 0}\n"
    "  - {name: node1/nic0..3, kind: nic, server: 1}\n"
    "  - {name: switch, kind: network-switch}\n"
    "links:\n"
    "  - {mesh: node0/gpu0..3, kind: nvlink, bandwidth: 100 GB/s, latency: 0.7us}\n"
    "  - {mesh: node1/gpu0..3, kind: nvlink, bandwidth: 100 GB/s, latency: 0.7us}\n" + "".join(
        f"  - {{from: {gpu}, to: {nic}, kind: pcie, bandwidth: 24 GB/s, latency: 0.5us}}\n"
        f"  - {{from: {nic}, to: switch, kind: network, bandwidth: 25 GB/s, latency: 1us}}\n"
        for gpu, nic in pairs))
fabric = cclgym.Fabric(cluster)
print(fabric.ranks, "GPUs,", len(fabric.links), "links; diameter", fabric.metrics()["diameter"])

# %% [markdown]
# ## A call, and a sweep

# %%
done = cclgym.simulate(fabric, "allreduce", "ring", "16MiB", protocol="Simple", channels=4)
busiest = done.links[0]
print(f"ring: {1e6 * done.time_s:.0f} us, {done.busbw_Bps / 1e9:.1f} GB/s on the bus; busiest link "
      f"{busiest['link']}")

result = cclgym.sweep({
    "name": "tutorial", "fabrics": [str(cluster.resolve())], "collectives": ["allreduce"],
    "algorithms": ["ring", "tree"], "protocols": ["LL", "Simple"], "channels": [1, 4],
    "sizes": "1KiB..64MiB x4"}, folder / "sweep", fresh=True)
for size in np.unique(result["size_bytes"]):
    cells = np.flatnonzero(result["size_bytes"] == size)
    best = cells[result["time_us"][cells].argmin()]
    print(f"{size:>10} B  {result['time_us'][best]:10.1f} us  {result['cell_key'][best]}")
print("report:", result.report())

# %%
try:
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot
except ImportError:
    print("no plot: matplotlib is not installed")
else:
    for algorithm in ("ring", "tree"):
        for protocol in ("LL", "Simple"):
            cells = ((result["algorithm"] == algorithm) & (result["protocol"] == protocol)
                     & (result["channels"] == 4))
            pyplot.loglog(result["size_bytes"][cells], result["time_us"][cells],
                          label=f"{algorithm} {protocol}")
    pyplot.xlabel("size of the AllReduce, B")
    pyplot.ylabel("simulated time, us")
    pyplot.legend()
    pyplot.savefig(folder / "times.png")
    print("plot:", folder / "times.png")

# %% [markdown]
# ## A program of one's own
#
# Every GPU sends its chunk to all others directly.

# %%
n = fabric.ranks
program = cclgym.Program("direct", "allgather", n)
for rank in range(n):
    mine = program.chunk(rank, "input", 0).copy(rank, "output", rank)
    for other in range(n):
        if other != rank:
            mine.copy(other, "output", rank)
direct = program.compile(share_blocks=False).verify().execute()
for size in ("64KiB", "64MiB"):
    ring = cclgym.simulate(fabric, "allgather", "ring", size)
    print(f"allgather of {size}: direct {1e6 * direct.simulate(fabric, size).time_s:.1f} us, "
          f"ring {1e6 * ring.time_s:.1f} us")

# %% [markdown]
# ## An agent
#
# The environment: each step is one call, and an action is a configuration. The reward is ln(time of
# NCCL's default / time). Random legal actions are the baseline.

# %%
options = {"fabric": str(cluster.resolve()), "actions": "stock-nccl", "episode": 64,
           "workload": {"name": "sweep", "sizes": "1KiB..64MiB x4"}}
env = cclgym.make("CollectiveTuning-v0", options)
env.action_space.seed(1)
observation, info = env.reset(seed=1)
rewards, truncated = [], False
while not truncated:
    observation, reward, _, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
    rewards.append(reward)
print(f"random actions: mean reward {np.mean(rewards):.3f}")

# %% [markdown]
# ## Training
#
# A small actor-critic: each call is a problem by itself, because the machine has no noise here. The weight of the
# entropy, which keeps the policy from settling too early, falls to 0. docs/examples/training/ has PPO.

# %%
try:
    import torch
except ImportError:
    print("no training: PyTorch is not installed")
    sys.exit()
torch.manual_seed(1)
torch.set_num_threads(1)
envs = cclgym.make_vec("CollectiveTuning-v0", 32, options, autoreset_mode="SameStep")
actions = int(env.action_space.n)


def network(outputs):
    return torch.nn.Sequential(torch.nn.Linear(observation.size, 64), torch.nn.Tanh(),
                               torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, outputs))


policy, value = network(actions), network(1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=3e-3)


def distribution(observations, masks):
    logits = policy(torch.as_tensor(observations)).masked_fill(~torch.as_tensor(masks), -1e8)
    return torch.distributions.Categorical(logits=logits)


iterations = 1000
observations, _ = envs.reset(seed=1)
for iteration in range(iterations):
    choices = distribution(observations, envs.action_masks())
    chosen = choices.sample()
    expected = value(torch.as_tensor(observations)).squeeze(-1)
    observations, gains, *_ = envs.step(chosen.numpy())
    gains = torch.as_tensor(gains, dtype=torch.float32)
    advantages = (gains - expected.detach()).clamp(-1, 1)
    exploration = 0.2 * (1 - iteration / iterations)
    loss = (0.5 * (gains - expected).square().mean() - (choices.log_prob(chosen) * advantages).mean()
            - exploration * choices.entropy().mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
observation, info = env.reset(seed=2)
trained, truncated = [], False
while not truncated:
    with torch.no_grad():
        action = distribution(observation, env.action_masks()).probs.argmax().item()
    observation, reward, _, truncated, info = env.step(action)
    trained.append(reward)
print(f"mean reward of NCCL's default: 0; trained {np.mean(trained):.3f}, random {np.mean(rewards):.3f}")
