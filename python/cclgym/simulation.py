"""Fabrics and simulations of single calls."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from cclgym import _core
from cclgym.arguments import call, size_text, to_json
from cclgym.tables import html_table, number_text

FabricLike = "Fabric | str | os.PathLike[str] | Mapping[str, Any]"


class Fabric:
    """A machine: GPUs, NICs and switches, and the directed links between them.

    Fabric("ndv4", nodes=2), Fabric("my-fabric.yaml") or Fabric({"name": "ring", "gpus": 16}): a name
    (`cclgym.fabrics()`) or the path of a fabric file, and options of the fabric (docs/fabrics.md).
    Raises UserError if one of them is wrong.
    """

    def __init__(self, fabric: str | os.PathLike[str] | Mapping[str, Any], **options: Any) -> None:
        if isinstance(fabric, Mapping):
            spec = {**fabric, **options}
        else:
            name = os.fspath(fabric)
            spec = {"name": name, **options}
        self._spec = spec
        text = to_json(spec, "fabric")
        self._core = call(_core.fabric, text, where={"fabric": text})

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def label(self) -> str:
        """Name and options, as experiments and tables have them: "ndv4 nodes=2"."""
        return self._core.label

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return self._core.ranks

    @property
    def servers(self) -> int:
        """Number of nodes of the cluster."""
        return self._core.servers

    @property
    def gpu_model(self) -> str:
        return self._core.gpu_model

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Devices: name, kind ("gpu", "nic", …) and server (-1: none)."""
        return self._core.nodes()

    @property
    def links(self) -> list[dict[str, Any]]:
        """Directed links: source, target (names), kind, latency_s and capacity_Bps (B/s)."""
        return self._core.links()

    def metrics(self) -> dict[str, Any]:
        """Exact bounds (docs/fabrics.md): diameter (steps), link_unit_Bps, inverse_bisection (rounds
        per chunk, a Fraction), bisection_Bps, switch_hops. None: too expensive to compute."""
        return self._core.metrics()

    def describe(self) -> str:
        """The text of `cclgym describe fabric`."""
        return self._core.describe()

    def dot(self) -> str:
        """A drawing in Graphviz's format."""
        return self._core.dot()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Fabric, (self._spec,))

    def __repr__(self) -> str:
        return f"<cclgym.Fabric {self.label}: {self.ranks} GPUs>"


@dataclasses.dataclass(frozen=True, repr=False)
class Simulation:
    """A simulated call. Times in s, rates in B/s, sizes in bytes."""

    fabric: str
    ranks: int
    collective: str
    algorithm: str
    """As named in the call: an algorithm or a tuner."""
    program: str
    """The algorithm that ran."""
    protocol: str
    channels: int
    instances: int
    threads: int
    size_bytes: int
    cost_model: str
    noise: str
    engine: str
    time_s: float
    algbw_Bps: float
    busbw_Bps: float
    steps: int
    """Transfers on the longest chain of dependent transfers."""
    flows: int
    """Transfers."""
    rank_time_s: np.ndarray
    """Time at which each rank is done."""
    links: list[dict[str, Any]]
    """Use of links, busiest first: link, bytes, rate_Bps, capacity_Bps, busy_s."""

    def __repr__(self) -> str:
        return (f"<cclgym.Simulation {self.collective} of {self.size_bytes} bytes, {self.ranks} ranks of "
                f"{self.fabric}, {self.program}/{self.protocol}/{self.channels}: {number_text(self.time_s)} s, "
                f"busbw {number_text(self.busbw_Bps)} B/s>")

    def _repr_html_(self) -> str:
        rows = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)
                if field.name not in ("rank_time_s", "links")]
        return html_table(("name", "value"), rows, len(rows))


def as_fabric(fabric: Any) -> Fabric:
    """The fabric itself, or the fabric that a name, a path or a dict describes."""
    return fabric if isinstance(fabric, Fabric) else Fabric(fabric)


def simulate(
    fabric: Fabric | str | os.PathLike[str] | Mapping[str, Any],
    collective: str | None = None,
    algorithm: str | None = None,
    size: int | str | None = None,
    *,
    program: Any = None,
    protocol: str | None = None,
    channels: int | None = None,
    instances: int | None = None,
    threads: int | None = None,
    tile: int | str | None = None,
    slots: int | str | None = None,
    root: int | None = None,
    datatype: str | None = None,
    cost_model: str | os.PathLike[str] = "auto",
    engine: str = "flow",
    noise: str | os.PathLike[str] = "none",
    seed: int = 1,
    timeline: str | os.PathLike[str] | None = None,
) -> Simulation:
    """Simulates one call, as `cclgym simulate` does, but by default with engine "flow".

    size: bytes, or a text such as "4MiB". program: a compiled program (class Compiled), which takes
    the place of collective, algorithm, channels, instances and root. algorithm: an algorithm or a
    tuner ("nccl-default:2.18"). timeline: file of a Chrome trace to write.
    Raises UserError at the argument that is wrong, SimulationStalled if the program cannot finish.
    """
    given = {
        "collective": collective, "algorithm": algorithm, "size": size_text(size, "size"), "protocol": protocol,
        "channels": channels, "instances": instances, "threads": threads, "tile": size_text(tile, "tile"),
        "slots": slots, "root": root, "datatype": datatype,
    }
    text = to_json({key: value for key, value in given.items() if value is not None})
    machine = as_fabric(fabric)
    done = call(
        _core.simulate, machine._core, text, None if program is None else program._core,
        os.fspath(cost_model), engine, os.fspath(noise), seed,
        None if timeline is None else os.fspath(timeline),
        doing=f"simulating on {machine.label}" if engine == "flow" else None, where={"call": text})
    warning = done.pop("warning")
    if warning:
        warnings.warn(warning, UserWarning, stacklevel=2)
    done["rank_time_s"] = np.array(done["rank_time_s"])
    return Simulation(**done)
