"""Checks the package's types with mypy, and that mypy sees mistakes in a program that uses it."""

import os
import pathlib
import subprocess
import sys
import tempfile

RIGHT = """
import numpy as np
import cclgym

env = cclgym.make("CollectiveTuning-v0", {"fabric": "dgx1"}, wrappers=["FrameStack"])
observation, info = env.reset(seed=1)
reward: float = env.step(env.sample_legal_action())[1]
envs = cclgym.make_vec("Counter-v0", 4, workers=2)
masks: np.ndarray = envs.action_masks()
done = cclgym.simulate(cclgym.Fabric("ndv4", nodes=2), "allreduce", "ring", "1MiB", channels=4)
time_s: float = done.time_s
result = cclgym.sweep({"fabrics": ["dgx1"]})
column: np.ndarray = result["time_us"]
synthesis: cclgym.Synthesis = cclgym.synthesize("dgx1", "allgather", time_limit=5, group=[0, 1])
step: cclgym.Workload = cclgym.workload(["job.yaml"], {"name": "ndv4", "nodes": 2}, tune=True)
fitted: cclgym.Fit = cclgym.fit("m.csv", hold_out="ranks=4", progress=print)
trained: cclgym.Training = cclgym.train("t.yaml", seed=1)
envs.send(masks)
rewards: np.ndarray = envs.recv()[1]
program: cclgym.Compiled = cclgym.Program("p", "allgather", 2).compile(instances=2)
"""
WRONG = ["""text: str = cclgym.simulate("ndv4", "allreduce", "ring", 1).time_s""",
         """cclgym.make("Counter-v0", wraper=[])""",
         """cclgym.make_vec("Counter-v0", "four")""",
         """cclgym.Program("p", "allgather").compile()""",
         """cclgym.sweep(4)""",
         """cclgym.synthesize("dgx1")""",
         """cclgym.fit("m.csv", fold=3)""",
         """cclgym.train("t.yaml", seed="one")""",
         """cclgym.workload("job.yaml")""",
         """steps: int = envs.recv()""",
         """cclgym.simulated"""]


def mypy(*arguments):
    return subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", *arguments],
                          capture_output=True, text=True, check=False)


def main():
    if mypy("--version").returncode != 0:
        if os.environ.get("CI") == "true":
            sys.exit("CI is true, so mypy is required (scripts/setup python).")
        print("not run: types_test [needs mypy, which is not installed (scripts/setup python)]")
        sys.exit(77)
    package = pathlib.Path(__file__).resolve().parents[3] / "python"
    with tempfile.TemporaryDirectory() as folder:
        user = pathlib.Path(folder, "user.py")
        user.write_text(RIGHT)
        options = ("--cache-dir", f"{folder}/cache", "--python-version", "3.11", "--no-site-packages",
                   "--ignore-missing-imports", "--follow-imports", "normal")
        os.environ["MYPYPATH"] = str(package)
        done = mypy(*options, user)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        for line in WRONG:
            user.write_text(RIGHT + line + "\n")
            done = mypy(*options, user)
            last = len((RIGHT + line).splitlines())
            if f"user.py:{last}: error" not in done.stdout:
                sys.exit(f"mypy accepts {line}:\n{done.stdout}{done.stderr}")
    print(f"mypy accepts the package and sees {len(WRONG)} mistakes")


main()
