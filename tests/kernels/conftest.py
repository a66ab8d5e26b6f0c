"""The engine run directly, with arguments spelled as the oracles' are, so that one request serves both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import oracle
import pytest
from direct_launch import launch_kernel
from selection import plain_code

from adreno_sim.base.specs import Sampler
from adreno_sim.device.protocol import StoreEvent
from adreno_sim.engine.abi.specialization import (
    BufferArg,
    Emitter,
    ImageArg,
    LocalArg,
    SamplerArg,
    ScalarArg,
    Specialization,
    bounds_of_grid,
)
from adreno_sim.engine.run import launch
from adreno_sim.findings import Finding
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.image.formats import CHANNEL_TYPES


@pytest.fixture(autouse=True)
def level_of_optimisation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests take code as it is before LLVM optimises it."""
    if plain_code.is_unoptimised(request.node.nodeid, request.path):
        plain_code.leave_unoptimised(monkeypatch)


@dataclass
class EngineResult:
    """Contents of every buffer and image after the launch, and what the launch reported."""

    outputs: list[np.ndarray]
    findings: list[Finding]
    stores: list[StoreEvent] = field(default_factory=list)
    printed: str = ""

    def kinds(self) -> list[str]:
        return [f.kind.label for f in self.findings]


def _three(size: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


class _Memory:
    """One argument's memory: placed on a boundary, images with `pad` bytes behind each row."""

    def __init__(self, arg: oracle.Buffer | oracle.Image, pad: int):
        self.arg = arg
        array = np.ascontiguousarray(arg.array)
        if isinstance(arg, oracle.Buffer):
            self.bytes, self.address = launch.zeroed_aligned(array.nbytes)
            self.bytes[:] = array.reshape(-1).view(np.uint8)
            self.spec, self.bound = BufferArg(), launch.BoundBuffer(self.address, array.nbytes)
            return
        layers, height, width, channels = array.shape
        row = width * channels * array.itemsize
        self.row, self.pitch = row, row + pad
        nbytes = layers * height * self.pitch
        self.bytes, self.address = launch.zeroed_aligned(nbytes)
        self._rows()[..., :row] = array.reshape(layers, height, -1).view(np.uint8)
        self.spec = ImageArg(arg.kind, arg.order, arg.channel_type)
        self.bound = launch.BoundImage(self.address, width, height, layers, self.pitch, self.pitch * height, nbytes)

    def _rows(self) -> np.ndarray:
        layers, height = self.arg.array.shape[:2]
        return self.bytes.reshape(layers, height, self.pitch)

    def contents(self) -> np.ndarray:
        array = self.arg.array
        if isinstance(self.arg, oracle.Buffer):
            return self.bytes.view(array.dtype).reshape(array.shape).copy()
        return np.ascontiguousarray(self._rows()[..., : self.row]).view(array.dtype).reshape(array.shape)


def _scalar_bytes(value: np.generic | np.ndarray) -> bytes:
    data = np.asarray(value).tobytes()
    return data + bytes(np.asarray(value).itemsize) if np.size(value) == 3 else data


def assert_same(one: EngineResult, other: EngineResult) -> None:
    """Results of both emitters agree to the bit, findings and printed text included."""
    for index, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True)):
        if a.dtype.names:  # padding between fields is nobody's
            assert (a == b).all(), f"output {index} differs between emitters"
            continue
        wrong = np.flatnonzero(a.reshape(-1).view(np.uint8) != b.reshape(-1).view(np.uint8))
        assert not len(wrong), f"output {index} differs between emitters in {len(wrong)} bytes from {wrong[0]} on"
    assert one.findings == other.findings
    assert one.printed == other.printed


class Engine:
    """Compiles and runs one kernel. Options are those of Specialization and of `launch.run`."""

    target = FrontEndTarget(fp64=True)

    def run(
        self,
        source: str,
        kernel: str,
        global_size: Sequence[int],
        local_size: Sequence[int],
        args: Sequence[oracle.Arg],
        *,
        same: bool = True,
        **options: object,
    ) -> EngineResult:
        """Run by both emitters, which must agree to the bit (`same`: False where work-items race). Keywords as in `run_with`."""
        scalar = self.run_with("scalar", source, kernel, global_size, local_size, args, **options)
        spmd = self.run_with("spmd", source, kernel, global_size, local_size, args, **options)
        if same:
            assert_same(scalar, spmd)
        return spmd

    def run_with(
        self,
        emitter: Emitter,
        source: str,
        kernel: str,
        global_size: Sequence[int],
        local_size: Sequence[int],
        args: Sequence[oracle.Arg],
        *,
        options: str = oracle.Run.options,
        threads: int = 2,
        timeout: float = 20.0,
        watch: tuple[int, int, int] | None = None,
        pad: int = 0,
        offset: tuple[int, int, int] = (0, 0, 0),
        target: FrontEndTarget | None = None,
        **options_of_key: object,
    ) -> EngineResult:
        """Run by one emitter; `watch` = (argument, byte offset, bytes). The build options are those that the oracles get."""
        module = compile_source(source, options, target=target or self.target)
        function = module.kernels[kernel]
        specs, bounds, memories = [], [], {}
        for index, arg in enumerate(args):
            spec, bound = self._bind(arg, memories, index, pad)
            specs.append(spec)
            bounds.append(bound)
        total, group = _three(global_size), _three(local_size)
        uniform = all(t % g == 0 for t, g in zip(total, group, strict=True))
        most = None if any(offset) else bounds_of_grid(total, group)
        spec = Specialization(
            local_size=group,
            args=tuple(specs),
            uniform=uniform,
            most_groups=most,
            emitter=emitter,
            **options_of_key,
        )
        span = None
        if watch is not None:
            start = memories[watch[0]].address + watch[1]
            span = (start, start + watch[2])
        raw = launch_kernel(
            function, spec, total, offset, bounds,
            threads=threads, timeout=timeout, watch_range=span, work_dim=len(global_size),
        )  # fmt: skip
        return EngineResult([m.contents() for m in memories.values()], raw.findings, raw.stores, raw.printed)

    @staticmethod
    def _bind(arg: oracle.Arg, memories: dict[int, _Memory], index: int, pad: int) -> tuple[object, object]:
        if isinstance(arg, (oracle.Buffer, oracle.Image)):
            memories[index] = _Memory(arg, pad)
            return memories[index].spec, memories[index].bound
        if isinstance(arg, oracle.Local):
            return LocalArg(arg.nbytes), None
        if isinstance(arg, oracle.Sampler):
            return SamplerArg(Sampler(arg.normalized, arg.addressing, arg.filter)), None
        data = _scalar_bytes(arg.value)
        return ScalarArg(len(data)), data


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The kernel engine at level bounds, on two threads."""
    return Engine()


@pytest.fixture(scope="session")
def texel_dtype() -> dict[str, str]:
    """numpy dtype of a channel by channel type."""
    return {name: dtype for name, (dtype, _) in CHANNEL_TYPES.items()}
