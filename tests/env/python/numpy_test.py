"""Tests the package with the oldest and the newest release of NumPy that it supports, in virtual environments
without the system's packages, and that it refuses others. Arguments: the folders of the package and of pyproject.toml.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGE, ROOT = sys.argv[1:]
OLDEST = {(3, 11): "1.23.2", (3, 12): "1.26.0", (3, 13): "2.1.0"}  # the first with wheels for this Python
# Every array that the extension module makes: views of buffers, results, and arguments that it reads.
SCRIPT = """
import hashlib
import numpy as np
import cclgym

digest = hashlib.sha256()


def take(array, *, all_equal=False):
    array = np.asarray(array)
    size = array.itemsize
    for stride, length in zip(reversed(array.strides), reversed(array.shape)):
        assert stride == size, (array.strides, array.shape, array.itemsize)
        size *= length
    assert all_equal or len(np.unique(array)) > 1, "all elements are equal"
    digest.update(array.tobytes())


options = {"fabric": "ndv4",
           "workload": {"name": "sweep", "collectives": ["allreduce", "allgather"], "sizes": "1KiB..1MiB x4"}}
for copy in (True, False):
    env = cclgym.make("CollectiveTuning-v0", options, copy=copy)
    envs = cclgym.make_vec("CollectiveTuning-v0", 5, options, copy=copy)
    for one in (env, envs):
        observation, info = one.reset(seed=7)
        take(observation)
        take(info["action_mask"])
    assert int(info["action_mask"].sum()) == int(envs.action_masks().sum()) < info["action_mask"].size
    env.action_space.seed(3)
    envs.single_action_space.seed(3)
    for _ in range(20):
        observation, reward, _, _, info = env.step(env.sample_legal_action())
        take(observation)
        take(info["action_mask"])
        digest.update(np.float64(reward).tobytes())
        observations, rewards, terminated, _, infos = envs.step(envs.sample_legal_action())
        for array in (observations, rewards, infos["action_mask"], infos["time_us"]):
            take(array)
        take(terminated, all_equal=True)
print(np.__version__, digest.hexdigest())
"""
REFUSED = """
import numpy
numpy.__version__ = {!r}
import cclgym
"""


def run(python, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = PACKAGE
    return subprocess.run([python, "-B", *words], capture_output=True, text=True, check=False, env=environment)


def digest_of(python):
    done = run(python, "-c", SCRIPT)
    if done.returncode != 0:
        sys.exit(f"{python}: {done.stderr}")
    print(done.stdout, end="")
    return done.stdout.split()[1]


def main():
    wanted = re.search(r'"numpy>=([0-9.]+),<([0-9]+)"', pathlib.Path(ROOT, "pyproject.toml").read_text())
    own = run(sys.executable, "-c", "from cclgym.numpy_release import *; print(*OLDEST, *BELOW)").stdout.split()
    assert own == [*wanted[1].split(".")[:2], wanted[2], "0"], (own, wanted[0])
    for version in ("1.22.4", "3.0.0", "3.1.0.dev0+git"):
        done = run(sys.executable, "-c", REFUSED.format(version))
        assert done.returncode != 0 and f"found NumPy {version}; expected" in done.stderr, done.stderr
    expected = digest_of(sys.executable)
    oldest = OLDEST.get(sys.version_info[:2])
    assert oldest != OLDEST[3, 11] or oldest == wanted[1]
    releases = [f"numpy<{wanted[2]}"] + ([f"numpy=={oldest}"] if oldest else [])
    with tempfile.TemporaryDirectory() as folder:
        for number, release in enumerate(releases):
            venv = f"{folder}/{number}"
            made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, check=False)
            added = made.returncode == 0 and subprocess.run(
                [f"{venv}/bin/python3", "-m", "pip", "install", "--disable-pip-version-check", "-q", release],
                capture_output=True, text=True, check=False)
            if not added or added.returncode != 0:
                if os.environ.get("CI") == "true":
                    sys.exit(f"CI is true, so {release} is required: {added and added.stderr}")
                print(f"not run: numpy_test [needs {release}, which pip cannot install here]")
                sys.exit(77)
            assert digest_of(f"{venv}/bin/python3") == expected, release


main()
