"""Spaces: Gymnasium's if it is installed, otherwise this module's, which have the same protocol.

For the same seed, the samples of this module's spaces differ from those of Gymnasium's.
"""

# mypy: ignore-errors

import itertools

import numpy as np

from cclgym import _core

try:
    from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
except ImportError:

    class _Space:
        """Base of all spaces: a shape, a type, and a stream of random numbers."""

        def __init__(self, shape, dtype, seed=None):
            self.shape = shape
            self.dtype = None if dtype is None else np.dtype(dtype)
            self._np_random = None
            if seed is not None:
                self.seed(seed)

        @property
        def np_random(self):
            if self._np_random is None:
                self.seed()
            return self._np_random

        def seed(self, seed=None):
            """Restarts the stream of samples. Without a seed, it uses the system's entropy."""
            self._np_random = np.random.default_rng(seed)
            return seed

        def __contains__(self, value):
            return self.contains(value)

    class Box(_Space):
        """Real numbers within bounds, element by element."""

        def __init__(self, low, high, shape=None, dtype=np.float32, seed=None):
            shape = np.broadcast(low, high).shape if shape is None else tuple(shape)
            super().__init__(shape, dtype, seed)
            self.low = np.full(shape, low, dtype)
            self.high = np.full(shape, high, dtype)

        def contains(self, value):
            return (
                isinstance(value, np.ndarray)
                and np.can_cast(value.dtype, self.dtype)
                and value.shape == self.shape
                and bool(np.all(value >= self.low) and np.all(value <= self.high))
            )

        def sample(self, mask=None):
            if mask is not None:
                raise ValueError("Box.sample has a mask; expected none")
            if self.dtype.kind in "iu":
                return self.np_random.integers(self.low, self.high, dtype=self.dtype, endpoint=True)
            below, above = np.isfinite(self.low), np.isfinite(self.high)
            exponential = self.np_random.exponential(size=self.shape)
            low = np.where(below, self.low, 0.0).astype(float)
            high = np.where(above, self.high, 0.0).astype(float)
            value = np.select(
                [below & above, below, above],
                [self.np_random.uniform(low, np.maximum(low, high)), low + exponential,
                 high - exponential],
                self.np_random.normal(size=self.shape),
            )
            return np.clip(value.astype(self.dtype), self.low, self.high)

        def __repr__(self):
            def text(bounds):
                same = bounds.size > 0 and bounds.min() == bounds.max()
                return str(bounds.min() if same else bounds)

            return f"Box({text(self.low)}, {text(self.high)}, {self.shape}, {self.dtype})"

        def __eq__(self, other):
            return (
                isinstance(other, Box)
                and self.shape == other.shape
                and self.dtype == other.dtype
                and np.array_equal(self.low, other.low)
                and np.array_equal(self.high, other.high)
            )

    def _choose(random, start, n, mask):
        """One of start .. start + n - 1, uniform among those allowed by the mask."""
        if mask is None:
            return start + random.integers(n)
        mask = np.asarray(mask)
        if mask.shape != (n,) or not np.isin(mask, (0, 1)).all():
            raise ValueError(f"the mask is {mask}; expected {n} zeros and ones")
        legal = np.flatnonzero(mask)
        if legal.size == 0:
            raise ValueError("the mask is all zeros; expected at least one 1")
        return start + random.choice(legal)

    class Discrete(_Space):
        """The integers start .. start + n - 1."""

        def __init__(self, n, seed=None, start=0):
            super().__init__((), np.int64, seed)
            self.n = np.int64(n)
            self.start = np.int64(start)

        def contains(self, value):
            if isinstance(value, np.ndarray):
                if value.shape != () or value.dtype.kind not in "iu":
                    return False
            elif not isinstance(value, (int, np.integer)) or isinstance(value, bool):
                return False
            return bool(self.start <= value < self.start + self.n)

        def sample(self, mask=None):
            return np.int64(_choose(self.np_random, self.start, self.n, mask))

        def __repr__(self):
            start = f", start={self.start}" if self.start else ""
            return f"Discrete({self.n}{start})"

        def __eq__(self, other):
            return isinstance(other, Discrete) and (self.n, self.start) == (other.n, other.start)

    class MultiDiscrete(_Space):
        """Several Discrete spaces side by side; `sample` takes a tuple with one mask per space."""

        def __init__(self, nvec, dtype=np.int64, seed=None, start=None):
            self.nvec = np.array(nvec, dtype)
            self.start = np.zeros_like(self.nvec) if start is None else np.array(start, dtype)
            super().__init__(self.nvec.shape, dtype, seed)

        def contains(self, value):
            value = np.asarray(value)
            return (
                value.dtype.kind in "iu"
                and value.shape == self.shape
                and bool(np.all(value >= self.start) and np.all(value < self.start + self.nvec))
            )

        def sample(self, mask=None):
            if mask is None:
                return self.start + self.np_random.integers(self.nvec, dtype=self.dtype)
            if self.nvec.ndim != 1 or not isinstance(mask, tuple) or len(mask) != len(self.nvec):
                raise ValueError(f"the mask of {self} must be a tuple of {self.nvec.size} masks")
            values = [
                _choose(self.np_random, *parts) for parts in zip(self.start, self.nvec, mask)
            ]
            return np.array(values, self.dtype)

        def __repr__(self):
            start = f", start={self.start}" if np.any(self.start != 0) else ""
            return f"MultiDiscrete({self.nvec}{start})"

        def __eq__(self, other):
            return (
                isinstance(other, MultiDiscrete)
                and np.array_equal(self.nvec, other.nvec)
                and np.array_equal(self.start, other.start)
            )

    class Dict(_Space):
        """Named spaces."""

        def __init__(self, spaces, seed=None):
            self.spaces = dict(spaces)
            super().__init__(None, None, seed)

        def seed(self, seed=None):
            super().seed(seed)
            for space in self.spaces.values():
                space.seed(int(self._np_random.integers(2**31)))
            return seed

        def contains(self, value):
            return (
                isinstance(value, dict)
                and value.keys() == self.spaces.keys()
                and all(value[name] in space for name, space in self.spaces.items())
            )

        def sample(self, mask=None):
            masks = mask or {}
            return {name: space.sample(masks.get(name)) for name, space in self.spaces.items()}

        def __getitem__(self, name):
            return self.spaces[name]

        def keys(self):
            return self.spaces.keys()

        def values(self):
            return self.spaces.values()

        def items(self):
            return self.spaces.items()

        def __repr__(self):
            parts = ", ".join(f"{name!r}: {space}" for name, space in self.spaces.items())
            return f"Dict({parts})"

        def __eq__(self, other):
            return isinstance(other, Dict) and self.spaces == other.spaces


class LegalDiscrete(Discrete):
    """A Discrete whose `sample` takes a few microseconds under a mask of any length. It draws the
    same values from the same stream as Discrete."""

    def sample(self, mask=None, **more):
        if not more and type(mask) is np.ndarray and mask.dtype == np.int8 and (
                mask.shape == (self.n,)):
            count = _core.count_legal(mask)
            if count > 0:
                return self.start + np.int64(
                    _core.nth_legal(mask, int(self.np_random.integers(count))))
        return super().sample(mask, **more)


def build(description):
    """The space that the extension module describes."""
    kind, *parts = description
    if kind == "Box":
        low, high, shape = parts
        return Box(
            np.array(low, np.float32).reshape(shape),
            np.array(high, np.float32).reshape(shape),
            dtype=np.float32,
        )
    if kind == "Discrete":
        n, start = parts
        return LegalDiscrete(n, start=start)
    if kind == "MultiDiscrete":
        nvec, start = parts
        return MultiDiscrete(nvec, start=start) if any(start) else MultiDiscrete(nvec)
    return Dict({name: build(entry) for name, entry in parts[0]})


def batch(space, count):
    """The space of batches of `count` values of a space."""
    if isinstance(space, Box):
        return Box(np.stack([space.low] * count), np.stack([space.high] * count),
                   dtype=space.dtype)
    if isinstance(space, Discrete):
        nvec, start = [space.n] * count, [space.start] * count
        return MultiDiscrete(nvec, start=start) if space.start else MultiDiscrete(nvec)
    if isinstance(space, MultiDiscrete):  # as in Gymnasium
        low = np.stack([space.start] * count)
        return Box(low, low + np.stack([space.nvec] * count) - 1, dtype=space.dtype)
    return Dict({name: batch(entry, count) for name, entry in space.spaces.items()})


def unflatten(space, flat):
    """The value of a space that has these numbers, which are the last axis of `flat`; other axes are
    kept.

    A Box's array is a view of `flat`.
    """
    axes = flat.shape[:-1]
    if isinstance(space, Box):
        return flat.reshape(axes + space.shape)
    if isinstance(space, Discrete):
        value = flat[..., 0].astype(np.int64)
        return value if axes else np.int64(value)
    if isinstance(space, MultiDiscrete):
        return flat.astype(np.int64)
    values, begin = {}, 0
    for name, entry in space.spaces.items():
        end = begin + size(entry)
        values[name] = unflatten(entry, flat[..., begin:end])
        begin = end
    return values


def size(space):
    """Number of numbers in a value."""
    if isinstance(space, Dict):
        return sum(size(entry) for entry in space.spaces.values())
    return int(np.prod(space.shape, dtype=int))


def flatten_actions(space, action, count=None, owner=""):
    """The integers of one action, or of `count` actions (axes: environment, integer). Raises
    TypeError if they are not integers, and InvalidAction, which begins with `owner`, if there is not
    one action per environment; nothing else is checked."""
    if isinstance(space, Dict):
        parts = [flatten_actions(entry, action[name], count, owner)
                 for name, entry in space.spaces.items()]
        return np.ascontiguousarray(np.concatenate(parts, axis=-1))
    try:
        action = np.asarray(action)
    except ValueError:  # rows of several lengths
        raise _core.InvalidAction(
            f"{owner}: the actions are not an array: {action!r}; expected shape {space.shape}"
        ) from None
    if count is not None and action.dtype == np.int64 and action.shape == space.shape:
        return action.reshape(count, -1)  # without a copy, of which the extension makes one
    if action.dtype.kind not in "iu":
        raise TypeError(f"found an action of type {action.dtype}; {space} expects integers")
    if count is None:
        return action.astype(np.int64).reshape(-1)
    if action.shape[:1] != (count,) or action.size != size(space):
        raise _core.InvalidAction(f"{owner}: the actions have shape {action.shape}; expected "
                                  f"{space.shape}, one action per environment")
    return action.astype(np.int64).reshape(count, -1)


def first_values(space):
    """The smallest value of each integer of an action."""
    if isinstance(space, Dict):
        return [first for entry in space.spaces.values() for first in first_values(entry)]
    if isinstance(space, Discrete):
        return [int(space.start)]
    return np.asarray(space.start).reshape(-1).tolist()


def sample_legal(space, conditional_mask):
    """Draws an action from the stream of the space, integer by integer. Each is uniform among those
    that `conditional_mask` allows after the previous ones."""
    if isinstance(space, LegalDiscrete):
        return space.sample(conditional_mask([]))
    numbers = []
    for first in first_values(space):
        legal = np.flatnonzero(conditional_mask(numbers))
        numbers.append(first + int(space.np_random.choice(legal)))
    return unflatten(space, np.array(numbers, np.int64))


def sample_legal_rows(space, masks):
    """One draw from a LegalDiscrete under each row of a matrix of masks: the values, from the same
    stream, that its `sample` draws row by row. None if a row allows nothing, of which `sample` says
    more."""
    counts, least, most = _core.count_legal_rows(masks)
    if least <= 0:
        return None
    if least == most:  # the same draws in a fourth of the time
        drawn = space.np_random.integers(most, size=len(masks))
    else:
        drawn = space.np_random.integers(counts)
    found = _core.nth_legal_rows(masks, drawn)
    return found + space.start if space.start else found


def mask_size(space):
    """Number of bytes of a flat mask."""
    if isinstance(space, Dict):
        return sum(mask_size(entry) for entry in space.spaces.values())
    return int(np.sum(space.nvec if isinstance(space, MultiDiscrete) else space.n))


def unflatten_mask(space, flat):
    """The mask argument of `space.sample`: an array, a tuple of arrays, or a dict of these."""
    if isinstance(space, Discrete):
        return flat
    if isinstance(space, MultiDiscrete):
        ends = itertools.accumulate(space.nvec.tolist())  # np.split takes ten times as long
        return tuple(flat[end - n:end] for end, n in zip(ends, space.nvec.tolist()))
    masks, begin = {}, 0
    for name, entry in space.spaces.items():
        end = begin + mask_size(entry)
        masks[name] = unflatten_mask(entry, flat[begin:end])
        begin = end
    return masks
