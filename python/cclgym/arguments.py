"""Checks of arguments, and calls of the extension module that may take long."""

import inspect
import json
import math
import os
import re
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterable, Mapping

import numpy as np

from cclgym import _core

try:
    from gymnasium.error import ClosedEnvironmentError  # type: ignore
except ImportError:

    class ClosedEnvironmentError(RuntimeError):  # type: ignore
        """reset(), step() or render() after close()."""


FIRST_REPORT_S = 1.0
"""Seconds after which a call that takes long is reported on standard error."""


_RLock = type(threading.RLock())


class Turns(_RLock):  # type: ignore
    """Lets one thread at a time use an environment: `with turns:`. A copy is independent."""

    def __new__(cls):
        self = super().__new__(cls)
        _all_turns.add(self)
        return self

    def __deepcopy__(self, memo):
        return Turns()

    def __reduce__(self):
        return Turns, ()


_all_turns: weakref.WeakSet = weakref.WeakSet()


def _renew_turns():
    """In a forked process, the thread that had a turn is not there."""
    for turns in list(_all_turns):
        turns._at_fork_reinit()


os.register_at_fork(after_in_child=_renew_turns)


def require_open(closed, name, method):
    if closed:
        raise ClosedEnvironmentError(f"{name}: {method}() after close(): the environment is closed")


def to_json(value, name="options"):
    """JSON from which the extension module reads options; None stays None. Raises UserError if the
    value with this name contains None, which YAML would take for the default."""
    if value is None:
        return None
    _refuse_none(value, name)
    return json.dumps(value, default=_plain)


def _refuse_none(value, path):
    if value is None:
        raise _core.UserError(f"{path}: found None; expected a value (without the key, an option has "
                              "its default)")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_none(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_none(item, f"{path}[{index}]")


def size_text(size, key):
    """A size of simulate() as the YAML files have it: numbers need a unit there. Raises UserError if
    it is not a whole number of bytes."""
    if size is None or isinstance(size, str):
        return size
    whole = isinstance(size, (int, float, np.integer, np.floating)) and not isinstance(size, bool)
    if not whole or not math.isfinite(size) or int(size) != size:
        raise _core.UserError(f"call[{key!r}]: {key} is {size!r}; expected a whole number of bytes, or "
                              "a text with a unit such as '4MiB'")
    return f"{int(size)}B"


def _plain(value):
    """numpy's numbers and arrays as JSON, and paths as text."""
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"an option is {value!r}, of type {type(value).__name__}; expected a number, a "
                    "text, a list or a dict")


def path_at(text, column):
    """The place of a column (from 1) of JSON in one line, in Python: "['fabric']['nodes'][0]". The
    items that the caller did not write are not counted (class _FlatWrappers)."""
    stack = []  # per open bracket: a key, or the number of the item
    key, at, end = None, 0, column - 1
    while at <= min(end, len(text) - 1):
        sign = text[at]
        if sign == '"':
            value, after = json.decoder.scanstring(text, at + 1)
            is_key = text[after:after + 1] == ":" and stack and not isinstance(stack[-1], int)
            if is_key:
                stack[-1] = value
            at = after
            continue
        if sign == "{":
            if at < end:
                stack.append("")
        elif sign == "[":
            if at < end:
                stack.append(0)
        elif sign in "]}":
            stack.pop()
        elif sign == "," and isinstance(stack[-1], int):
            stack[-1] += 1
        at += 1
    if stack and isinstance(stack[0], int):
        stack[0] -= getattr(text, "hidden", 0)
        if stack[0] < 0:
            return ""
    return "".join(f"[{part!r}]" for part in stack if part != "")


_PLACE = re.compile(r"^(options|wrappers|experiment|fabric|call):1:(\d+): ")


def located(error, texts):
    """The error with the key in Python instead of a column of JSON. `texts`: JSON by its name."""
    found = _PLACE.match(str(error))
    if not found or texts.get(found[1]) is None:
        return error
    try:
        path = path_at(texts[found[1]], int(found[2]))
    except (ValueError, IndexError):
        return error
    return type(error)(f"{found[1]}{path}: {str(error)[found.end():]}")


def call(function, *arguments, doing=None, where=None):
    """Calls a function of the extension module, so that Ctrl-C interrupts the wait.

    doing: what is said on standard error if it takes longer than FIRST_REPORT_S; None: nothing, and
        the call stays in this thread.
    where: JSON by the name that messages have for it.
    """
    texts = where or dict(zip(("name", "options", "wrappers"), arguments))
    try:
        if doing is None or threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        return _in_background(function, arguments, doing)
    except _core.UserError as error:
        better = located(error, texts)
        if better is error:
            raise
        raise better from None


def _in_background(function, arguments, doing):
    result, error = [], []

    def run():
        try:
            result.append(function(*arguments))
        except BaseException as problem:  # raised again in the caller's thread
            error.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    begin = time.monotonic()
    thread.start()
    # A wait with a limit wakes up for Ctrl-C; the work in C++ then ends by itself, unseen.
    report_at = FIRST_REPORT_S
    while thread.is_alive():
        thread.join(0.1 if report_at > FIRST_REPORT_S else FIRST_REPORT_S)
        passed = time.monotonic() - begin
        if thread.is_alive() and passed >= report_at:
            print(f"cclgym: {doing}: {passed:.0f} s", file=sys.stderr, flush=True)
            report_at = 2 * report_at
    if error:
        raise error[0]
    return result[0]


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


class _FlatWrappers(str):
    """JSON of a list of wrappers whose first the caller did not write."""

    hidden = 1


def wrappers_json(wrappers, flat):
    """JSON of the requested wrappers, around FlatActions if actions are flat."""
    if wrappers is None:
        wrappers = []
    if isinstance(wrappers, (str, bytes, Mapping)) or not isinstance(wrappers, Iterable):
        raise _core.UserError(f"wrappers: found {wrappers!r}; expected a list of names and dicts, such "
                              "as ['RecordEpisodeStatistics']")
    wrappers = list(wrappers)
    _refuse_none(wrappers, "wrappers")
    if not flat:
        return to_json(wrappers, "wrappers")
    return _FlatWrappers(to_json(["FlatActions"] + wrappers, "wrappers"))


def refuse_render_mode(mode, modes):
    if mode is not None and mode not in modes:
        raise _core.UserError("render_mode: " + _core.unknown_name("render mode", str(mode), modes))


def refuse_unknown(function, unknown, signature):
    """Raises TypeError for arguments that the function does not have, with the nearest name."""
    for name in unknown:
        names = [parameter.name for parameter in inspect.signature(signature).parameters.values()
                 if parameter.kind is not parameter.VAR_KEYWORD]
        raise TypeError(f"{function}: {_core.unknown_name('argument', name, names)}")
