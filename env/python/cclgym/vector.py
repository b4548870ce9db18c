"""Environments side by side."""

import numpy as np

from cclgym import _core, spaces
from cclgym.environment import all_wrappers, checked_seed, to_json, warn_of

try:
    from gymnasium.vector import VectorEnv as _Base
except ImportError:

    class _Base:
        """The part of `gymnasium.vector.VectorEnv` on which environments here rely."""

        metadata = {}
        spec = None
        render_mode = None
        closed = False

        @property
        def unwrapped(self):
            return self

        def close(self, **_):
            self.closed = True


try:
    from gymnasium.vector import AutoresetMode
except ImportError:
    import enum

    class AutoresetMode(enum.Enum):
        """Time at which an environment whose episode has ended starts the next one."""

        NEXT_STEP = "NextStep"
        SAME_STEP = "SameStep"
        DISABLED = "Disabled"


class VectorEnvironment(_Base):
    """`num_envs` identical environments, with Gymnasium's vector API.

    options, wrappers, flat: as in class Environment.
    workers: number of threads that step the environments; with 0, the caller's thread steps them.
        Results do not depend on it.
    autoreset_mode: "NextStep", "SameStep" or "Disabled", or a member of `AutoresetMode`. In mode
        Disabled, reset ended environments with `reset(options={"reset_mask": mask})`.
    copy: True if reset and step return copies; otherwise, views of buffers that the next call
        overwrites.

    `infos["action_mask"]`, if the environments have masks, is an array of shape
    (num_envs, bytes of a mask); other infos are arrays with their masks, as in Gymnasium.
    """

    def __init__(self, name, num_envs=1, options=None, wrappers=None, workers=0,
                 autoreset_mode="NextStep", copy=True, render_mode=None, flat=True):
        if render_mode is not None:
            raise ValueError(f"render_mode is {render_mode!r}; expected None, because {name} has no "
                             "render modes")
        if not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"num_envs is {num_envs!r}; expected a whole number >= 1")
        self.name = name
        self.num_envs = num_envs
        self._copy = copy
        self._core, self._views = _core.make_vector(
            name, to_json(options), to_json(all_wrappers(wrappers, flat)), num_envs, workers,
            getattr(autoreset_mode, "value", autoreset_mode),
        )
        warn_of(self._core)
        mode = AutoresetMode(getattr(autoreset_mode, "value", autoreset_mode))
        self.metadata = {"autoreset_mode": mode, "render_modes": []}
        self.single_observation_space = spaces.build(self._core.observation_space)
        self.single_action_space = spaces.build(self._core.action_space)
        self.observation_space = spaces.batch(self.single_observation_space, num_envs)
        self.action_space = spaces.batch(self.single_action_space, num_envs)

    def reset(self, *, seed=None, options=None):
        """Resets all environments, or those in options["reset_mask"]. The seed of environment i is
        seed + i, or seed[i]."""
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
        if reset_mask is None:
            self._core.reset(seeds, to_json(options))
        else:
            reset_mask = np.asarray(reset_mask)
            if reset_mask.shape != (self.num_envs,) or reset_mask.dtype != bool:
                raise ValueError(f"reset_mask is {reset_mask!r}; expected {self.num_envs} bools")
            self._core.reset_some(reset_mask.tolist(), seeds, to_json(options or None))
        return self._observations("observations"), self._infos("infos", "action_masks")

    def step(self, actions):
        flat = spaces.flatten_actions(self.action_space, actions, self.num_envs)
        self._core.step(flat)
        infos = self._infos("infos", "action_masks")
        finished = self._views["finished"]
        if finished.any():
            self._add_final(infos, finished)
        return (
            self._observations("observations"),
            self._out("rewards"),
            self._out("terminated"),
            self._out("truncated"),
            infos,
        )

    def action_masks(self):
        """All masks as an array of bool with shape (num_envs, bytes of a mask)."""
        return self._views["action_masks"].astype(bool)

    def conditional_mask(self, environment, prefix):
        """Mask of the next integer of one environment's action after `prefix`."""
        return self._core.conditional_mask(environment, np.asarray(prefix, np.int64).reshape(-1))

    def sample_legal_action(self):
        """One currently legal action per environment; see Environment."""
        return np.stack([
            spaces.sample_legal(self.single_action_space,
                                lambda prefix, i=i: self.conditional_mask(i, prefix))
            for i in range(self.num_envs)
        ])

    def describe_action(self, action):
        """An action of `single_action_space` in words."""
        return self._core.describe_action(spaces.flatten_actions(self.single_action_space, action))

    def render(self):
        return None

    def close_extras(self, **_):
        pass

    def __repr__(self):
        return f"<cclgym.VectorEnvironment {self.name}, num_envs={self.num_envs}>"

    def _out(self, key):
        return self._views[key].copy() if self._copy else self._views[key]

    def _observations(self, key):
        return spaces.unflatten(self.single_observation_space, self._out(key))

    def _infos(self, key, mask_key, among=None):
        """Infos in Gymnasium's form: one array per name, and under "_name" the environments that
        have it."""
        infos = {}
        for name, column in zip(self._core.info_names, self._views[key].T):
            holds = ~np.isnan(column)
            if among is not None:
                holds &= among
            if holds.any():
                *outer, last = name.split(".")
                at = infos
                for part in outer:
                    at.setdefault("_" + part, holds)
                    at = at.setdefault(part, {})
                at[last] = np.where(holds, column, 0.0)
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
        infos["final_info"] = self._infos("final_infos", "final_action_masks", finished)
        infos["_final_obs"] = finished.copy()
        infos["_final_info"] = finished.copy()


def make_vec(name, num_envs=1, **arguments):
    """`num_envs` environments `name`; see class VectorEnvironment."""
    return VectorEnvironment(name, num_envs, **arguments)
