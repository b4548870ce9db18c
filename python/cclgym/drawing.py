"""Pictures of the last calls of an environment, drawn with numpy: render_mode "rgb_array"."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

CALLS = 64
"""Steps that a picture shows."""
HEIGHT, WIDTH = 240, 512
FPS = 10
"""Pictures per second of a recorded video (Gymnasium's `render_fps`)."""

_MARGIN = 12
_PAPER, _GRID, _DEFAULT = (255, 255, 255), (225, 225, 225), (90, 90, 90)
_FASTER, _SLOWER, _EQUAL = (0, 130, 70), (200, 40, 30), (40, 90, 190)


def has_times(names: Sequence[str]) -> bool:
    """True if the infos with these names have the times that a picture compares."""
    return "time_us" in names and "default_time_us" in names


def shown_step(names: Sequence[str], values: Sequence[float], reward: float) -> tuple[float, float]:
    """What a picture shows of a step: (time of the choice, time of the default) if the environment
    has both in its infos, otherwise (reward, NaN)."""
    if not has_times(names):
        return reward, math.nan
    numbers = dict(zip(names, values))
    return numbers["time_us"], numbers["default_time_us"]


def draw(steps: Sequence[tuple[float, float]], times: bool) -> np.ndarray:
    """An array of uint8 and shape (HEIGHT, WIDTH, 3) of the last steps, the oldest at the left.

    times: the numbers are times, on a logarithmic axis with a line at each power of ten: a grey bar
    is the default's time, and the bar of the choice is green if it is shorter, red if it is longer,
    blue if both are the same. Otherwise a blue bar is a reward, and the line is at 0.
    """
    picture = np.full((HEIGHT, WIDTH, 3), _PAPER, np.uint8)
    steps = [step for step in list(steps)[-CALLS:]
             if math.isfinite(step[0]) and (step[0] > 0 or not times)]
    scale = math.log10 if times else float
    shown = [scale(value) for step in steps for value in step if math.isfinite(value) and (
        value > 0 or not times)]
    if not times:
        shown.append(0.0)
    if not shown:
        return picture
    low, high = min(shown), max(shown)
    spare = max(0.05 * (high - low), 0.05)
    low, high = low - spare, high + spare

    def row(value: float) -> int:
        return round(_MARGIN + (high - value) / (high - low) * (HEIGHT - 1 - 2 * _MARGIN))

    for line in range(math.ceil(low), math.floor(high) + 1) if times else (0,):
        picture[row(line), _MARGIN:WIDTH - _MARGIN] = _GRID
    width = (WIDTH - 2 * _MARGIN) // CALLS
    for place, (value, default) in enumerate(steps):
        columns = slice(_MARGIN + place * width, _MARGIN + (place + 1) * width - 1)
        at = row(scale(value))
        colour = _EQUAL
        if math.isfinite(default) and default > 0:
            reference = row(scale(default))
            colour = _FASTER if value < default else _SLOWER if value > default else _EQUAL
            middle = (columns.start + columns.stop) // 2
            picture[min(at, reference):max(at, reference) + 1, middle] = colour
            picture[reference - 1:reference + 2, columns] = _DEFAULT
        picture[at - 1:at + 2, columns] = colour
    return picture
