"""The machine code of a source's kernels as a result, and its JSON; see the JSON Schema `machine-code`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from ..base.json_io import plain_json
from ..base.version import __version__
from ..device.machine_code import Instructions, KernelCode, MachineCode
from ..records import dataclass

SCHEMA = "adreno-sim/machine-code/1"


@dataclass(frozen=True)
class RefusedKernel:
    """A kernel for which there is no machine code, and why."""

    kernel: str
    reason: str


@dataclass(frozen=True)
class MachineCodeReport:
    """The machine code of the kernels in a source, chip after chip. source: as the user named it. beyond: sentences on kernels
    beyond the limits that the user set. before: kernels of another source, to compare with."""

    source: str
    kernels: tuple[KernelCode, ...] = ()
    refused: tuple[RefusedKernel, ...] = ()
    beyond: tuple[str, ...] = ()
    before: tuple[KernelCode, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where a kernel is beyond a limit, else 3 where one is refused, else 0."""
        return 1 if self.beyond else 3 if self.refused else 0

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        data = {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "exit_code": self.exit_code,
            "kernels": kernels_to_json(self.kernels),
            "refused": [asdict(one) for one in self.refused],
            "beyond": list(self.beyond),
            "before": kernels_to_json(self.before),
        }
        encoded: dict[str, Any] = plain_json(data)
        return encoded


def kernels_to_json(kernels: Sequence[KernelCode]) -> list[dict[str, Any]]:
    """Returns a kernel for each chip as JSON-ready data."""
    return [
        {
            "kernel": one.kernel,
            "chip": one.chip,
            "code_of": one.code_of,
            "group": list(one.group),
            "stand_ins": list(one.stand_ins),
            "omitted": list(one.omitted),
            "unrolled": _code_to_json(one.unrolled),
            "rolled": _code_to_json(one.rolled),
        }
        for one in kernels
    ]


def _code_to_json(code: MachineCode) -> dict[str, Any]:
    counts = {part.name: getattr(code.instructions, part.name) for part in fields(Instructions)}
    rest = {part.name: getattr(code, part.name) for part in fields(MachineCode) if part.name != "instructions"}
    return {"instructions": {"total": code.instructions.total, **counts}, **rest}
