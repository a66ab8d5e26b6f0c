"""What each kernel should compute without rounding: its PrimFunc before scheduling, over float64 with variances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np

from ...records import dataclass
from .. import result_cache
from ..background import begin
from ..kernel_reference import Argument
from .compiled import CompiledTruths
from .given import as_device_takes, holds_flushed, holds_nan
from .run import Truth, run_program
from .truth_program import TruthProgram
from .units import Units
from .value import Unmodelled

if TYPE_CHECKING:
    from tvm import IRModule


@dataclass(frozen=True)
class StoredTruth:
    """A KernelTruth as data: programs are text."""

    programs: dict[str, TruthProgram]
    inexact: dict[str, TruthProgram]
    unavailable: dict[str, str]


class KernelTruth:
    """The PrimFuncs of a model as functions without rounding. `unavailable`: those that none is made of -> the reason.

    write: makes the program of a function, instead of `write_program`: it computes something else of the same loops.
    """

    def __init__(self, unscheduled: IRModule, write: Callable[[str, Any], TruthProgram] | None = None):
        from .program import find_groups, write_program  # with all that writes C: kept programs are text already

        self.programs: dict[str, TruthProgram] = {}
        self._inexact: dict[str, TruthProgram] = {}
        self.unavailable: dict[str, str] = {}
        self._begun: Future[CompiledTruths] | None = None
        self._compiled: dict[str, CompiledTruths] = {}
        for number, (var, function) in enumerate(unscheduled.functions_items()):
            name = str(var.name_hint)
            try:
                groups = find_groups(function)
                program = self.programs[name] = (write or write_program)(f"truth{number}", groups)
                if program.given and (program.open_to_nan or program.open_to_denormals):
                    self._inexact[name] = write_program(program.name, groups, program.given)
            except Unmodelled as reason:
                self.unavailable[name] = f"no truth is made of {reason}"

    def __contains__(self, name: str) -> bool:
        return name in self.programs

    def to_stored(self) -> StoredTruth:
        """All but machine code, which is of this process."""
        return StoredTruth(self.programs, self._inexact, self.unavailable)

    @staticmethod
    def from_stored(stored: StoredTruth) -> KernelTruth:
        """What `to_stored` was called on."""
        made = KernelTruth.__new__(KernelTruth)
        made.programs, made._inexact, made.unavailable = stored.programs, stored.inexact, stored.unavailable
        made._begun, made._compiled = None, {}
        return made

    def begin(self) -> Future[CompiledTruths]:
        """Have the programs compiled by a thread, if they are not yet; what is wrong with them is raised by the first run."""
        if self._begun is None:
            self._begun = begin(CompiledTruths, list(self.programs.values()))
        return self._begun

    def run(self, name: str, args: Sequence[Argument], units: Units) -> list[Truth | None]:
        """What `name` makes of `args`, by parameter: None for a scalar and for a tensor that it does not write.

        args: contents before the call, in the shapes of the parameters. Errors as `run_program`.
        """
        plain = [np.asarray(a, order="C") if isinstance(a, np.ndarray) else a for a in args]
        program = self._program(name, plain, units)
        key = result_cache.key_of("truth", program.text, units, *plain)
        known: list[Truth | None] | None = result_cache.load(key, list[Truth | None])
        if known is None:
            given = [as_device_takes(a, units) if isinstance(a, np.ndarray) else a for a in plain]
            compiled = self.begin().result() if program is self.programs[name] else self._compile(name, program)
            known = run_program(program, compiled.functions[program.name], given, units)
            result_cache.store(key, list[Truth | None], known)
        return known

    def _program(self, name: str, args: Sequence[Argument], units: Units) -> TruthProgram:
        """The program of a function for these arguments: another one where NaN, or a device that flushes denormal numbers, leaves
        open what else is exact."""
        program = self.programs[name]
        if name not in self._inexact:
            return program
        given = [arg for place in program.given if isinstance(arg := args[place], np.ndarray)]
        wide = [arg for arg in given if arg.dtype != np.float16]  # arithmetic in halves flushes in any program
        is_open = (program.open_to_nan and any(map(holds_nan, given))) or (
            program.open_to_denormals and any(holds_flushed(arg, units) for arg in wide)
        )
        return self._inexact[name] if is_open else program

    def _compile(self, name: str, program: TruthProgram) -> CompiledTruths:
        if name not in self._compiled:
            self._compiled[name] = CompiledTruths([program])
        return self._compiled[name]
