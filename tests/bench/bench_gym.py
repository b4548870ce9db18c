"""Steps per second of a random legal agent in Python (docs/gym.md, "Speed").

    PYTHONPATH=build/python python3 tests/bench/bench_gym.py

Prints for each case, in processor time, the speed of the first steps of a process, when programs are compiled and times are
simulated, and of later ones; then that of a vector; and the ratios of the later to the first speed.
"""

import time

import cclgym

CASES = [
    ("ndv4, stock-nccl", {"fabric": "ndv4", "actions": "stock-nccl"}),
    ("dgx1, stock-nccl", {"fabric": "dgx1", "actions": "stock-nccl"}),
    ("ndv4, offline", {"fabric": "ndv4"}),
    ("dgx1, offline", {"fabric": "dgx1"}),
]
PARTS = (1_000, 20_000, 80_000)


def single(options):
    """Steps per second of the parts of one run, one after another."""
    env = cclgym.make("CollectiveTuning-v0", options)
    env.action_space.seed(1)
    _, info = env.reset(seed=1)
    speeds = []
    for steps in PARTS:
        begin = time.process_time()
        for _ in range(steps):
            action = env.action_space.sample(info["action_mask"])
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
        speeds.append(steps / (time.process_time() - begin))
    return speeds


def vector(options, num_envs=16, steps=4_000):
    """Steps of all environments together per second, after as many steps."""
    envs = cclgym.make_vec("CollectiveTuning-v0", num_envs, options)
    envs.single_action_space.seed(1)
    envs.reset(seed=1)
    for _ in range(2):
        begin = time.process_time()
        for _ in range(steps):
            envs.step(envs.sample_legal_action())
        speed = num_envs * steps / (time.process_time() - begin)
    return speed


for name, options in CASES:
    first, next_, later = single(options)
    side_by_side = vector(options)
    print(f"{name:18} first {PARTS[0]}: {first:8.0f}/s   next {PARTS[1]}: {next_:8.0f}/s   "
          f"next {PARTS[2]}: {later:8.0f}/s ({later / first:5.1f} x)   "
          f"vector of 16: {side_by_side:8.0f}/s ({side_by_side / later:4.2f} x)", flush=True)
