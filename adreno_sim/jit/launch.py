"""Runs a compiled kernel: the context block, worker threads, the watchdog, and what comes back."""

from __future__ import annotations

import concurrent.futures
import os
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union

import numpy as np

from ..device import AdrenoSimError, DeviceError, StoreEvent
from ..findings import Finding
from . import arguments, context
from .compiled import CompiledKernel
from .results import findings_of, printed_text, store_events
from .specialisation import BufferArg, ImageArg, ScalarArg

ALIGNMENT = 128  # of buffers: OpenCL's largest type, and what a device's MEM_BASE_ADDR_ALIGN promises
EVENTS = 1 << 16
PRINT_BYTES = 1 << 20
_FLUSH = 0x8040  # MXCSR: flush results to zero, take denormal operands as zero
_DEFAULT_MODE = 0x1F80  # MXCSR: round to nearest, all exceptions masked


@dataclass(frozen=True)
class BoundBuffer:
    """`nbytes` of memory at `address`, a multiple of 128."""

    address: int
    nbytes: int


@dataclass(frozen=True)
class BoundImage:
    """An image's memory: extents in texels, pitches and size in bytes."""

    address: int
    width: int
    height: int
    depth_or_layers: int
    row_pitch: int
    slice_pitch: int
    nbytes: int


Bound = Union[BoundBuffer, BoundImage, bytes, None]


@dataclass
class RawResult:
    """What a launch left besides memory: findings, watched stores in order, printf's text, seconds its groups ran."""

    findings: list[Finding] = field(default_factory=list)
    stores: list[StoreEvent] = field(default_factory=list)
    printed: str = ""
    seconds: float = 0.0


def run(
    compiled: CompiledKernel,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    threads: int = 0,
    timeout: float = 60.0,
    seed: int = 0,
    watch_range: tuple[int, int] | None = None,
    work_dim: int = 3,
) -> RawResult:
    """Run every work-group of `global_size` and wait. Memory behind `args` is used in place.

    `args` are parallel to the kernel's parameters, None where the specialisation holds everything (local memory, samplers).
    `seed` has no effect below level full. Raises DeviceError where an argument does not fit; a launch that runs longer
    than `timeout` seconds is stopped and has a finding of kind watchdog.
    """
    del seed
    block = _argument_block(compiled, args)
    _check_grid(compiled, global_size, offset)
    launch = _Launch(compiled, tuple(global_size), tuple(offset), watch_range, work_dim)
    if watch_range is not None:
        threads = 1
    start = time.perf_counter()
    launch.execute(block, threads or len(os.sched_getaffinity(0)), timeout)
    seconds = time.perf_counter() - start
    return RawResult(
        findings_of(compiled, launch.sites, global_size, args),
        store_events(compiled, launch.events, int(launch.words[context.WATCH_COUNT]), global_size, offset) if watch_range else [],
        printed_text(compiled, launch.prints, int(launch.words[context.PRINT_USED])),
        seconds,
    )


def _check_grid(compiled: CompiledKernel, global_size: Sequence[int], offset: Sequence[int]) -> None:
    """Code that relies on a bounded grid must not run on a larger one."""
    key = compiled.key
    groups = tuple(-(-whole // part) for whole, part in zip(global_size, key.local_size, strict=True))
    if key.most_groups is not None and (any(offset) or any(g > m for g, m in zip(groups, key.most_groups, strict=True))):
        raise AdrenoSimError(
            f"kernel {compiled.name}: compiled for at most {key.most_groups} groups at offset 0, got {groups} at {tuple(offset)}"
        )


def aligned(nbytes: int) -> tuple[np.ndarray, int]:
    """Zeroed memory of `nbytes` on a 128-byte boundary: the array that owns it, and the address."""
    owner = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -owner.ctypes.data % ALIGNMENT
    return owner[start : start + nbytes], owner.ctypes.data + start


def _argument_block(compiled: CompiledKernel, args: Sequence[Bound]) -> np.ndarray:
    """The argument block as the machine code reads it; checks each argument against the specialisation."""
    key, kernel = compiled.key, compiled.kernel
    if len(args) != len(key.args):
        raise DeviceError("CL_INVALID_KERNEL_ARGS", f"kernel {kernel.name}: expected {len(key.args)} arguments, got {len(args)}")
    offsets, size = arguments.slots(key.args)
    block = bytearray(size)
    for param, spec, at, arg in zip(kernel.params, key.args, offsets, args, strict=True):
        where = f"kernel {kernel.name}, argument {param.index} ({param.name})"
        if isinstance(spec, BufferArg):
            data = _buffer(arg, where)
        elif isinstance(spec, ImageArg):
            data = _image(arg, spec, where)
        elif isinstance(spec, ScalarArg):
            if not isinstance(arg, bytes) or len(arg) != spec.nbytes:
                raise DeviceError("CL_INVALID_ARG_SIZE", f"{where}: expected {spec.nbytes} bytes, got {arg!r:.60}")
            data = arg
        else:
            continue
        block[at : at + len(data)] = data
    view, _ = aligned(size)
    view[:] = np.frombuffer(bytes(block), np.uint8)
    return view


def _buffer(arg: Bound, where: str) -> bytes:
    if not isinstance(arg, BoundBuffer):
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: expected a buffer, got {type(arg).__name__}")
    if arg.address % ALIGNMENT and arg.nbytes:
        raise DeviceError("CL_MISALIGNED_SUB_BUFFER_OFFSET", f"{where}: address {arg.address:#x} is no multiple of {ALIGNMENT}")
    return struct.pack("<QQ", arg.address, arg.nbytes)


def _image(arg: Bound, spec: ImageArg, where: str) -> bytes:
    from .texels import texel_bytes

    if not isinstance(arg, BoundImage):
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: expected an image, got {type(arg).__name__}")
    row = arg.width * texel_bytes(spec.order, spec.channel_type)
    needed = (arg.depth_or_layers - 1) * arg.slice_pitch + (arg.height - 1) * arg.row_pitch + row
    if min(arg.width, arg.height, arg.depth_or_layers) < 1 or needed > arg.nbytes:
        raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{where}: the image needs {needed} bytes, its view has {arg.nbytes}")
    fields = (arg.address, arg.width, arg.height, arg.depth_or_layers, arg.row_pitch, arg.slice_pitch)
    return struct.pack("<6Q", *fields)


class _Launch:
    """One run: its context block and the buffers machine code reports into."""

    def __init__(
        self,
        compiled: CompiledKernel,
        global_size: tuple[int, ...],
        offset: tuple[int, ...],
        watch: tuple[int, int] | None,
        work_dim: int,
    ):
        self.compiled = compiled
        self.block, self.address = aligned(context.WORDS * 8)
        self.words = self.block.view(np.uint64)
        self.sites = np.zeros((max(1, len(compiled.module.sites)), context.SITE_WORDS), np.uint64)
        self.sites[:, context.SITE_ORDER] = np.iinfo(np.uint64).max
        self.events = np.zeros((EVENTS if watch else 0, context.EVENT_WORDS), np.uint64)
        self.prints = np.zeros(PRINT_BYTES // 8 if compiled.module.prints else 0, np.uint64)
        groups = [-(-whole // part) for whole, part in zip(global_size, compiled.key.local_size, strict=True)]
        self.groups = groups[0] * groups[1] * groups[2]
        words = self.words
        words[context.GROUP_COUNT] = self.groups
        words[context.NUM_GROUPS : context.NUM_GROUPS + 3] = groups
        words[context.GLOBAL_SIZE : context.GLOBAL_SIZE + 3] = global_size
        words[context.GLOBAL_OFFSET : context.GLOBAL_OFFSET + 3] = offset
        words[context.WORK_DIM] = work_dim
        words[context.SITES] = self.sites.ctypes.data
        words[context.WATCH_LOW], words[context.WATCH_HIGH] = watch or (0, 0)
        words[context.WATCH_EVENTS], words[context.WATCH_CAPACITY] = self.events.ctypes.data, len(self.events)
        words[context.PRINT_BUFFER], words[context.PRINT_CAPACITY] = self.prints.ctypes.data, self.prints.nbytes
        words[context.CONTROL_WORD] = _DEFAULT_MODE | (_FLUSH if compiled.key.flush_denormals else 0)

    def execute(self, block: np.ndarray, threads: int, timeout: float) -> None:
        """Share the groups among `threads` workers; stop them after `timeout` seconds or on an interrupt."""
        workers = max(1, min(threads, self.groups))
        self.words[context.CHUNK] = max(1, self.groups // (workers * 8))
        pool = _pool(workers)
        futures = [pool.submit(self._work, block.ctypes.data) for _ in range(workers)]
        try:
            concurrent.futures.wait(futures, timeout)
        finally:
            self.words[context.STOP] = 1  # only those who still run look at it
            for future in futures:
                future.result()

    def _work(self, arguments_address: int) -> None:
        self.compiled.worker(self.address, arguments_address, _private_memory(self.compiled.module.memory))


_local = threading.local()
_pools: dict[int, concurrent.futures.ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def _pool(workers: int) -> concurrent.futures.ThreadPoolExecutor:
    """Worker threads that stay; one more pool for each number of workers ever asked for."""
    key = (os.getpid() << 16) | workers  # threads do not survive a fork
    with _pools_lock:
        if key not in _pools:
            _pools[key] = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="adreno-sim")
        return _pools[key]


def _private_memory(nbytes: int) -> int:
    """The address of this thread's private memory for a group, grown to `nbytes`."""
    if getattr(_local, "nbytes", -1) < nbytes:
        _local.memory, _local.address = aligned(nbytes)
        _local.nbytes = nbytes
    return int(_local.address)
