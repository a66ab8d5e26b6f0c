"""Follows a program and notes who wrote each granule of memory last: a reader must find its tensor whole. Knows no lifetimes.

It is told nothing by planners or audits: it reads the instructions of a placed program alone.
"""

from __future__ import annotations

import numpy as np

from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.memory_plan import ON_CHIP
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.mlops.graph import parse

GRANULE = 16


class Watched:
    """The memory of a program while it is followed. wrong: sentences. total: bytes of device storages, chip: of the chip."""

    def __init__(self, model: CompiledModel):
        self.model = model
        self.storages: dict[str, np.ndarray] = {}
        self.on_chip: set[str] = set()
        self.places: dict[str, tuple[str, int, int]] = {}
        self.alias: dict[str, str] = {}
        self.recording = False
        self.wrong: list[str] = []
        self.total = self.chip = 0
        for i in model.functions["main"].body:
            self.step(i)

    def step(self, i: v.Instruction) -> None:
        if isinstance(i, v.AllocStorage):
            (nbytes,) = i.size.dims
            self.storages[i.dst] = np.zeros(-(-nbytes // GRANULE), object)
            if i.scope == ON_CHIP:
                self.on_chip.add(i.dst)
                self.chip += nbytes
            else:
                self.total += nbytes
        elif isinstance(i, v.AllocTensor):
            nbytes = int(np.prod(i.shape.dims)) * 4
            if i.scope != "global":
                nbytes = 0  # rows of textures have padding: not followed
            if i.offset % GRANULE or i.offset + nbytes > len(self.storages[i.storage]) * GRANULE:
                self.wrong.append(f"{i.dst} does not fit {i.storage}")
            self.places[i.dst] = (i.storage, i.offset // GRANULE, -(-(i.offset + nbytes) // GRANULE))
        elif isinstance(i, (v.BeginRecording, v.EndRecording)):
            self.recording = isinstance(i, v.BeginRecording)
            self.lose()
        elif isinstance(i, v.CallHost):
            names = [operand.name for operand in i.args]
            count = len(parse(self.model.graphs[i.function].source).of("input")) if i.function in self.model.graphs else 2
            self.launch(names[:count], names[count:])
        elif isinstance(i, v.RunStep):
            if i.args and self.recording:
                self.wrong.append(f"a recording has step {i.step} of {i.function}, which copies")
            self.launch([operand.name for operand in i.reads], [operand.name for operand in i.writes], bool(i.args))
        elif isinstance(i, (v.ToDevice, v.CopyTensor)):
            if self.recording:
                self.wrong.append("a recording has a copy")
            self.launch([i.src.name], [i.target.name] if isinstance(i, v.CopyTensor) else [], True)
        elif isinstance(i, v.MakeTuple):
            self.launch([operand.name for operand in i.items], [], True)

    def launch(self, reads: list[str], writes: list[str], by_host: bool = False) -> None:
        for name in reads:
            found = self.bytes_of(name)
            if found is not None and not all(owner == name for owner in found):
                others = sorted({str(owner) for owner in found if owner != name})
                self.wrong.append(f"{name} is read where {', '.join(others)} lies")
        if by_host and any(self.places.get(name, ("",))[0] in self.on_chip for name in (*reads, *writes)):
            self.wrong.append(f"the host uses the chip: {reads} {writes}")
        for name in writes:
            found = self.bytes_of(name)
            if found is not None:
                found[:] = name
        if not self.recording:
            self.lose()

    def bytes_of(self, name: str) -> np.ndarray | None:
        if name not in self.places:
            return None
        storage, low, high = self.places[name]
        return self.storages[storage][low:high]

    def lose(self) -> None:
        for name in self.on_chip:
            self.storages[name][:] = "nothing"
