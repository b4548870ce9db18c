"""Commands of the program cclgym that are functions here, with the options and the JSON of the command."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cclgym import _core
from cclgym.arguments import size_text
from cclgym.simulation import Fabric
from cclgym.tables import html_table, number_text

PROGRAM = pathlib.Path(__file__).parent / "bin" / "cclgym"
"""The program, which comes with the package."""

Lines = Callable[[str], Any]
"""Called with each line that the command prints about its progress."""

_SAID = re.compile(r"(?:warning|left out): ")
_STALLED = 3


class Outcome(Mapping[str, Any]):
    """What a command prints as JSON: a mapping whose keys are attributes, too."""

    def __init__(self, values: dict[str, Any], messages: list[str]) -> None:
        self._values = values
        self.messages = messages
        """Lines of the command's standard error: warnings, rows left out, progress."""

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, key: str) -> Any:
        values = self.__dict__.get("_values", {})
        if key in values:
            return values[key]
        names = ", ".join(values)
        raise AttributeError(f"{type(self).__name__} has no {key!r}; it has {names}")

    def _line(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """Rows of the table in a notebook, all with the same keys."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<cclgym.{type(self).__name__} {self._line()}>"

    def _repr_html_(self) -> str:
        rows = self._rows()
        names = list(rows[0]) if rows else []
        return html_table(names, ([row[name] for name in names] for row in rows), len(rows))


class Synthesis(Outcome):
    """Programs for a fabric: title, min_steps, min_rounds_per_chunk, programs, notes, proofs, and the
    paths programs_folder, table (None without a sweep) and report (docs/synthesis.md)."""

    folder: str
    """The folder of all files; a temporary one is removed with this object."""

    def _line(self) -> str:
        return f"{self.title}: {len(self.programs)} programs"

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return self.programs


class Workload(Outcome):
    """A step of a job: job, fabric, ranks, step_time_s, mean, calls, critical_path, tuners and more; with
    tune, also tuned_calls (docs/workloads.md)."""

    def _line(self) -> str:
        return (f"{self.job} on {self.fabric}: {self.ranks} ranks, step {number_text(self.step_time_s)} s, "
                f"exposed communication {number_text(self.mean['exposed_s'])} s")

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        names = ("communicator", "call", "size_bytes", "configuration", "calls_per_rank", "time_s", "total_s")
        return [{name: call[name] for name in names} for call in self.calls]


class Training(Outcome):
    """Trained agents: trainings, each with name, folder, report, iterations and agents (docs/agents.md)."""

    def _line(self) -> str:
        return "; ".join(f"{one['name']}: {len(one['agents'])} agents, {one['iterations']} iterations, in "
                         f"{one['folder']}" for one in self.trainings)

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        names = ("seed", "iterations", "mean_reward", "cpu_s", "checkpoint")
        return [{"training": one["name"], **{name: agent[name] for name in names}}
                for one in self.trainings for agent in one["agents"]]


class Fit(Outcome):
    """A fitted parameter set: parameters, without_effect, errors, evaluations and starts (docs/fit.md).
    Errors are |ln(simulated / measured)|."""

    def _line(self) -> str:
        return (f"{len(self.parameters)} parameters, mean error {number_text(self.errors['fitted']['mean'])} "
                f"(before: {number_text(self.errors['before']['mean'])})")

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return self.parameters


def program() -> str:
    """Path of the program cclgym. Raises FileNotFoundError if the package came without it."""
    if not os.access(PROGRAM, os.X_OK):
        raise FileNotFoundError(f"{PROGRAM}: there is no program cclgym; build it (scripts/build release cclgym), or "
                                "install the package again (pip install .)")
    return str(PROGRAM)


def main() -> None:
    """The script `cclgym` of an installation."""
    os.execv(program(), ["cclgym", *sys.argv[1:]])


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(_text, value))
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line: `hold_out` is --hold-out. None and False leave them out."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words.append(f"{option}={_text(value)}")
    return words


def _fabric(fabric: Any) -> dict[str, Any]:
    spec = fabric if isinstance(fabric, Mapping) else fabric._spec if isinstance(fabric, Fabric) else {"name": fabric}
    return {"fabric": spec.get("name"), **{key: value for key, value in spec.items() if key != "name"}}


def _error(code: int, command: str, text: str) -> Exception:
    option = re.match(r"--([a-z-]+): ", text)
    if option:
        text = option[1].replace("-", "_") + text[option.end() - 2:]
    if code == 2:
        return _core.UserError(text)
    if code == _STALLED:
        return _core.SimulationStalled(text)
    return RuntimeError(f"cclgym {command} ended with {code}: {text}")


def _run(command: str, files: Sequence[Any], options: Mapping[str, Any],
         progress: Lines | None) -> tuple[Any, list[str]]:
    """Runs the command and returns its JSON and its messages. Ctrl-C and exceptions of `progress` end it."""
    words = [program(), command, "--json", *_words(options), *(["--", *map(_text, files)] if files else [])]
    messages: list[str] = []
    error: list[str] = []
    with tempfile.TemporaryFile() as out, \
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                             errors="replace") as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                line = line.rstrip("\n")
                if error or line.startswith(("error: ", "internal error: ")):
                    error.append(line)
                    continue
                messages.append(line)
                if _SAID.match(line):
                    warnings.warn(line.removeprefix("warning: "), UserWarning, stacklevel=3)
                elif progress is not None:
                    progress(line)
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
        code = process.wait()
        out.seek(0)
        printed = out.read()
    # A search without a program ends with 1, and has printed what it found.
    if error or code not in (0, 1) or not printed:
        raise _error(code, command, "\n".join(error).partition("error: ")[2] or "\n".join(messages[-1:]))
    return json.loads(printed), messages


def synthesize(fabric: Fabric | str | os.PathLike[str] | Mapping[str, Any], collective: str,
               out: str | os.PathLike[str] | None = None, *, root: int | None = None,
               group: Sequence[int] | None = None, pareto: bool = False, throughput: bool = False,
               sizes: str | int | None = None, cost_model: str | os.PathLike[str] | None = None,
               dialect: str | None = None, time_limit: float | None = None,
               max_conflicts: int | None = None, jobs: int | None = None, no_sweep: bool = False,
               progress: Lines | None = None) -> Synthesis:
    """Makes programs for a fabric and a collective, as `cclgym synthesize` does; the arguments are its
    options, and None stands for their defaults.

    out: folder for programs, proofs, dispatch table and report; the same call continues a search
    there. None: a temporary folder. time_limit: seconds of all searches. Without a program, the
    result has bounds only. Raises UserError at the argument that is wrong.
    """
    temporary = tempfile.TemporaryDirectory(prefix="cclgym-") if out is None else None
    folder = os.fspath(out if temporary is None else os.path.join(temporary.name, "synthesis"))  # type: ignore
    try:
        values, messages = _run("synthesize", [], {
            **_fabric(fabric), "collective": collective, "out": folder, "root": root, "group": group,
            "pareto": pareto, "throughput": throughput, "sizes": size_text(sizes, "sizes"),
            "cost_model": cost_model, "dialect": dialect, "time_limit": time_limit,
            "max_conflicts": max_conflicts, "jobs": jobs, "no_sweep": no_sweep}, progress)
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise
    result = Synthesis(values, messages)
    result.folder = folder
    if temporary is not None:
        weakref.finalize(result, temporary.cleanup)
    return result


def workload(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
             fabric: Fabric | str | os.PathLike[str] | Mapping[str, Any], *,
             cost_model: str | os.PathLike[str] | None = None, tuner: str | Sequence[str] | None = None,
             compare: str | Sequence[str] | None = None, tune: bool = False,
             tune_programs: str | Sequence[str] | None = None, detail: str | None = None,
             engine: str | None = None, flops_efficiency: float | None = None,
             memory_efficiency: float | None = None, format: str | None = None,
             process_groups: str | os.PathLike[str] | None = None, one_communication: bool = False,
             step: int | None = None, replicate: bool = False, no_idle: bool = False,
             timeline: str | os.PathLike[str] | None = None,
             report: str | os.PathLike[str] | None = None, progress: Lines | None = None) -> Workload:
    """Simulates one step of a job, as `cclgym workload` does; the arguments are its options, and None
    stands for their defaults. files: a job file, or traces. timeline, report: files to write. Raises
    UserError at the argument that is wrong, or at its place in a file."""
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    return Workload(*_run("workload", given, {
        **_fabric(fabric), "cost_model": cost_model, "tuner": tuner, "compare": compare, "tune": tune,
        "tune_programs": tune_programs, "detail": detail, "engine": engine,
        "flops_efficiency": flops_efficiency, "memory_efficiency": memory_efficiency, "format": format,
        "process_groups": process_groups, "one_communication": one_communication, "step": step,
        "replicate": replicate, "no_idle": no_idle, "timeline": timeline, "report": report}, progress))


def train(file: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *,
          seed: int | None = None, variant: str | Sequence[str] | None = None,
          from_: str | os.PathLike[str] | None = None, threads: int | None = None, fresh: bool = False,
          progress: Lines | None = None) -> Training:
    """Trains the agents of a training file, as `cclgym train` does; the arguments are its options, and
    None stands for their defaults. out: folder of the agents; training that was stopped goes on there.
    from_: folder of agents that are trained further.

    Raises UserError at the place of a mistake in the file, and if the package was built without
    LibTorch, as wheels are.
    """
    return Training(*_run("train", [file], {"out": out, "seed": seed, "variant": variant, "from": from_,
                                            "threads": threads, "fresh": fresh}, progress))


def fit(measured: str | os.PathLike[str], *, fabric: str | os.PathLike[str] | None = None,
        system: str | Sequence[str] | None = None, config: str | Sequence[str] | None = None,
        collective: str | Sequence[str] | None = None, tuner: str | None = None, nccl: str | None = None,
        ranks: int | None = None, nodes: int | None = None, max_ranks: int | None = None,
        max_alltoall_ranks: int | None = None, start: str | os.PathLike[str] | None = None,
        parameters: str | Sequence[str] | None = None, hold_out: str | None = None,
        folds: int | None = None, starts: int | None = None, prior: float | None = None,
        evaluations: int | None = None, seed: int | None = None, name: str | None = None,
        out: str | os.PathLike[str] | None = None, jobs: int | None = None,
        progress: Lines | None = None) -> Fit:
    """Fits the parameters of a cost model to measured times, as `cclgym fit` does; the arguments are its
    options, and None stands for their defaults. out: file of the parameter set (.yaml), which
    `simulate` takes as cost_model. Raises UserError at the place of a mistake in the file of times."""
    return Fit(*_run("fit", [], {
        "measured": measured, "fabric": fabric, "system": system, "config": config, "collective": collective,
        "tuner": tuner, "nccl": nccl, "ranks": ranks, "nodes": nodes, "max_ranks": max_ranks,
        "max_alltoall_ranks": max_alltoall_ranks, "start": start, "parameters": parameters,
        "hold_out": hold_out, "folds": folds, "starts": starts, "prior": prior, "evaluations": evaluations,
        "seed": seed, "name": name, "out": out, "jobs": jobs}, progress))
