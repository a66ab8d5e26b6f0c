"""Validated launch configurations, cached by kernel, sizes and the signature of the arguments.

The signature holds everything that a check or the machine code may ask of the arguments, except where views lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...base.specs import Local, Sampler
from ...engine.abi.launch_facts import LaunchFacts
from ...engine.abi.specialization import ShadowSpec, Specialization
from ...memory.storage import StorageView
from .argument_shadows import ShadowRange, with_shadow
from .limits import Size


@dataclass
class LaunchConfig:
    """total, group: global and local size. spec: the specialization without shadows. checked: the arguments as the kernel
    reads them, None for views, whose positions are `views`; `written` are those that the kernel may write.

    single_writer, unaliased (level full): see `engine.prove.single_writer` and `argument_shadows.unaliased_specs`. failures:
    of analyses that found these.
    """

    total: Size
    group: Size
    spec: Specialization
    facts: LaunchFacts
    checked: tuple[Any, ...]
    views: tuple[int, ...]
    written: tuple[int, ...]
    single_writer: frozenset[int] = frozenset()
    unaliased: dict[int, ShadowSpec] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    _specs: dict[tuple[tuple[int, ShadowSpec], ...], Specialization] = field(default_factory=dict)

    def spec_with(self, ranges: Mapping[int, ShadowRange]) -> Specialization:
        """Returns the specialization for arguments with these shadows."""
        asked = tuple((index, shadow_range.spec) for index, shadow_range in ranges.items())
        if not asked:
            return self.spec
        if asked not in self._specs:
            args = tuple(with_shadow(arg, ranges.get(index)) for index, arg in enumerate(self.spec.args))
            self._specs[asked] = replace(self.spec, args=args)
        return self._specs[asked]


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
    if isinstance(arg, Sampler):
        return arg if isinstance(arg.addressing, str) and isinstance(arg.filter, str) else None
    return bytes(arg) if isinstance(arg, (bytes, bytearray)) else None
