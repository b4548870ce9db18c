"""Runs the trainings of the docs with real PyTorch and sb3-contrib, and compares a TorchScript export
with the policy file of the same agent.

    training_test.py ppo | cleanrl | tutorial | torchscript
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import cclgym

ROOT = pathlib.Path(__file__).resolve().parents[3]
NEEDS = {"ppo": ["torch", "sb3_contrib"], "cleanrl": ["torch"], "torchscript": ["torch"]}
OPTIONS = {"fabric": {"name": "ring", "gpus": 4}, "actions": "stock-nccl",
           "workload": {"name": "sweep", "collectives": ["allreduce", "allgather"],
                        "sizes": "1KiB..1MiB x4"}}


def skip(reason):
    print(f"not run: training_test [{reason}]")
    sys.exit(77)


def output(script, *arguments):
    done = subprocess.run([sys.executable, "-B", "-W", "ignore", ROOT / script, *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{script}:\n{done.stdout}{done.stderr}")
    print(done.stdout, end="")
    return done.stdout


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d{3}", text.splitlines()[-1])]


def ppo():
    trained, random = numbers(output("docs/examples/training/maskable_ppo.py", "2048"))
    assert trained > random + 0.3, "nothing was learned"


def cleanrl():
    first, last = numbers(output("docs/examples/training/cleanrl_ppo.py", "30"))
    assert last > first + 0.3, "nothing was learned"


def numpy():
    first, last = numbers(output("docs/examples/training/numpy_policy.py", "300"))
    assert last > first + 0.2, "nothing was learned"


def tutorial():
    with tempfile.TemporaryDirectory() as folder:
        text = output("docs/tutorial.py", folder)
        assert pathlib.Path(folder, "sweep", "report.html").exists()
        if importlib.util.find_spec("torch"):
            trained, random = numbers(text)
            assert trained > 0 > random, "not better than NCCL's default"
        else:
            assert "PyTorch is not installed" in text


def torchscript():
    import torch

    program = os.environ["CCLGYM_PROGRAM"]
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                                  cwd=folder)
            if "cannot train" in done.stderr:
                skip("needs LibTorch, which this build is without (scripts/setup agents)")
            if done.returncode != 0:
                sys.exit(f"cclgym {' '.join(arguments)}:\n{done.stdout}{done.stderr}")

        import json
        training = {"name": "small", "train": [{"options": OPTIONS}],
                    "evaluate": [{"label": "all", "options": {**OPTIONS, "oracle": True}}],
                    "agent": {"encoder": [16], "lstm": 8, "head": 12, "value": 16},
                    "warm_start": {"iterations": 4},
                    "ppo": {"iterations": 1, "environments": 4, "steps": 16, "sequence": 8},
                    "seeds": [1]}
        pathlib.Path(folder, "small.yaml").write_text(json.dumps(training))
        run("train", "small.yaml", "--out", "run", "--quiet")
        run("export", "run", "--to", "a.policy", "--quiet")
        run("export", "run", "--format", "torchscript", "--to", "a.pt", "--quiet")
        plain = cclgym.Policy(f"{folder}/a.policy")
        script = torch.jit.load(f"{folder}/a.pt")
    assert list(script.feature_names) == plain.feature_names
    assert list(script.knob_names) == list(plain.knobs)
    assert [list(levels) for levels in script.level_names] == list(plain.knobs.values())
    assert sorted(script.rules) == sorted(plain.rules), (list(script.rules), plain.rules)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = cclgym.make("CollectiveTuning-v0", {**OPTIONS, "episode": 0}, flat=False)
    observation, _ = env.reset(seed=3)
    stream = plain.stream()
    h, c = script.initial_state(1)
    seen = set()
    calls = {0: "allreduce", 1: "allgather"}
    feature = plain.feature_names.index("allreduce")
    for _ in range(60):
        rules = "ring gpus=4/" + calls[0 if observation[feature] == 1 else 1]
        action = stream.decide(observation, rules)
        with torch.no_grad():
            levels, h, c = script.decide(torch.as_tensor(observation)[None], h, c, script.rules[rules])
        assert levels[0].tolist() == action.tolist(), (levels, action)
        seen.add((rules, *action.tolist()))
        observation = env.step(action)[0]  # raises if the action is not legal
    assert len({one[0] for one in seen}) == 2
    # Observations of no machine, for which the likeliest levels of all are often illegal.
    random, refused = np.random.default_rng(1), 0
    stream, free, (h, c) = plain.stream(), plain.stream(), script.initial_state(1)
    for _ in range(300):
        strange = random.normal(0, 3, len(observation)).astype(np.float32)
        action, unbound = stream.decide(strange, rules), free.decide(strange)
        with torch.no_grad():
            levels, h, c = script.decide(torch.as_tensor(strange)[None], h, c, script.rules[rules])
        assert levels[0].tolist() == action.tolist(), (levels, action)
        legal = script.rules[rules].tolist()
        assert action.tolist() in legal
        refused += unbound.tolist() not in legal
    assert refused > 0
    # Without rules, the logits agree, too.
    allowed = np.ones(sum(map(len, plain.knobs.values())), np.uint8)
    free, (h, c) = plain.stream(), script.initial_state(1)
    for _ in range(5):
        action = free.decide(observation, None, allowed)
        with torch.no_grad():
            logits, h, c = script.logits(torch.as_tensor(observation)[None], h, c,
                                         torch.as_tensor(action)[None])
        np.testing.assert_allclose(free.logits(), np.concatenate([one[0] for one in logits]),
                                   atol=1e-5)
        observation = env.step(env.sample_legal_action())[0]
    try:
        stream.decide(observation, "ring gpus=4/alreduce")
    except cclgym.UserError as error:
        assert "did you mean 'ring gpus=4/allreduce'" in str(error)
    else:
        sys.exit("rules that do not exist are accepted")
    print(f"PyTorch {torch.__version__} and the policy file agree; {len(seen)} different decisions")


for module in NEEDS.get(sys.argv[1], []):
    if importlib.util.find_spec(module) is None:
        if os.environ.get("CI") == "true":
            sys.exit(f"CI is true, so {module} is required (scripts/setup training).")
        skip(f"needs {module}, which is not installed (scripts/setup training)")
globals()[sys.argv[1]]()
