"""Environments side by side."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

import numpy as np

from cclgym import _core, drawing, spaces
from cclgym.arguments import (Turns, call, checked_seed, refuse_render_mode, refuse_unknown,
                              require_open, to_json, warn_of, wrappers_json)
from cclgym.environment import twin_of

try:
    from gymnasium.vector import VectorEnv as _Base  # type: ignore
except ImportError:

    class _Base:  # type: ignore
        """The part of `gymnasium.vector.VectorEnv` on which environments here rely."""

        metadata: dict[str, Any] = {}
        spec = None
        render_mode = None
        closed = False

        @property
        def unwrapped(self):
            return self

        def close(self, **_):
            self.closed = True


try:
    from gymnasium.vector import AutoresetMode  # type: ignore
except ImportError:
    import enum

    class AutoresetMode(enum.Enum):  # type: ignore
        """Time at which an environment whose episode has ended starts the next one."""

        NEXT_STEP = "NextStep"
        SAME_STEP = "SameStep"
        DISABLED = "Disabled"


RENDER_MODES = ["ansi", "rgb_array"]
MOST = 2**31 - 1
"""Largest num_envs and workers."""


class VectorEnvironment(_Base):
    """`num_envs` identical environments, with Gymnasium's vector API.

    options, wrappers, flat, render_mode, deep copies and pickles: as in class Environment; render()
        returns a tuple with one line or picture per environment. Threads take turns, and after
        close(), reset, step and render raise ClosedEnvironmentError, as there.
    workers: number of threads that step the environments; with 0, the caller's thread steps them.
        Results do not depend on it. With workers, reset and step raise RuntimeError in a forked
        process, which has no such threads.
    autoreset_mode: "NextStep", "SameStep" or "Disabled", or a member of `AutoresetMode`. In mode
        Disabled, reset ended environments with `reset(options={"reset_mask": mask})`.
    copy: True if reset and step return copies; otherwise, views of buffers that the next call
        overwrites.

    `infos["action_mask"]`, if the environments have masks, is an array of shape
    (num_envs, bytes of a mask); other infos are arrays with their masks, as in Gymnasium.
    """

    def __init__(self, name: str, num_envs: int = 1, options: Mapping[str, Any] | None = None,
                 wrappers: Sequence[str | Mapping[str, Any]] | None = None, copy: bool = True,
                 render_mode: str | None = None, flat: bool = True, workers: int = 0,
                 autoreset_mode: str | AutoresetMode = "NextStep") -> None:
        refuse_render_mode(render_mode, RENDER_MODES)
        for what, count, least in (("num_envs", num_envs, 1), ("workers", workers, 0)):
            whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
            if not whole or not least <= count <= MOST:
                raise ValueError(
                    f"{what} is {count!r}; expected a whole number from {least} to {MOST}")
        self.name = name
        self.num_envs = int(num_envs)
        self.render_mode = render_mode
        self._copy = copy
        self._made_of = (name, to_json(options), wrappers_json(wrappers, flat),
                         self.num_envs, int(workers),
                         getattr(autoreset_mode, "value", autoreset_mode))
        self._core, self._views = call(_core.make_vector, *self._made_of,
                                       doing=f"preparing {name}")
        warn_of(self._core)
        split = [name.split(".") for name in self._core.info_names]
        self._info_paths = [(outer, last) for *outer, last in split]
        self._last = None
        self._sent: tuple[Future[Any], int] | None = None  # a step of send(), and its process
        self._shown: list[deque[tuple[float, float]]] = [
            deque(maxlen=drawing.CALLS) for _ in range(self.num_envs if render_mode else 0)]
        self._turns = Turns()
        mode = AutoresetMode(getattr(autoreset_mode, "value", autoreset_mode))
        self.metadata = {"autoreset_mode": mode, "render_modes": RENDER_MODES,
                         "render_fps": drawing.FPS}
        self.single_observation_space = spaces.build(self._core.observation_space)
        self.single_action_space = spaces.build(self._core.action_space)
        self.observation_space = spaces.batch(self.single_observation_space, num_envs)
        self.action_space = spaces.batch(self.single_action_space, num_envs)

    def reset(self, *, seed: int | Sequence[int | None] | None = None,
              options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets all environments, or those in options["reset_mask"]. The seed of environment i is
        seed + i, or seed[i]."""
        require_open(self.closed, self.name, "reset")
        self._require_received("reset")
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else checked_seed(seed + i)
                     for i in range(self.num_envs)]
        else:
            seeds = [checked_seed(one) for one in seed]
            if len(seeds) != self.num_envs:
                raise ValueError(f"found {len(seeds)} seeds; expected one per environment, that is "
                                 f"{self.num_envs}")
        options = dict(options) if options is not None else None
        reset_mask = options.pop("reset_mask", None) if options else None
        before: tuple[Any, ...] = ()
        if reset_mask is None:
            function, text = self._core.reset, to_json(options)
        else:
            reset_mask = np.asarray(reset_mask)
            if reset_mask.shape != (self.num_envs,) or reset_mask.dtype != bool:
                raise ValueError(f"reset_mask is {reset_mask!r}; expected {self.num_envs} bools")
            function, before = self._core.reset_some, (reset_mask.tolist(),)
            text = to_json(options or None)
        with self._turns:
            self._last = None
            call(function, *before, seeds, text, where={"options": text})
            for i, shown in enumerate(self._shown):
                if reset_mask is None or reset_mask[i]:
                    shown.clear()
            return self._observations("observations"), self._infos("action_masks")

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        require_open(self.closed, self.name, "step")
        self._require_received("step")
        return self._step(spaces.flatten_actions(self.action_space, actions, self.num_envs, self.name))

    def send(self, actions: Any) -> None:
        """Starts a step of all environments and returns at once; recv() returns its results. Until then,
        reset, step and send raise RuntimeError, and views of buffers (copy=False) may change."""
        require_open(self.closed, self.name, "send")
        self._require_received("send")
        flat = spaces.flatten_actions(self.action_space, actions, self.num_envs, self.name).copy()
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(self._step(flat))
            except BaseException as problem:  # raised again by recv()
                future.set_exception(problem)

        self._sent = future, os.getpid()
        threading.Thread(target=run).start()  # no daemon: the interpreter waits for it at its end

    def recv(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the step of send(), and returns or raises what step() would."""
        if self._sent is None:
            raise RuntimeError(f"{self.name}: recv() without a send() before it")
        future, process = self._sent
        if process != os.getpid():
            self._sent = None
            raise RuntimeError(f"{self.name}: recv() in a process forked after send(), which has no such step")
        try:
            return future.result()
        finally:
            if future.done():  # Ctrl-C may end the wait before
                self._sent = None

    def _require_received(self, method: str) -> None:
        if self._sent is not None:
            raise RuntimeError(f"{self.name}: {method}() after send(): call recv() first")

    def _step(self, flat: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        with self._turns:
            any_finished = self._core.step(flat)
            if self.render_mode is not None:
                self._last = flat.copy()
                self._show()
            infos = self._infos("action_masks")
            if any_finished:
                self._add_final(infos, self._views["finished"])
            return (
                self._observations("observations"),
                self._out("rewards"),
                self._out("terminated"),
                self._out("truncated"),
                infos,
            )

    def _show(self):
        """Adds the step's numbers to the pictures."""
        views = self._views
        for i, shown in enumerate(self._shown):
            row = views["final_infos" if views["finished"][i] else "infos"][i]
            shown.append(drawing.shown_step(self._core.info_names, row.tolist(),
                                            float(views["rewards"][i])))

    def action_masks(self) -> np.ndarray:
        """All masks as an array of bool with shape (num_envs, bytes of a mask)."""
        return self._views["action_masks"].astype(bool)

    def conditional_mask(self, environment, prefix):
        """Mask of the next integer of one environment's action after `prefix`."""
        with self._turns:
            return self._core.conditional_mask(environment,
                                               np.asarray(prefix, np.int64).reshape(-1))

    def sample_legal_action(self) -> np.ndarray:
        """One currently legal action per environment; see Environment."""
        if isinstance(self.single_action_space, spaces.LegalDiscrete):
            with self._turns:
                drawn = spaces.sample_legal_rows(self.single_action_space,
                                                 self._views["action_masks"])
            if drawn is not None:
                return drawn
        return np.stack([
            spaces.sample_legal(self.single_action_space,
                                lambda prefix, i=i: self.conditional_mask(i, prefix))
            for i in range(self.num_envs)
        ])

    def describe_action(self, action):
        """An action of `single_action_space` in words."""
        return self._core.describe_action(spaces.flatten_actions(self.single_action_space, action))

    def render(self) -> tuple[Any, ...] | None:
        """With render_mode "ansi", a tuple of lines; with "rgb_array", of pictures; see Environment."""
        require_open(self.closed, self.name, "render")
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            times = drawing.has_times(self._core.info_names)
            return tuple(drawing.draw(shown, times) for shown in self._shown)
        if self._last is None:
            return (f"{self.name}: no step since the last reset",) * self.num_envs
        return tuple(
            f"{self.name}: {self._core.describe_action(row)}: reward {reward:.6g}"
            for row, reward in zip(self._last, self._views["rewards"].tolist()))

    def __getstate__(self):
        self._require_received("pickle")
        state = self.__dict__.copy()
        del state["_core"], state["_views"]
        with self._turns:
            state["_snapshot"] = self._core.snapshot()
        return state

    def __setstate__(self, state):
        snapshot = state.pop("_snapshot")
        self.__dict__.update(state)
        self._core, self._views = _core.make_vector(*self._made_of)
        self._core.restore(snapshot)

    def __deepcopy__(self, memo):
        self._require_received("deepcopy")
        other = twin_of(self, memo)
        with self._turns:
            other._core, other._views = self._core.twin()
        return other

    def close_extras(self, **_):
        pass

    def __repr__(self):
        return f"<cclgym.VectorEnvironment {self.name}, num_envs={self.num_envs}>"

    def _out(self, key):
        return self._views[key].copy() if self._copy else self._views[key]

    def _observations(self, key):
        return spaces.unflatten(self.single_observation_space, self._out(key))

    def _infos(self, mask_key, among=None):
        """Infos in Gymnasium's form: one array per name, and under "_name" the environments that
        have it. `among`: the environments whose episodes ended; None: infos of the new state."""
        infos = {}
        for number, values, holds in zip(*self._core.infos(among is not None)):
            outer, last = self._info_paths[number]
            at = infos
            for part in outer:
                at.setdefault("_" + part, holds)
                at = at.setdefault(part, {})
            at[last] = values
            at["_" + last] = holds
        if self._core.has_action_mask:
            infos["action_mask"] = self._out(mask_key)
            infos["_action_mask"] = (
                np.ones(self.num_envs, bool) if among is None else among.copy()
            )
        return infos

    def _add_final(self, infos, finished):
        rows = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(finished):
            rows[i] = spaces.unflatten(
                self.single_observation_space, self._views["final_observations"][i].copy()
            )
        infos["final_obs"] = rows
        infos["final_info"] = self._infos("final_action_masks", finished)
        infos["_final_obs"] = finished.copy()
        infos["_final_info"] = finished.copy()


def make_vec(name: str, num_envs: int = 1, options: Mapping[str, Any] | None = None,
             wrappers: Sequence[str | Mapping[str, Any]] | None = None, copy: bool = True,
             render_mode: str | None = None, flat: bool = True, workers: int = 0,
             autoreset_mode: str | AutoresetMode = "NextStep",
             **unknown: NoReturn) -> VectorEnvironment:
    """`num_envs` environments `name`: the arguments of make, and those of class VectorEnvironment."""
    refuse_unknown("make_vec", unknown, make_vec)
    return VectorEnvironment(name, num_envs, options, wrappers, copy, render_mode, flat, workers,
                             autoreset_mode)
