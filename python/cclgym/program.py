"""Collectives as programs: the chunk DSL (docs/dsl.md) in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cclgym import _core
from cclgym.arguments import call
from cclgym.simulation import Simulation, simulate


class Program:
    """Traces a program. Buffers are "input", "output" and "scratch".

        p = cclgym.Program("both-ways", "allgather", ranks=8, chunks=2)
        chunk = p.chunk(rank, "input", 0).copy(1, "output", 0)
        compiled = p.compile()

    collective, ranks, chunks, in_place, root: the contract (docs/collectives.md).
    Operations raise UserError if they are not possible, naming the operation.
    """

    def __init__(self, name: str, collective: str, ranks: int, chunks: int = 1,
                 in_place: bool = False, root: int = 0) -> None:
        self._tracer = _core.tracer(name, collective, ranks, chunks, in_place, root)
        self._traced: Any = None

    @classmethod
    def custom(cls, name: str, input_chunks: Sequence[int], output_chunks: Sequence[int],
               required: Callable[[int, int], Iterable[tuple[int, int]] | None]) -> Program:
        """A program of a collective of one's own. input_chunks, output_chunks: number of chunks by
        rank. required(rank, index): the input chunks (rank, index) whose sum output `index` of a rank
        must finally hold; None: anything."""
        outputs = {}
        for rank, count in enumerate(output_chunks):
            for index in range(count):
                value = required(rank, index)
                if value is not None:
                    outputs[rank, index] = [tuple(chunk) for chunk in value]
        self = cls.__new__(cls)
        self._tracer = _core.custom_tracer(name, len(input_chunks), list(input_chunks),
                                           list(output_chunks), outputs)
        self._traced = None
        return self

    def chunk(self, rank: int, buffer: str, index: int, count: int = 1) -> Any:
        """The latest reference to `count` chunks. It has `copy(rank, buffer, index, channel=None)`
        and `reduce(other, channel=None)`, which return references to their results."""
        return self._tracer.chunk(rank, buffer, index, count)

    def parallelize(self, instances: int, first: int | None = None, step: int = 1) -> Any:
        """`with program.parallelize(n):` turns every operation inside into n operations, each on 1/n
        of its data; with `first`, only into instances first, first + step, …."""
        return self._tracer.parallelize(instances, first, step)

    def next_kernel(self) -> None:
        """Makes the following operations part of the next kernel."""
        self._tracer.next_kernel()

    def gate(self, rank: int, after: int) -> None:
        """The current kernel starts on `rank` only when it is done on rank `after`."""
        self._tracer.gate(rank, after)

    def _finished(self) -> Any:
        if self._traced is None:
            self._traced = self._tracer.finish()
        return self._traced

    def operations(self) -> list[str]:
        """The operations in words. Ends the tracing."""
        return self._finished().operations()

    def problems(self) -> list[str]:
        """What is wrong with the traced program, one line each; empty if it fulfils its contract."""
        return self._finished().problems()

    def compile(self, *, instances: int = 1, slots: int = 2, fuse: bool = True,
                share_blocks: bool = True, keep_order: bool = False,
                policy: str = "interleaved") -> Compiled:
        """Compiles to thread blocks; the options are those of CompileOptions (docs/dsl.md). Ends the
        tracing. Raises UserError on wrong options."""
        return Compiled(self._finished().compile(instances, slots, fuse, share_blocks, keep_order,
                                                 policy))


class Compiled:
    """A program of thread blocks, from Program.compile or read_program."""

    def __init__(self, core: Any) -> None:
        self._core = core

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def ranks(self) -> int:
        return self._core.ranks

    @property
    def channels(self) -> int:
        return self._core.channels

    @property
    def thread_blocks(self) -> int:
        return self._core.thread_blocks

    @property
    def instructions(self) -> int:
        return self._core.instructions

    def problems(self, *, slots: int = 0) -> list[str]:
        """What the symbolic verifier finds, for every order of execution; empty if all is right."""
        return self._core.problems(slots)

    def verify(self, *, slots: int = 0) -> Compiled:
        """Raises UserError with the problems, if there are any."""
        if found := self.problems(slots=slots):
            raise _core.UserError(f"{self.name} is wrong: " + "\n".join(found))
        return self

    def execute(self, *, interleavings: int = 16, seed: int = 0, slots: int = 2) -> Compiled:
        """Runs the program on numbers in random orders. Raises UserError if a result is wrong."""
        if found := self._core.problems_executing(interleavings, seed, slots):
            raise _core.UserError(f"{self.name} is wrong: " + "\n".join(found))
        return self

    def xml(self, *, protocol: str = "Simple", dialect: str = "microsoft") -> str:
        """MSCCL XML for executors; dialect "microsoft" or "azure"."""
        return self._core.xml(protocol, dialect)

    def simulate(self, fabric: Any, size: int | str, **options: Any) -> Simulation:
        """Verifies the program and simulates it; options: those of `cclgym.simulate`."""
        self.verify()
        return simulate(fabric, size=size, program=self, **options)

    def __repr__(self) -> str:
        return f"<cclgym.Compiled {self.name}: {self.ranks} ranks, {self.channels} channels>"


def read_program(path: str | os.PathLike[str]) -> Compiled:
    """A program from a file in MSCCL XML. Raises UserError with file:line:column."""
    return Compiled(call(_core.read_program, os.fspath(path)))
