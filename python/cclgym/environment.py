"""One environment."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from copy import deepcopy as copy_of
from typing import Any, NoReturn

import numpy as np

from cclgym import _core, drawing, spaces
from cclgym.arguments import (Turns, call, checked_seed, refuse_render_mode, refuse_unknown,
                              require_open, to_json, warn_of, wrappers_json)

try:
    from gymnasium import Env as _Base  # type: ignore
except ImportError:

    class _Base:  # type: ignore
        """The part of `gymnasium.Env` on which environments here rely."""

        metadata: dict[str, Any] = {"render_modes": []}
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


def info_dict(names, values):
    """The dict info, without numbers that do not apply (NaN); "a.b" is key b of dict a."""
    info = {}
    for name, value in zip(names, values):
        if value == value:
            if "." not in name:
                info[name] = value
                continue
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
    render_mode: None; "ansi": `render()` returns a line about the last step; "rgb_array": it returns
        a picture of the last steps (docs/gym.md).

    Threads take turns. After close(), reset, step and render raise ClosedEnvironmentError.

    `copy.deepcopy` and `pickle` copy the environment with its state: what follows has the same bits
    as without. The copy repeats all that was done since the last reset with a seed (docs/gym.md).

    `info["action_mask"]`, if the environment has one, is the argument of `action_space.sample`;
    `action_masks()` is the same as one array of bool. For flat actions it is exact. For others it
    is the marginal mask, which allows every number that is part of some legal action;
    `conditional_mask` gives the exact mask after the first numbers of an action.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": drawing.FPS}

    def __init__(self, name: str, options: Mapping[str, Any] | None = None,
                 wrappers: Sequence[str | Mapping[str, Any]] | None = None, copy: bool = True,
                 render_mode: str | None = None, flat: bool = True) -> None:
        refuse_render_mode(render_mode, self.metadata["render_modes"])
        self.name = name
        self.render_mode = render_mode
        self._copy = copy
        self._made_of = (name, to_json(options), wrappers_json(wrappers, flat))
        self._take(call(_core.make, *self._made_of, doing=f"preparing {name}"))
        warn_of(self._core)
        self.observation_space = spaces.build(self._core.observation_space)
        self.action_space = spaces.build(self._core.action_space)
        self._last: tuple[Any, float] | None = None  # action and reward of the last step, to render
        self._shown: deque[tuple[float, float]] = deque(maxlen=drawing.CALLS)
        self._closed = False
        self._turns = Turns()

    def _take(self, made):
        """Sets the attributes that hold the environment in C++ and views of its buffers."""
        self._core, self._observation, self._mask, self._info = made
        self._info_names = list(self._core.info_names)
        self._has_mask = self._core.has_action_mask

    def reset(self, *, seed: int | None = None,
              options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        require_open(self._closed, self.name, "reset")
        seed = checked_seed(seed)
        text = to_json(options)
        with self._turns:
            super().reset(seed=seed)
            call(self._core.reset, seed, text, doing=None, where={"options": text})
            self._last = None
            self._shown.clear()
            return self._results()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        require_open(self._closed, self.name, "step")
        with self._turns:
            if type(action) is np.int64 and type(self.action_space) is spaces.LegalDiscrete:
                reward, terminated, truncated = self._core.step_number(action)
            else:
                flat = spaces.flatten_actions(self.action_space, action, owner=self.name)
                reward, terminated, truncated = self._core.step(flat)
            if self.render_mode is not None:
                self._last = (action, reward)
                self._shown.append(
                    drawing.shown_step(self._info_names, self._info.tolist(), reward))
            observation, info = self._results()
            return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Ends the use of the environment, as often as it is called. Its memory is freed with it."""
        self._closed = True

    def action_masks(self) -> np.ndarray:
        """All dimensions' masks concatenated, as sb3-contrib's MaskablePPO expects them."""
        return self._mask.astype(bool)

    def conditional_mask(self, prefix: Any) -> np.ndarray:
        """Mask of the next integer of an action after the integers `prefix`: n zeros and ones."""
        with self._turns:
            return self._core.conditional_mask(np.asarray(prefix, np.int64).reshape(-1))

    def sample_legal_action(self) -> Any:
        """A currently legal action, drawn from the stream of `action_space`: uniform among flat
        actions; otherwise number by number, each uniform given the previous ones."""
        return spaces.sample_legal(self.action_space, self.conditional_mask)

    def describe_action(self, action: Any) -> str:
        """An action of the action space in words: "ring LL128 channels=8"."""
        return self._core.describe_action(spaces.flatten_actions(self.action_space, action))

    def render(self) -> str | np.ndarray | None:
        """With render_mode "ansi", a line about the last step: the action in words, the reward, and
        the numbers of info. With "rgb_array", a picture of the last 64 steps: an array of uint8 and
        shape (240, 512, 3)."""
        require_open(self._closed, self.name, "render")
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            return drawing.draw(self._shown, drawing.has_times(self._info_names))
        numbers = ", ".join(
            f"{name} {value:.6g}" for name, value in zip(self._info_names, self._info.tolist())
            if value == value)
        if self._last is None:
            return f"{self.name}: {numbers or 'no step since the last reset'}"
        action, reward = self._last
        return f"{self.name}: {self.describe_action(action)}: reward {reward:.6g}, {numbers}"

    def __getstate__(self):
        state = self.__dict__.copy()
        for name in ("_core", "_observation", "_mask", "_info"):
            del state[name]
        with self._turns:
            state["_snapshot"] = self._core.snapshot()
        return state

    def __setstate__(self, state):
        snapshot = state.pop("_snapshot")
        self.__dict__.update(state)
        self._take(_core.make(*self._made_of))
        self._core.restore(snapshot)

    def __deepcopy__(self, memo):
        other = twin_of(self, memo)
        with self._turns:
            other._take(self._core.twin())
        return other

    def __repr__(self):
        return f"<cclgym.Environment {self.name}>"

    def _results(self):
        observation = self._observation.copy() if self._copy else self._observation
        info = info_dict(self._info_names, self._info.tolist())
        if self._has_mask:
            mask = self._mask.copy() if self._copy else self._mask
            info["action_mask"] = spaces.unflatten_mask(self.action_space, mask)
        return spaces.unflatten(self.observation_space, observation), info


def twin_of(env, memo):
    """A deep copy of an environment's attributes, without those that refer to C++."""
    other = type(env).__new__(type(env))
    memo[id(env)] = other
    for name, value in env.__dict__.items():
        if name not in ("_core", "_observation", "_mask", "_info", "_views"):
            other.__dict__[name] = copy_of(value, memo)
    return other


def make(name: str, options: Mapping[str, Any] | None = None,
         wrappers: Sequence[str | Mapping[str, Any]] | None = None, copy: bool = True,
         render_mode: str | None = None, flat: bool = True, **unknown: NoReturn) -> Environment:
    """The environment `name`; see class Environment and `cclgym.environments()`."""
    refuse_unknown("make", unknown, make)
    return Environment(name, options, wrappers, copy, render_mode, flat)


def sample_legal_action(env: Any) -> Any:
    """A currently legal action of a cclgym environment, which may be inside Python wrappers; for a
    vector of environments, one action per environment. Raises TypeError for other environments."""
    inner = env.unwrapped
    if not hasattr(inner, "sample_legal_action"):
        raise TypeError(f"{env!r} has no sample_legal_action; expected an environment of cclgym")
    return inner.sample_legal_action()
