"""Guesses of a launch: work sizes, and for each parameter an argument that most kernels can run with."""

from __future__ import annotations

import math
import re
from dataclasses import field
from typing import Any

from ...ir import ir
from ...ir.layout import size_of
from ...records import dataclass
from .. import expressions, scalars
from .kernel_use import KernelUse, scalar_name

SIZE = 16
"""A size without any hint: products of several stay small."""
IMAGE_SIDE, IMAGE_LAYERS = 64, 4
LEAST_COUNT = 1024
GROUP = {1: (64,), 2: (8, 8), 3: (4, 4, 4)}
"""Work-groups where nothing says what they are, by axes."""
LARGEST_GROUP = 256
NDRANGE = {1: (1024,), 2: (32, 32), 3: (16, 8, 4)}
"""Work-items if the kernel does not use groups."""

_ZERO = re.compile(r"off|start|begin|base|pad|seed|zero|^(i|j|k|x|y|z)?0$", re.IGNORECASE)
_ONE = re.compile(r"stride|step|dilat|group|batch|inc|ld[abcxy]?$", re.IGNORECASE)
"""Names of numbers that are not sizes."""


@dataclass
class Guess:
    """One [[argument]] table. keys: in order, without the comments that decide holds by key. says: the parameter in words."""

    says: str
    keys: dict[str, Any]
    decide: dict[str, str] = field(default_factory=dict)


@dataclass
class Skeleton:
    """A launch of `kernel` as it is guessed. decide: comments of the work sizes, by key."""

    kernel: str
    source: str
    options: str
    device: str
    global_size: tuple[int, ...] | tuple[int | str, ...]
    local_size: tuple[int, ...] | None
    arguments: list[Guess]
    values: dict[str, int] = field(default_factory=dict)
    decide: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    def set_group(self, group: tuple[int, ...]) -> None:
        """Take work-groups of this size, two along each axis that has several work-items."""
        self.local_size, self.global_size = group, two_groups(group)


def two_groups(group: tuple[int, ...]) -> tuple[int, ...]:
    """Work-items of two groups along each axis on which a group has several."""
    return tuple(2 * size if size > 1 else size for size in group)


def guess_launch(use: KernelUse, source: str, options: str = "", device: str = "") -> Skeleton:
    """A launch for a kernel. source, options, device: what the launch file says of them."""
    function = use.function
    local, reason = _guess_group(use)
    total = NDRANGE[use.axes] if local is None else two_groups(local)
    made = Skeleton(function.name, source, options, device, total, local, [])
    made.decide["global_size"] = "DECIDE: work-items along each axis"
    if reason:
        made.decide["local_size"] = reason
    made.values = _guess_values(use, total)
    made.arguments = [_guess_argument(use, param, made, math.prod(total)) for param in function.params]
    made.written = [param.name for param in function.params if param.index in use.written and not _is_local(param)]
    return made


def _guess_group(use: KernelUse) -> tuple[tuple[int, ...] | None, str]:
    """The work-group, None if the device may choose it, and why it is that."""
    required = use.function.required_work_group_size
    if required is not None:
        return tuple(required[: use.axes]), "reqd_work_group_size of the kernel"
    if not use.needs_groups:
        return None, ""
    group = GROUP[use.axes]
    if use.local_elements:  # one work-item for each element of the kernel's local array, or for most of them
        side = int(min(use.local_elements, LARGEST_GROUP) ** (1 / use.axes) + 1e-9)
        group = (1 << max(side, 1).bit_length() - 1,) * use.axes
    return group, "DECIDE: the kernel asks for ids in a group, or uses local memory"


def _guess_values(use: KernelUse, total: tuple[int, ...]) -> dict[str, int]:
    """[values]: each whole number by value that may be a size. The only one of a kernel with one axis counts its work-items."""
    names = [param.name for param in use.function.params if _is_size(param)]
    alone = len(names) == 1 and use.axes == 1
    return {name: math.prod(total) if alone else SIZE for name in names}


def is_offset(name: str) -> bool:
    """Whether a number of this name is 0 where nothing is known."""
    return bool(_ZERO.search(name))


def is_factor(name: str) -> bool:
    """Whether a number of this name is 1 where nothing is known."""
    return bool(_ONE.search(name))


def _is_local(param: ir.Param) -> bool:
    return isinstance(param.type, ir.Pointer) and param.type.space == ir.LOCAL


def _is_size(param: ir.Param) -> bool:
    whole = isinstance(param.type, ir.Int) and param.type.bits >= 32
    return whole and not (_ZERO.search(param.name) or _ONE.search(param.name) or expressions.find_wrong_name(param.name))


def _guess_argument(use: KernelUse, param: ir.Param, made: Skeleton, items: int) -> Guess:
    type = param.type
    if isinstance(type, ir.Image):
        return _guess_image(use, param, type)
    if isinstance(type, ir.Sampler):
        keys = {"kind": "sampler", "normalized": False, "addressing": "clamp_to_edge", "filter": "nearest"}
        return Guess(f"{param.spelled} {param.name}", _named(param, keys), {"addressing": "DECIDE: as your program makes it"})
    if _is_local(param):
        return _guess_local(param, made)
    if isinstance(type, ir.Pointer):
        return _guess_buffer(use, param, items)
    return _guess_scalar(param, made)


def _guess_image(use: KernelUse, param: ir.Param, type: ir.Image) -> Guess:
    keys: dict[str, Any] = {"kind": type.kind, "width": IMAGE_SIDE}
    if not type.kind.startswith("image1d"):
        keys["height"] = IMAGE_SIDE
    if deep := {"image3d": "depth", "image2d_array": "layers", "image1d_array": "layers"}.get(type.kind):
        keys[deep] = IMAGE_LAYERS
    keys |= {"order": "RGBA", "channel_type": use.channel_type(param)}
    fill = "random" if type.access == "read_only" else "unwritten" if type.access == "write_only" else "zeros"
    keys["data"] = {"fill": "random", "seed": param.index} if fill == "random" else fill
    decide = {
        "width": "DECIDE: texels",
        "channel_type": "DECIDE: the format; the kernel's functions take this or one that converts",
    }
    return Guess(f"{type.access} {param.spelled} {param.name}", _named(param, keys), decide)


def _guess_local(param: ir.Param, made: Skeleton) -> Guess:
    dtype, count = _pointee(param) or ("float32", 4)
    nbytes = _itemsize(dtype) * (4 if count == 3 else count) * math.prod(made.local_size or (1,))
    decide = {"nbytes": "DECIDE: bytes; room for one element of each work-item of a group"}
    return Guess(f"local {param.spelled} {param.name}", _named(param, {"kind": "local", "nbytes": nbytes}), decide)


def _guess_buffer(use: KernelUse, param: ir.Param, items: int) -> Guess:
    dtype, width, known = _element(use, param)
    count = max(LEAST_COUNT, width * 2 ** (items - 1).bit_length())
    reads, writes = param.index in use.read, param.index in use.written
    data = _contents(dtype, known, reads, writes, param.index)
    keys = {"kind": "buffer", "dtype": dtype, "count": count, "data": data}
    does = " and ".join(word for word, whether in (("read", reads), ("written", writes)) if whether) or "not used"
    space = "constant" if isinstance(param.type, ir.Pointer) and param.type.space == ir.CONSTANT else "global"
    says = " ".join(
        [space, *(["const"] * ("const" in param.qualifiers and space == "global")), param.spelled, f"{param.name}: {does}"]
    )
    decide = {"count": f"DECIDE: elements of {dtype}"}
    if not known:
        decide["dtype"] = f"DECIDE: {param.spelled} by its bytes, or as what it is made of"
    return Guess(says, _named(param, keys), decide)


def _contents(dtype: str, known: bool, reads: bool, writes: bool, seed: int) -> Any:
    """Numbers for what is read: small ones, as whole numbers may be indices, and no zeros, by which kernels divide. What is
    written and read begins with zeros if they are whole: it counts, or is a flag."""
    if writes and not reads:
        return "unwritten"
    whole = not dtype.startswith("float")
    if not known or (whole and writes):
        return "zeros"
    return {"fill": "random", "seed": seed, **({"low": 1, "high": 8} if whole else {})}


def _element(use: KernelUse, param: ir.Param) -> tuple[str, int, bool]:
    """dtype of a buffer's elements, scalars of an element, and whether either is known."""
    spelled, accessed = _pointee(param), use.accessed.get(param.index, set())
    through = next(iter(accessed)) if len(accessed) == 1 else ""
    if spelled is not None and not (spelled[0] in ("int8", "uint8") and through not in ("", "int8")):
        return (*spelled, True)
    return (through, 4, True) if through else ("uint8", 16, False)


def _pointee(param: ir.Param) -> tuple[str, int] | None:
    """dtype and number of scalars of what a parameter points to, by its spelling; None for structs, void and typedefs."""
    return scalars.shape_of(param.spelled.removesuffix("*").strip().removeprefix("atomic_"))


def _itemsize(dtype: str) -> int:
    return int(re.sub(r"\D", "", dtype)) // 8


def _guess_scalar(param: ir.Param, made: Skeleton) -> Guess:
    says = f"{param.spelled} {param.name}"
    type = param.type
    scalar = scalar_name(type)
    if not scalar:
        keys = {"kind": "scalar", "type": "bytes", "value": [0] * size_of(type)}
        return Guess(says, _named(param, keys), {"value": f"DECIDE: the {size_of(type)} bytes of the struct"})
    known = scalars.shape_of(param.spelled)
    keys = {"kind": "scalar"}
    if known is None:  # a typedef or an enum
        keys["type"] = scalars.IN_OPENCL[scalar] + (str(type.count) if isinstance(type, ir.Vector) else "")
    value: Any = 0.5 if scalar.startswith("float") else 0 if _ZERO.search(param.name) else 1 if _ONE.search(param.name) else SIZE
    if param.name in made.values:
        return Guess(says, _named(param, {**keys, "value": param.name}))
    if isinstance(type, ir.Vector):
        value = [value] * (known[1] if known else type.count)
    return Guess(says, _named(param, {**keys, "value": value}), {"value": "DECIDE"})


def _named(param: ir.Param, keys: dict[str, Any]) -> dict[str, Any]:
    kind = {"kind": keys["kind"]}
    return kind | ({"name": param.name} if param.name else {}) | keys
