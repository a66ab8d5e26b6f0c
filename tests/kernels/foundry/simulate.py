"""Launches of the foundry on simulated devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adreno_sim import open_device
from adreno_sim.base.errors import BuildError
from adreno_sim.base.host.current import current_family
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local
from adreno_sim.device.protocol import Device, LaunchResult
from adreno_sim.engine.coarsen import coarse_grid, decide
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import coarse_compile, compiled_kernel, launch_analysis
from adreno_sim.engine.vector import kernel as vector_kernel

from .launches import Launch, Memory
from .layout import Array, Image
from .plant import Variant
from .program import Scalar

PROCESSORS: dict[str, tuple[str, str] | None] = {
    "AVX-512": None,
    "AVX2": ("x86-64-v3", "+avx2,+fma,+f16c,-avx512f"),
    "SSE": ("x86-64", "+sse2,-avx,-fma,-f16c"),
}
"""LLVM's name and features of each; None = this machine's."""


@dataclass(frozen=True)
class Setting:
    """How launches run. code: "vector", "scalar", or "coarse" (several groups as one wherever that is allowed)."""

    processor: str
    code: str
    threads: int
    cache: bool
    order: int = 0

    def text(self) -> str:
        cache = "cache on" if self.cache else "cache off"
        return f"{self.processor}, {self.code}, {self.threads} threads, {cache}, order {self.order}"


@dataclass
class Run:
    """What a launch left: findings, bytes of each memory, how its code was made; or the line that the compiler refused."""

    result: LaunchResult | None = None
    contents: dict[str, np.ndarray] = field(default_factory=dict)
    refused: tuple[int, ...] = ()

    @property
    def code(self) -> list[str]:
        return [code.description for code in self.result.code] if self.result else []


_machines: dict[str, objects.Machine] = {}


def processors() -> list[str]:
    """Those that code can be made for here: all that the machine has."""
    if current_family().machine != "x86_64":
        return ["AVX-512"]  # this machine's own
    wide = objects.machine().processor.lane_counts[0] == 16
    return list(PROCESSORS) if wide else [name for name in PROCESSORS if name != "AVX-512"]


@contextmanager
def on_processor(name: str, coarse: bool) -> Iterator[None]:
    """Code is made for a processor, and in coarse kernels wherever that is allowed."""
    given = PROCESSORS[name]
    if name not in _machines:
        _machines[name] = objects.Machine(*given) if given else objects.machine()
    kept = objects._machine, coarse_grid.LEAST_GROUPS, decide._MAX_COST_RATIO
    objects._machine = _machines[name]
    forget()
    if coarse:
        coarse_grid.LEAST_GROUPS, decide._MAX_COST_RATIO = 1, float("inf")
    try:
        yield
    finally:
        objects._machine, coarse_grid.LEAST_GROUPS, decide._MAX_COST_RATIO = kept
        forget()


def forget() -> None:
    """Drops proofs and code that are kept in memory: the next launch finds them on disk, or makes them."""
    for memo in (
        compiled_kernel._compiled,
        launch_analysis._analyses,
        coarse_compile._kernels,
        coarse_compile._merged_kernels,
        vector_kernel._chosen,
    ):
        memo.clear()


def open_simulator(setting: Setting, level: str) -> Device:
    emitter = "scalar" if setting.code == "scalar" else "spmd"
    return open_device(
        "sim:reference", checks=level, threads=setting.threads, cache=setting.cache, emitter=emitter, seed=setting.order,
        contract="off", timeout=20,
    )  # fmt: skip


def run(device: Device, variant: Variant) -> Run:
    """Builds, launches, and reads what is left."""
    program, launch = variant.program, variant.launch
    try:
        kernel = device.build(program.text, "-cl-std=CL2.0")["k"]
    except BuildError as error:
        return Run(refused=tuple(d.line for d in error.diagnostics if d.severity == "error"))
    storages: dict[int, Any] = {}
    views: dict[str, Any] = {}
    args = [_argument(device, parameter, launch, storages, views) for parameter in program.parameters]
    for parameter in program.parameters:
        if parameter.name in views:
            _mark(device, views[parameter.name], launch.values[parameter.name], parameter)
    result = device.launch(kernel, launch.grid[: launch.dimensions], launch.group[: launch.dimensions], args)
    contents = {name: np.ascontiguousarray(device.read(view)).reshape(-1).view(np.uint8) for name, view in views.items()}
    for view in views.values():
        view.release()
    for storage in storages.values():
        device.free(storage)
    return Run(result, contents)


def _argument(device: Device, parameter: Any, launch: Launch, storages: dict[int, Any], views: dict[str, Any]) -> Any:
    value = launch.values[parameter.name]
    if isinstance(parameter, Scalar):
        return np.int32(value)
    if not isinstance(value, Memory):
        return Local(value)
    spec: BufferSpec | ImageSpec
    if isinstance(parameter, Image):
        width, height, depth = parameter.size
        spec = ImageSpec(parameter.kind, width, height, depth, parameter.order, parameter.channel_type)
    else:
        assert isinstance(parameter, Array)
        spec = BufferSpec(value.nbytes, "uint8")
    if value.storage not in storages:
        sharing = [v for v in launch.values.values() if isinstance(v, Memory) and v.storage == value.storage]
        whole = max(v.offset + v.nbytes for v in sharing)
        behind = 256 if value.offset else 0
        storages[value.storage] = device.allocate(max(whole + behind, device.view_nbytes(spec)))
    view = device.view(storages[value.storage], spec, value.offset)
    contents = value.contents
    if isinstance(parameter, Image):
        contents = contents.view(parameter.dtype).reshape(depth, height, width, parameter.channels)
    device.write(view, contents)
    views[parameter.name] = view
    return view


def _mark(device: Device, view: Any, memory: Any, parameter: Any) -> None:
    """At level full, makes what is unset as if nobody had written it."""
    if device.options.checks != "full" or not memory.unset:
        return
    unset = np.zeros(memory.nbytes, bool)
    for first, last in memory.unset:
        unset[first:last] = True
    if isinstance(parameter, Image):
        marks = view.marks()
        marks[unset.reshape(*marks.shape, -1).any(axis=-1)] = 0  # a mark for each channel
    else:
        at = view.offset
        view.block.valid[at : at + memory.nbytes][unset] = 0
    view.block.forget()
