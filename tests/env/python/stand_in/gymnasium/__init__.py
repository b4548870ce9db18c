"""Stand-in for Gymnasium on machines without it: it has the few names that package cclgym uses, so
that the code that uses them is tested."""

import importlib

import numpy as np

from gymnasium import error

registry = {}


def __getattr__(name):
    """Loads spaces and vector late: they need cclgym._core, which needs gymnasium.error."""
    if name in ("spaces", "vector"):
        return importlib.import_module(f"gymnasium.{name}")
    raise AttributeError(name)


class Env:
    metadata = {"render_modes": []}
    render_mode = None
    spec = None
    _np_random = None

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._np_random = np.random.default_rng(seed)

    def close(self):
        pass


def register(id, entry_point=None, vector_entry_point=None, kwargs=None):
    registry[id] = (entry_point, vector_entry_point, kwargs)


def _load(entry_point):
    module, name = entry_point.split(":")
    return getattr(importlib.import_module(module), name)


def make(id, **arguments):
    return _load(registry[id][0])(**registry[id][2], **arguments)


def make_vec(id, num_envs, **arguments):
    return _load(registry[id][1])(num_envs=num_envs, **registry[id][2], **arguments)
