"""One environment."""

import json
import warnings

import numpy as np

from cclgym import _core, spaces

try:
    from gymnasium import Env as _Base
except ImportError:

    class _Base:
        """The part of `gymnasium.Env` on which environments here rely."""

        metadata = {"render_modes": []}
        spec = None
        render_mode = None
        _np_random = None

        @property
        def unwrapped(self):
            return self

        @property
        def np_random(self):
            if self._np_random is None:
                self._np_random = np.random.default_rng()
            return self._np_random

        def reset(self, *, seed=None, options=None):
            if seed is not None:
                self._np_random = np.random.default_rng(seed)

        def close(self):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()
            return False


def to_json(value):
    """JSON from which the extension module reads options; None stays None."""
    return None if value is None else json.dumps(value)


def warn_of(core):
    """Issues the caveats of an environment's options as Python warnings."""
    for text in core.warnings:
        warnings.warn(text, UserWarning, stacklevel=4)


def checked_seed(seed):
    if seed is None:
        return None
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise ValueError(f"the seed is {seed!r}; expected a whole number from 0 to 2**64 - 1")
    return int(seed)


def all_wrappers(wrappers, flat):
    """The requested wrappers, around FlatActions if actions are flat."""
    wrappers = list(wrappers or [])
    return ["FlatActions"] + wrappers if flat else wrappers


def info_dict(names, values):
    """The dict info, without numbers that do not apply (NaN); "a.b" is key b of dict a."""
    info = {}
    for name, value in zip(names, values):
        if value == value:
            *outer, key = name.split(".")
            at = info
            for part in outer:
                at = at.setdefault(part, {})
            at[key] = value
    return info


class Environment(_Base):
    """One of cclgym's environments, with Gymnasium's API.

    options: dict of the environment's options (docs/gym.md).
    wrappers: list of wrappers in C++, innermost first: "RecordEpisodeStatistics" or
        {"name": "TimeLimit", "max_steps": 100}.
    copy: True if reset and step return copies of observation and mask; otherwise, views of buffers
        that the next call overwrites.
    flat: True if an action is one number, of a Discrete over all actions that are legal in some
        state; otherwise, an action has one number per knob.

    `info["action_mask"]`, if the environment has one, is the argument of `action_space.sample`;
    `action_masks()` is the same as one array of bool. For flat actions it is exact. For others it
    is the marginal mask, which allows every number that is part of some legal action;
    `conditional_mask` gives the exact mask after the first numbers of an action.
    """

    metadata = {"render_modes": []}

    def __init__(self, name, options=None, wrappers=None, copy=True, render_mode=None, flat=True):
        if render_mode is not None:
            raise ValueError(f"render_mode is {render_mode!r}; expected None, because {name} has no "
                             "render modes")
        self.name = name
        self.render_mode = None
        self._copy = copy
        self._core, self._observation, self._mask, self._info = _core.make(
            name, to_json(options), to_json(all_wrappers(wrappers, flat))
        )
        warn_of(self._core)
        self.observation_space = spaces.build(self._core.observation_space)
        self.action_space = spaces.build(self._core.action_space)

    def reset(self, *, seed=None, options=None):
        seed = checked_seed(seed)
        super().reset(seed=seed)
        self._core.reset(seed, to_json(options))
        return self._results()

    def step(self, action):
        flat = spaces.flatten_actions(self.action_space, action)
        reward, terminated, truncated = self._core.step(flat)
        observation, info = self._results()
        return observation, reward, terminated, truncated, info

    def action_masks(self):
        """All dimensions' masks concatenated, as sb3-contrib's MaskablePPO expects them."""
        return self._mask.astype(bool)

    def conditional_mask(self, prefix):
        """Mask of the next integer of an action after the integers `prefix`: n zeros and ones."""
        return self._core.conditional_mask(np.asarray(prefix, np.int64).reshape(-1))

    def sample_legal_action(self):
        """A currently legal action, drawn from the stream of `action_space`: uniform among flat
        actions; otherwise number by number, each uniform given the previous ones."""
        return spaces.sample_legal(self.action_space, self.conditional_mask)

    def describe_action(self, action):
        """An action of the action space in words: "ring LL128 channels=8"."""
        return self._core.describe_action(spaces.flatten_actions(self.action_space, action))

    def render(self):
        return None

    def __repr__(self):
        return f"<cclgym.Environment {self.name}>"

    def _results(self):
        observation = self._observation.copy() if self._copy else self._observation
        info = info_dict(self._core.info_names, self._info.tolist())
        if self._core.has_action_mask:
            mask = self._mask.copy() if self._copy else self._mask
            info["action_mask"] = spaces.unflatten_mask(self.action_space, mask)
        return spaces.unflatten(self.observation_space, observation), info


def make(name, options=None, wrappers=None, copy=True, render_mode=None, flat=True):
    """The environment `name`; see class Environment and `cclgym.environments()`."""
    return Environment(name, options, wrappers, copy, render_mode, flat)


def sample_legal_action(env):
    """A currently legal action of a cclgym environment, which may be inside Python wrappers; for a
    vector of environments, one action per environment. Raises TypeError for other environments."""
    inner = env.unwrapped
    if not hasattr(inner, "sample_legal_action"):
        raise TypeError(f"{env!r} has no sample_legal_action; expected an environment of cclgym")
    return inner.sample_legal_action()
