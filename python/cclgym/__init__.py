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

from cclgym import spaces
from cclgym._core import (InvalidAction, InvalidMask, ResetNeeded, SimulationStalled, UserError,
                          __version__)
from cclgym._core import environments, wrappers
from cclgym.environment import Environment, make, sample_legal_action
from cclgym.vector import VectorEnvironment, make_vec

__all__ = [
    "Environment",
    "InvalidAction",
    "InvalidMask",
    "ResetNeeded",
    "SimulationStalled",
    "UserError",
    "VectorEnvironment",
    "__version__",
    "environments",
    "make",
    "make_vec",
    "sample_legal_action",
    "spaces",
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
