"""cclgym's environments with Gymnasium's API, with or without Gymnasium installed.

    import cclgym
    env = cclgym.make("CollectiveTuning-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(
        env.action_space.sample(info["action_mask"]))  # or env.sample_legal_action()

An action is the number of an action that is legal for some call on the machine; with `flat=False`,
it is one number per knob (MultiDiscrete). If Gymnasium is installed, environments are
`gymnasium.Env` and `gymnasium.vector.VectorEnv`, their spaces are Gymnasium's, and
`gymnasium.make("cclgym/CollectiveTuning-v0")` makes them, too.
"""

from cclgym import numpy_release as _numpy_release  # first: it refuses releases of NumPy

from cclgym import spaces
from cclgym._core import (InvalidAction, InvalidMask, ResetNeeded, SimulationStalled, UserError,
                          __version__)
from cclgym._core import environments, fabrics, wrappers
from cclgym.arguments import ClosedEnvironmentError
from cclgym.batch import Comparison, Sweep, Table, compare, report, sweep
from cclgym.commands import Fit, Synthesis, Training, Workload, fit, synthesize, train, workload
from cclgym.environment import Environment, make, sample_legal_action
from cclgym.policy import Policy
from cclgym.program import Compiled, Program, read_program
from cclgym.simulation import Fabric, Simulation, simulate
from cclgym.vector import VectorEnvironment, make_vec

__all__ = [
    "ClosedEnvironmentError",
    "Comparison",
    "Compiled",
    "Environment",
    "Fabric",
    "Fit",
    "InvalidAction",
    "InvalidMask",
    "Policy",
    "Program",
    "ResetNeeded",
    "Simulation",
    "SimulationStalled",
    "Sweep",
    "Synthesis",
    "Table",
    "Training",
    "UserError",
    "VectorEnvironment",
    "Workload",
    "__version__",
    "compare",
    "environments",
    "fabrics",
    "fit",
    "make",
    "make_vec",
    "read_program",
    "report",
    "sample_legal_action",
    "simulate",
    "spaces",
    "sweep",
    "synthesize",
    "train",
    "workload",
    "wrappers",
]


def _register():
    try:
        from gymnasium import register
    except ImportError:
        return
    for name in environments():
        register(
            id=f"cclgym/{name}",
            entry_point="cclgym.environment:make",
            vector_entry_point="cclgym.vector:make_vec",
            kwargs={"name": name},
        )


_register()
