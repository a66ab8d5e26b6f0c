"""Runs a kernel, right or with a planted defect, as `check` does, and says what the judge found."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from tvm import IRModule, te

from adreno_sim import open_device
from adreno_sim.base.progress import Progress
from adreno_sim.compiler.artifact.host_function import BufferParam, BufferRef, Const, HostFunction, Launch, ScalarParam, Var
from adreno_sim.compiler.artifact.model import CompiledModel, KernelCode, KernelParamInfo, TensorInfo
from adreno_sim.compiler.check.distinguishing_inputs import OtherRun
from adreno_sim.compiler.check.golden import LiveGolden
from adreno_sim.compiler.check.integer_inputs import IntegerInputs
from adreno_sim.compiler.check.judging.judges import Judges
from adreno_sim.compiler.check.judging.observer import KernelObserver
from adreno_sim.compiler.check.wide_precision_rerun import DEVICE as TWIN_DEVICE
from adreno_sim.compiler.check.wide_precision_rerun import Arrays, WidePrecisionRerun
from adreno_sim.compiler.check.wide_text import Width, widen_model
from adreno_sim.compiler.run.observer import FunctionCall
from adreno_sim.compiler.run.values import Tensor, allocate_tensor
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.device.protocol import Device
from adreno_sim.findings import Kind, Severity
from adreno_sim.golden.expectations import KernelExpectations
from adreno_sim.golden.truth.run import Truth
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.comparison import Comparison, compare
from adreno_sim.results.expected import Expected

from .problem import PLANTED, SCALARS, Defect, Problem

DEVICE = "sim:adreno-740"

FLOATS = Width(halves=True, doubles=False)

Access = Literal["read", "write"]

ON_VALUES = (Kind.WRONG_VALUE, Kind.LARGE_ROUNDING, Kind.UNINFORMATIVE, Kind.NONFINITE_INTRODUCED)
"""Findings on values; any other means that a kernel of the campaign is itself not sound."""


class RightResults(KernelExpectations):
    """What the kernels should compute, whatever defect their scalars ask for."""

    def expect(self, name: str, args: Sequence[Any]) -> list[Expected | None]:
        return super().expect(name, args[: -len(SCALARS)]) + [None] * len(SCALARS)

    def expect_exact(self, name: str, args: Sequence[Any]) -> list[Expected | None]:
        return super().expect_exact(name, args[: -len(SCALARS)]) + [None] * len(SCALARS)

    def expect_wide(self, name: str, args: Sequence[Any], doubles: bool = False) -> list[Expected | None]:
        return super().expect_wide(name, args[: -len(SCALARS)], doubles) + [None] * len(SCALARS)


class WatchedRerun(WidePrecisionRerun):
    """Keeps what the rerun of the last call was given. None: it was not asked. appealed: the bound alone had found something."""

    told: dict[int, Comparison] | None = None
    appealed: bool = False

    def judge(
        self, call: FunctionCall, before: Arrays, golden: Sequence[Expected | None], wrong: Container[int] = ()
    ) -> dict[int, Comparison]:
        self.appealed = bool(wrong)
        self.told = super().judge(call, before, golden, wrong)
        return self.told


class WatchedIntegerInputs(IntegerInputs):
    """found: whether a call on whole numbers was wrong; None if there was none since it was reset."""

    found: bool | None = None

    def runs(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> Iterator[OtherRun]:
        for other in super().runs(call, before):
            pairs = [(got, one) for i, got in other.got.items() if (one := other.golden[i]) is not None]
            self.found = bool(self.found) or any(not compare(got, one).ok for got, one in pairs)
            yield other


def make_references(problems: Sequence[Problem], units: Units) -> RightResults:
    """The PrimFuncs of all problems in one module; those that differ in their order of summing share one."""
    functions = {}
    for problem in problems:
        if problem.golden not in functions:
            given = [te.placeholder(item.shape, item.dtype, item.name) for item in problem.inputs]
            made = te.create_prim_func([*given, problem.compute(*given)])
            functions[problem.golden] = made.with_attr("global_symbol", problem.golden)
    references = RightResults(IRModule(functions), units, exact=True)
    if references.truth.unavailable:
        raise ValueError(f"no truth: {references.truth.unavailable}")
    return references


def make_model(problem: Problem) -> CompiledModel:
    """One host function that launches one kernel once."""
    tensors: list[tuple[str, tuple[int, ...], str, Access]] = [
        (item.name, item.shape, item.dtype, "read") for item in problem.inputs
    ]
    tensors.append(("Y", problem.output, problem.dtype, "write"))
    params = [BufferParam(name, tuple(map(_const, shape)), dtype, access=access) for name, shape, dtype, access in tensors]
    declared = [KernelParamInfo(name, "buffer", dtype, access) for name, _, dtype, access in tensors]
    args = [BufferRef(name) for name, *_ in tensors]
    launch = Launch(
        problem.name,
        (*args, *map(Var, SCALARS)),
        (_const(problem.groups), _const(1), _const(1)),
        (_const(problem.items), _const(1), _const(1)),
    )
    host = HostFunction(
        problem.name, (*params, *(ScalarParam(name, "int32") for name in SCALARS)), (launch,), golden=problem.golden
    )
    scalars = [KernelParamInfo(name, "scalar", "int32") for name in SCALARS]
    return CompiledModel(
        name=problem.name, target="by hand", tvm_version="", pipeline="fixed", fixes=(), inputs=(),
        results=TensorInfo("Y", problem.output, problem.dtype),
        kernels={problem.name: KernelCode(problem.name, problem.source, (*declared, *scalars))},
        host_functions={problem.name: host}, functions={}, constants={},
    )  # fmt: skip


def _const(value: int) -> Const:
    return Const(value, "int64")


def open_devices() -> tuple[Device, Device]:
    """The one that is judged, and one for wide reruns.

    Replays of wrong launches, which would take most of the time, are left out: they change no verdict.
    """
    device = open_device(DEVICE)
    device.info = replace(device.info, records_stores=False)  # type: ignore[misc]
    return device, open_device(TWIN_DEVICE)


@dataclass(frozen=True)
class Planted:
    """A defect: which, at which term, in which output (-1: all)."""

    kind: Defect = Defect.NONE
    at: int = 0
    where: int = -1


@dataclass(frozen=True)
class Judged:
    """by_bound, by_rerun: who found a wrong value. rounding: a warning said that it is only rounding. told_nothing: the
    comparison was uninformative. by_exact: whole numbers showed it; None if there were none. no_rerun: why it was asked and
    gave no answer, "" else. got: the device's result."""

    by_bound: bool
    by_rerun: bool
    rounding: bool
    told_nothing: bool
    no_rerun: str
    got: np.ndarray
    by_exact: bool | None = None

    @property
    def found(self) -> bool:
        return self.by_bound or self.by_rerun or bool(self.by_exact)


class Bench:
    """One problem on the device and, as floats, on the rerun's; kernels are compiled once.

    driver: the device is judged as a real one is, and defects are its own: the simulator's wide reruns of the text have none.
    """

    def __init__(self, problem: Problem, references: RightResults, device: Device, twin_device: Device, driver: bool = False):
        self.problem = problem
        self._references = references
        self._device, self._rerun_device = device, twin_device
        model = make_model(problem)
        self._rerun = WatchedRerun(model, references)
        self._integer_inputs = WatchedIntegerInputs(model, references, self._rerun) if driver else None
        if driver:
            code = model.kernels[problem.name]
            sound = replace(code, source=code.source.replace(PLANTED, "0"))
            assert sound.source != code.source
            self._rerun.model = replace(model, kernels={problem.name: sound})
        judges = Judges(LiveGolden(references), rerun=self._rerun, integer_inputs=self._integer_inputs)
        self._observer = KernelObserver(model, judges, keep_going=True, progress=Progress())
        self._machine = VirtualMachine(model, device, self._observer)
        self._wide = VirtualMachine(widen_model(model, problem.name, FLOATS)[0], twin_device)
        self._runs = 0

    def close(self) -> None:
        self._machine.close()
        self._wide.close()

    def judge(self, arrays: Sequence[np.ndarray], planted: Planted) -> Judged:
        """One run on the device, judged. Raises AssertionError if the kernel has other findings than wrong values."""
        self._runs += 1
        self._rerun.told, self._rerun.appealed = None, False
        self._rerun.reasons.clear()
        rounding = self._count_rounding()
        row = self._observer.rows.kernels.get(self.problem.name)
        before = (row.wrong, row.vacuous) if row else (0, 0)
        (got,) = self._call(self._machine, self._device, arrays, planted, str)
        row = self._observer.rows.kernels[self.problem.name]
        other = [f for f in self._observer.found.findings.as_list() if f.kind not in ON_VALUES and f.severity is Severity.ERROR]
        assert not other, f"{self.problem.name}: {other[0]}"
        told = self._rerun.told
        by_rerun = told is not None and not self._rerun.appealed and any(not result.ok for result in told.values())
        wrong = row.wrong > before[0]
        by_exact = None
        if self._integer_inputs is not None:
            by_exact, self._integer_inputs.found = self._integer_inputs.found, None
        no_rerun = self._rerun.reasons.get(self.problem.name, "")
        rounded, vague = self._count_rounding() > rounding, row.vacuous > before[1]
        return Judged(wrong and not by_rerun and not by_exact, by_rerun, rounded, vague, no_rerun, got, by_exact)

    def _count_rounding(self) -> int:
        return sum(f.count for f in self._observer.found.findings.as_list() if f.kind is Kind.LARGE_ROUNDING)

    def run_wide(self, arrays: Sequence[np.ndarray], planted: Planted) -> np.ndarray:
        """The result with floats instead of halves, unjudged; of float kernels, as the device computes them."""
        (got,) = self._call(self._wide, self._rerun_device, arrays, planted, FLOATS.dtype_of)
        return got

    def truth(self, arrays: Sequence[np.ndarray], wide: bool) -> Truth:
        """Without rounding; its sigma is that of halves, or of floats in their place."""
        units = self._references.units
        empty = np.zeros(self.problem.output, self.problem.dtype)
        units = Units("float32", units.flushes) if wide else units
        found = self._references.truth.run(self.problem.golden, [*arrays, empty], units)[-1]
        assert found is not None
        return found

    def _call(
        self, machine: VirtualMachine, device: Device, arrays: Sequence[np.ndarray], planted: Planted, dtype_of: Any
    ) -> list[np.ndarray]:
        tensors: list[Tensor] = []
        try:
            empty = np.zeros(self.problem.output, self.problem.dtype)
            names = [*(item.name for item in self.problem.inputs), "Y"]
            for array, name in zip([*arrays, empty], names, strict=True):
                tensor = allocate_tensor(device, array.shape, dtype_of(array.dtype.name), "global", name)
                tensors.append(tensor)
                tensor.write(array.astype(tensor.dtype, copy=False))
            scalars = [int(planted.kind), planted.at, planted.where, self._runs]
            machine.call_host(machine.model.host_functions[self.problem.name], [*tensors, *scalars], 0)
            return [tensors[-1].read()]
        finally:
            for tensor in tensors:
                tensor.release()
