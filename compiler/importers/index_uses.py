"""What the operators of a Relax function take as indices, lengths and masks, and in which range each must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...records import dataclass
from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import buffer_info, buffer_param, kind, loaded_buffer, walk
from ..tvm_bridge.versions import type_of
from .value_ranges import ValueRanges, bound_value

FAST = "fast"
"""The mode of `take` in which an index outside the tensor reads other memory; the other modes say what it means."""


@dataclass(frozen=True)
class IndexUse:
    """An operand and the values that it may have.

    lows, highs: both included; one of each, or one for each element along the operand's last axis. what: the operator, in
    words. strict: a value outside is undefined; else it is only one that nobody would give.
    """

    operand: Any
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    what: str
    strict: bool = True


def index_uses(ranges: ValueRanges) -> Iterator[IndexUse]:
    """Every operand of the calls of a module's main that is an index, a length, a mask or a bound of a slice, of known sizes."""
    for binding in bindings(ranges.function):
        call = bound_value(binding)
        if kind(call) == "Call":
            find = _USES.get(op_name(call))
            yield from find(call, ranges) if find else ()


def _take(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    size = _along(call, call.attrs.axis or 0, ranges)
    strict = str(getattr(call.attrs, "mode", FAST)) == FAST
    yield from _index(call.args[1], size, f"take along an axis of {size}", strict)


def _gather_elements(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    size = _along(call, call.attrs.axis, ranges)
    yield from _index(call.args[1], size, f"gather_elements along an axis of {size}")


def _gather_nd(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    yield from _coordinates(call.args[1], ranges, ranges.sizes(call.args[0])[int(call.attrs.batch_dims) :], "gather_nd from")


def _scatter_elements(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    size = _along(call, call.attrs.axis, ranges)
    yield from _index(call.args[1], size, f"scatter_elements along an axis of {size}", from_end=True)


def _scatter_nd(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    yield from _coordinates(call.args[1], ranges, ranges.sizes(call.args[0]), "scatter_nd into")


def _index_tensor(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    name = op_name(call).removeprefix("relax.")
    indices = ranges.source(call.args[1])
    operands = list(indices.fields) if kind(indices) == "Tuple" else [indices]
    for operand, size in zip(operands, ranges.sizes(call.args[0]), strict=False):
        if "bool" not in str(type_of(operand).dtype):
            yield from _index(operand, size, f"{name} along an axis of {size}", from_end=True)


def _one_hot(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    depth = int(call.attrs.depth)
    yield from _index(call.args[0], depth, f"one_hot of depth {depth}", strict=False)


def _reverse_sequence(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    size = _along(call, call.attrs.seq_axis, ranges)
    if size is not None:
        yield IndexUse(call.args[1], (1,), (size,), f"reverse_sequence of length {size}")


def _loss(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    size = _along(call, min(len(ranges.sizes(call.args[0])) - 1, 1), ranges)
    yield from _index(call.args[1], size, f"nll_loss over {size} classes")


def _slice(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    """Bounds in the two halves of the shortest axis: no slice is empty, and none reaches beyond the tensor."""
    sizes = [size for size in ranges.sizes(call.args[0]) if size is not None]
    if len(sizes) != len(ranges.sizes(call.args[0])) or not sizes:
        return
    half, what = min(sizes) // 2, f"dynamic_strided_slice of {'x'.join(map(str, sizes))}"
    for operand, low, high in zip(call.args[1:], (0, max(half, 1), 1), (max(half - 1, 0), min(sizes), 1), strict=True):
        yield IndexUse(operand, (low,), (high,), what, strict=False)


def _call_tir(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    """What a PrimFunc loads from an argument and takes as an index right away; it may guard the access, so nothing is strict."""
    function, operands = ranges.module[call.args[0]], list(getattr(ranges.source(call.args[1]), "fields", ()))
    infos = [buffer_param(function, param) for param in function.params]
    places = {info.key: place for place, info in enumerate(infos[: len(operands)]) if info is not None}
    found: dict[int, int] = {}

    for node in walk(function.body):
        if kind(node) not in ("BufferLoad", "TensorLoad", "BufferStore"):
            continue
        info = buffer_info(node.buffer if kind(node) == "BufferStore" else loaded_buffer(node))
        for index, dim in zip(node.indices, info.shape, strict=False):
            inner, size = index.value if kind(index) == "Cast" else index, ranges.size(dim)
            loads = kind(inner) in ("BufferLoad", "TensorLoad")
            place = places.get(buffer_info(loaded_buffer(inner)).key) if loads else None
            if place is not None and size:
                found[place] = min(found.get(place, size), size)
    for place, size in found.items():
        yield from _index(operands[place], size, f"{call.args[0].name_hint}, for an axis of {size}", strict=False)


def _sample(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    rows = _along(call, 0, ranges)
    yield from _index(call.args[2], rows, f"multinomial_from_uniform from {rows} distributions")


def _compare(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    """A tensor that is compared with positions 0, 1, ... n - 1 holds lengths: from 1 to n."""
    for operand, other in (call.args, tuple(reversed(call.args))):
        (low, high), read = ranges.of(other, {})
        if ranges.parameter(operand) is not None and not read and low == 0 and 0 < high < 2**31:
            yield IndexUse(operand, (1,), (high + 1,), f"a length of up to {high + 1}", strict=False)


def _is_mask(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    """1 - m, and m cast to bool: what holds ones and zeros."""
    name, operand = op_name(call), call.args[0]
    if name == "relax.subtract":
        number, operand = call.args
        if ranges.of(number, {}) != ((1, 1), frozenset()):
            return
    elif str(call.attrs.dtype) != "bool":
        return
    if ranges.parameter(operand) is not None:
        yield IndexUse(operand, (0,), (1,), MASK, strict=False)


def _tests_mask(call: Any, ranges: ValueRanges) -> Iterator[IndexUse]:
    """Equal to 0 or 1, or not."""
    for operand, other in (call.args, tuple(reversed(call.args))):
        if ranges.of(other, {}) in (((0, 0), frozenset()), ((1, 1), frozenset())):
            yield from [IndexUse(operand, (0,), (1,), MASK, strict=False)] if ranges.parameter(operand) is not None else []


MASK = "a mask of zeros and ones"

_USES: dict[str, Callable[[Any, ValueRanges], Iterator[IndexUse]]] = {
    "relax.take": _take,
    "relax.gather_elements": _gather_elements,
    "relax.gather_nd": _gather_nd,
    "relax.scatter_elements": _scatter_elements,
    "relax.scatter_nd": _scatter_nd,
    "relax.index_tensor": _index_tensor,
    "relax.index_put": _index_tensor,
    "relax.one_hot": _one_hot,
    "relax.reverse_sequence": _reverse_sequence,
    "relax.nn.nll_loss": _loss,
    "relax.dynamic_strided_slice": _slice,
    "relax.call_tir": _call_tir,
    "relax.multinomial_from_uniform": _sample,
    **dict.fromkeys(("relax.less", "relax.less_equal", "relax.greater", "relax.greater_equal"), _compare),
    **dict.fromkeys(("relax.subtract", "relax.astype"), _is_mask),
    **dict.fromkeys(("relax.equal", "relax.not_equal"), _tests_mask),
}


def _along(call: Any, axis: Any, ranges: ValueRanges) -> int | None:
    """The size of the first operand along an axis."""
    sizes = ranges.sizes(call.args[0])
    return sizes[int(axis)] if sizes else None


def _index(operand: Any, size: int | None, what: str, strict: bool = True, from_end: bool = False) -> Iterator[IndexUse]:
    """from_end: negative indices count from the end."""
    if size:
        yield IndexUse(operand, (-size if from_end else 0,), (size - 1,), what, strict)


def _coordinates(operand: Any, ranges: ValueRanges, sizes: list[int | None], what: str) -> Iterator[IndexUse]:
    """Each element along the last axis of the operand is an index into one of `sizes`."""
    count = (ranges.sizes(operand) or [None])[-1]
    used = sizes[:count] if count is not None else []
    if used and all(used):
        highs = tuple(size - 1 for size in used if size)
        yield IndexUse(operand, (0,), highs, f"{what} {'x'.join(map(str, sizes))}")
