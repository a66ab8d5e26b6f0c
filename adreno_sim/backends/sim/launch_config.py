"""Validated launch configurations, cached by kernel, sizes and the signature of the arguments.

The signature holds everything that a check or the machine code may ask of the arguments, except where views lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.specs import Local, Null, Sampler
from ...engine.run.launch_analysis import LaunchAnalysis
from ...findings import Finding
from ...memory.storage import StorageView
from .limits import Size
from .program import SimKernel


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


@dataclass(eq=False)
class PreparedLaunch:
    """A checked launch: its arguments as the kernel reads them, and how many dimensions were given.

    shared: findings on arguments that share a storage, once they are known: they depend on nothing that a run changes.
    """

    kernel: SimKernel
    config: LaunchConfig
    args: Sequence[Any]
    dimensions: int
    shared: list[Finding] | None = None


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
