"""Validated launch configurations, cached by kernel, sizes and the signature of the arguments.

The signature holds everything that a check or the machine code may ask of the arguments, except where views lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np

from ....base.run_options import RunOptions
from ....base.specs import Local, Null, Sampler
from ....engine.abi.specialization import Specialization, bounds_of_grid
from ....engine.run.launch_analysis import LaunchAnalysis
from ....findings import Finding
from ....memory.storage import StorageView
from ....profiles.profile import Profile
from ....records import dataclass
from ..arguments import bind_argument, specialize_argument
from ..limits import Size
from ..program import SimKernel
from ..sub_groups import choose_size


@dataclass(frozen=True)
class LaunchConfig:
    """total: global size; offset: global offset. checked: the arguments as the kernel reads them, None for views, whose
    positions are `views`; `written` are those that the kernel may write. analysis: None of a launch without work-items.
    """

    total: Size
    offset: Size
    checked: tuple[Any, ...]
    views: tuple[int, ...]
    written: tuple[int, ...]
    analysis: LaunchAnalysis | None


@dataclass(frozen=True)
class LaunchRequest:
    """What a caller of `launch` gives. It holds no argument that a caller may change."""

    kernel: SimKernel
    global_size: Any
    local_size: Any
    args: tuple[Any, ...]
    offset: Any


_UNCHANGING = (StorageView, np.number, np.bool_, int, float, bytes, Local, Null, Sampler)


def request_of(kernel: SimKernel, global_size: Any, local_size: Any, args: Sequence[Any], offset: Any) -> LaunchRequest | None:
    """Returns what was asked for, None if some of it could be changed before it is asked for again."""
    sizes = all(size is None or isinstance(size, tuple) for size in (global_size, local_size, offset))
    if not sizes or not all(isinstance(arg, _UNCHANGING) for arg in args):
        return None
    return LaunchRequest(kernel, global_size, local_size, tuple(args), offset)


@dataclass(eq=False)
class PreparedLaunch:
    """A checked launch: its arguments as the kernel reads them, and how many dimensions were given.

    shared: findings on arguments that share a storage, once they are known, where they depend on nothing that a run changes.
    request: what was asked for, where asking once more for the same is known to mean the same.
    """

    kernel: SimKernel
    config: LaunchConfig
    args: Sequence[Any]
    dimensions: int
    shared: list[Finding] | None = None
    request: LaunchRequest | None = None
    _bound: list[Any] | None = None

    def is_asked(self, kernel: Any, global_size: Any, local_size: Any, args: Sequence[Any], offset: Any) -> bool:
        """Returns whether it was asked for with the very same arguments, and sizes that are equal."""
        request = self.request
        if (
            request is None
            or kernel is not request.kernel
            or len(args) != len(request.args)
            or not all(map(is_, args, request.args))
        ):
            return False
        return (global_size, local_size, offset) == (request.global_size, request.local_size, request.offset)

    def bind(self) -> list[Any]:
        """Returns what the engine gets for each argument. Views may have moved since the last run."""
        if self._bound is None:
            self._bound = list(map(bind_argument, self.args))
        for index in self.config.views:
            self._bound[index] = bind_argument(self.args[index])
        return list(self._bound)

    @cached_property
    def sizes(self) -> dict[str, Any]:
        """What runs of it share, as options of `engine.run.launch.run`."""
        return {"global_size": self.config.total, "offset": self.config.offset, "work_dim": self.dimensions}


def launch_signature(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """Returns a key that two argument lists share only if a launch may treat them alike; None for arguments no kernel takes."""
    signature = tuple(map(_signature_of, args))
    return None if None in signature else signature


def _signature_of(arg: Any) -> Any:
    if isinstance(arg, StorageView):
        return arg.shape
    if isinstance(arg, (np.generic, np.ndarray)):
        return (str, arg.dtype.str, arg.tobytes()) if arg.dtype.kind in "biuf" else None
    if isinstance(arg, (bool, int)):
        return type(arg), arg
    if isinstance(arg, float):
        return float, arg.hex()
    if isinstance(arg, Local):
        return (Local, arg.nbytes) if isinstance(arg.nbytes, int) else None
    if isinstance(arg, Null):
        return arg
    if isinstance(arg, Sampler):
        return arg if isinstance(arg.addressing, str) and isinstance(arg.filter, str) else None
    return bytes(arg) if isinstance(arg, (bytes, bytearray)) else None


def specialize_launch(
    profile: Profile,
    options: RunOptions,
    kernel: SimKernel,
    total: Size,
    group: Size,
    start: Size,
    args: Sequence[Any],
) -> Specialization:
    """What the code of a launch with checked arguments is compiled for, without shadows and proofs."""
    flush = options.flush_denormals
    return Specialization(
        local_size=group,
        args=tuple(specialize_argument(arg, options.checks == "full") for arg in args),
        checks=options.checks,
        uniform=all(whole % part == 0 for whole, part in zip(total, group, strict=True)),
        contract=options.contract,
        flush_denormals=profile.flush_denormals if flush is None else flush,
        srgb_writes="cl_khr_srgb_image_writes" in profile.extensions,
        filter_bits=options.filter_bits,
        wave_size=choose_size(kernel.function, profile),
        most_groups=None if any(start) else bounds_of_grid(total, group),
        emitter=options.emitter,
        count=options.count_accesses,
    )
