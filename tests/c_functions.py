"""Functions of the C runtime, called by themselves: as machine code of this process, without a kernel around them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import SimpleNamespace

from adreno_sim.engine.abi.kernel_shape import KernelShape
from adreno_sim.engine.emit.c_runtime import whole_runtime
from adreno_sim.engine.llvm import objects

WORD = ctypes.c_uint64


def shape(**fields: int) -> KernelShape:
    """A kernel of which nothing but `fields` is so."""
    return KernelShape(**{**dict.fromkeys(KernelShape._fields, 0), **fields})


def load_functions(
    signatures: dict[str, Sequence[type]],
    kernel: KernelShape | None = None,
    sync_points: Sequence[int] = (0,),
    results: dict[str, type] | None = None,
) -> SimpleNamespace:
    """The functions named in `signatures`, which gives the types of their arguments."""
    names = list(signatures)
    words = ", ".join(f"i64 {int(value)}" for value in kernel or shape())
    points = ", ".join(f"i8 {bits}" for bits in sync_points)
    data = [
        f"@kernel_shape = internal constant [{len(KernelShape._fields)} x i64] [{words}]",
        f"@sync_points = internal constant [{len(sync_points)} x i8] [{points}]",
        f"@table = constant [{len(names)} x ptr] [{', '.join(f'ptr @{name}' for name in names)}]",
    ]
    code = objects.machine().compile("\n".join([*data, whole_runtime().needed_for(names).text()]))
    loaded = objects.machine().load(code, "table")
    found = SimpleNamespace(loaded=loaded)
    for name, address in zip(names, (WORD * len(names)).from_address(loaded.address), strict=True):
        setattr(found, name, ctypes.CFUNCTYPE((results or {}).get(name), *signatures[name])(address))
    return found
