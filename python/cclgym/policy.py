"""Trained policies in plain code, from files of `cclgym export` (docs/deploy.md)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from cclgym import _core


class Policy:
    """A policy file: the agent without LibTorch, which decides in about a microsecond.

        policy = cclgym.Policy("ndv4.policy")
        stream = policy.stream()
        action = stream.decide(observation, "ndv4/allreduce")

    An observation has the numbers of `feature_names`, as in the environment; an action has one level
    of each of `knobs`, as with `flat=False`. Raises UserError if the file cannot be read. Copies and
    pickles of a policy contain the file, and those of a stream its memory, too.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._take(_core.policy(os.fspath(path)))

    def _take(self, core: Any) -> None:
        self._core = core
        self.feature_names: list[str] = self._core.feature_names()
        self.knobs: dict[str, list[str]] = self._core.knobs()
        """Names of the levels, by knob."""
        self.rules: list[str] = self._core.rules()
        """Names of the mask rules: "MACHINE/COLLECTIVE"."""
        self.provenance: str = self._core.provenance()

    def stream(self) -> Stream:
        """The memory of a new stream of calls, such as a communicator's."""
        return Stream(self)

    def __getstate__(self) -> bytes:
        return self._core.file()

    def __setstate__(self, file: bytes) -> None:
        self._take(_core.parse_policy(file))

    def __deepcopy__(self, memo: Any) -> Policy:
        return self  # nothing in it changes


class Stream:
    """Decisions of a policy for the calls of one stream, in their order."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._core = policy._core.stream()

    def decide(self, observation: Any, rules: str | None = None,
               allowed: Any = None) -> np.ndarray:
        """The likeliest legal levels, one per knob (int64). rules: one of Policy.rules; None: every
        combination is legal. allowed: one 0 or 1 per level of each knob in turn, or None. Raises
        UserError if nothing is legal, or if a size is wrong; the stream then stays as it was."""
        number = -1
        if rules is not None:
            if rules not in self._policy.rules:
                raise _core.UserError(_core.unknown_name("rules", rules, self._policy.rules))
            number = self._policy.rules.index(rules)
        return np.array(self._core.decide(observation, number, allowed), np.int64)

    def __getstate__(self) -> tuple[Policy, bytes]:
        return self._policy, self._core.state()

    def __setstate__(self, state: tuple[Policy, bytes]) -> None:
        self._policy, memory = state
        self._core = self._policy._core.stream()
        self._core.set_state(memory)

    def logits(self) -> np.ndarray:
        """The logits of the last decision, of all knobs in turn, before masking."""
        return np.array(self._core.logits(), np.float32)
