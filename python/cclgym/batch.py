"""Experiments, reports, and comparisons with measurements."""

from __future__ import annotations

import csv
import io
import os
import pathlib
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cclgym import _core
from cclgym.arguments import call, to_json
from cclgym.tables import html_table

Progress = Callable[[int, int], None]
"""Called with the number of cells that are done, and of all cells."""


class Table(Mapping[str, np.ndarray]):
    """Columns by name: numbers as float or int arrays, texts as arrays of str."""

    def __init__(self, text: str) -> None:
        rows = list(csv.reader(io.StringIO(text)))
        columns = zip(*rows[1:]) if len(rows) > 1 else [()] * len(rows[0])
        self._columns = {name: _array(column) for name, column in zip(rows[0], columns)}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        return len(next(iter(self._columns.values())))

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Raises ImportError if pandas is not installed."""
        import pandas

        return pandas.DataFrame(dict(self._columns))

    def __repr__(self) -> str:
        return f"<cclgym.{type(self).__name__}: {self.rows} rows, {len(self)} columns>"

    def _repr_html_(self) -> str:
        columns = [column.tolist() for column in self.values()]
        return html_table(list(self), zip(*columns), self.rows)


def _array(column: tuple[str, ...]) -> np.ndarray:
    for kind in (np.int64, np.float64):
        try:
            return np.array([kind(value) for value in column], kind)
        except (ValueError, OverflowError):
            pass
    return np.array(column, str)


class Sweep(Table):
    """Results of an experiment: the columns of results.csv (docs/experiments.md), one row per cell."""

    def __init__(self, folder: str, left_out: list[str]) -> None:
        super().__init__((pathlib.Path(folder) / "results.csv").read_text())
        self.folder = folder
        """The folder of the run; a temporary one is removed with this object."""
        self.left_out = left_out
        """Combinations that were not simulated, with reasons."""

    def report(self, out: str | os.PathLike[str] | None = None) -> str:
        """Writes the HTML page and returns its path; default: report.html in the folder."""
        return report(self.folder, out)


def sweep(experiment: str | os.PathLike[str] | Mapping[str, Any],
          out: str | os.PathLike[str] | None = None, *, engine: str | None = "flow",
          fresh: bool = False, progress: Progress | None = None) -> Sweep:
    """Runs an experiment (docs/experiments.md): the path of a YAML file, or a dict with its keys.

    out: folder of the run, as `cclgym run` writes it; a run that was interrupted goes on there. A
    folder with other files and no run is refused. None: a temporary folder. engine: None for the
    experiment's own. Cells run in this process, one after another; Ctrl-C stops between cells.
    Raises UserError at the key that is wrong.
    """
    temporary = tempfile.TemporaryDirectory(prefix="cclgym-") if out is None else None
    folder = temporary.name if temporary is not None else os.fspath(out)  # type: ignore[arg-type]
    if isinstance(experiment, Mapping):
        text: str | None = to_json({"name": "sweep", **experiment}, "experiment")
        source = "experiment"
    else:
        text, source = None, os.fspath(experiment)
    try:
        folder, caveats, left_out = call(_core.sweep, source, text, engine, folder, fresh, progress,
                                         where={"experiment": text})
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise
    for caveat in caveats:
        warnings.warn(caveat, UserWarning, stacklevel=2)
    result = Sweep(folder, left_out)
    if temporary is not None:
        weakref.finalize(result, temporary.cleanup)
    return result


def report(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> str:
    """Writes the HTML page of a run that is in a folder, and returns the page's path. Raises UserError
    if the folder has no run."""
    return _core.report(os.fspath(folder), "" if out is None else os.fspath(out))


class Comparison(Table):
    """Measured and simulated times: the columns of `cclgym compare`'s compare.csv, one row per cell."""

    def __init__(self, done: dict[str, Any]) -> None:
        super().__init__(done["csv"])
        self._done = done

    @property
    def refused(self) -> list[str]:
        """Rows that no simulation can reproduce, with reasons."""
        return self._done["refused"]

    @property
    def text(self) -> str:
        """The tables of errors that `cclgym compare` prints."""
        return self._done["text"]

    def report(self, out: str | os.PathLike[str]) -> str:
        """Writes the HTML page and returns its path."""
        pathlib.Path(out).write_text(self._done["html"])
        return os.fspath(out)


def compare(measured: str | os.PathLike[str], *, fabric: str | os.PathLike[str] | None = None,
            cost_model: str | os.PathLike[str] | None = None, system: str | Sequence[str] = (),
            collective: str | Sequence[str] = (), max_ranks: int | None = None,
            nccl: str | None = None, tuner: str | None = None, ranks: int | None = None,
            nodes: int | None = None, progress: Progress | None = None) -> Comparison:
    """Simulates every row of a CSV file of measured times, or of output of nccl-tests
    (docs/fit.md). The arguments are the options of `cclgym compare`. fabric: a name or the path of
    a fabric file; if None, that of the row's system or, with a warning, that of the GPUs which the
    output names. system, collective: one or several, whose rows are used, or what the file does not
    name. tuner: what chose in rows that do not state it: a tuner, or
    ALGORITHM[/PROTOCOL[/CHANNELS]]. ranks, nodes: for output that does not state them. Raises
    UserError at the place of a mistake in the file; Ctrl-C stops between cells."""
    if fabric is not None and not isinstance(fabric, (str, os.PathLike)):
        raise _core.UserError(f"fabric is a {type(fabric).__name__}; expected a name or the path of a fabric file")
    done = _core.compare(
        os.fspath(measured), None if fabric is None else os.fspath(fabric),
        None if cost_model is None else os.fspath(cost_model), _names(system), _names(collective),
        max_ranks, nccl, tuner, ranks, nodes, progress)
    for caveat in done["warnings"]:
        warnings.warn(caveat, UserWarning, stacklevel=2)
    return Comparison(done)


def _names(names: str | Sequence[str]) -> list[str]:
    return names.split(",") if isinstance(names, str) else list(names)
