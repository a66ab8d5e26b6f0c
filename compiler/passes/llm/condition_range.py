"""condition-range: a condition that reads a buffer at a work-item's own index tests first whether the index is in the buffer.

Work-items beyond the last row, which fill up the last group, evaluate the condition too: appending to the paged cache under TVM's
Fallback schedule reads `position_map[i]` before it tests i, and attention over trees reads `tree_order` for rows that are not
queries. They read behind the buffer's end. 0.27.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.read import BufferInfo
from ...tvm_bridge.versions import import_tvm
from ..base import Fix
from .work_items import StatementContext, constant, is_load, memories, memory_of, walk_places

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


Params = dict[int, tuple[BufferInfo, Any]]
"""Memory of a parameter -> its buffer, and the variable that says where it begins, or None."""


def range_first() -> Pass:
    """TIR pass: comparisons of such conditions come behind a test of the index."""

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        import tvm_ffi

        tirx = import_tvm().tirx
        owners = memories(func)
        has_blocks = read.kind(func.body).endswith("BlockRealize")  # its indices do not hold where a buffer begins yet
        params = {info.key: (info, None if has_blocks else read.elem_offset(func, param)) for param, info in _buffers(func)}
        instead = {}
        for statement, place in walk_places(func.body):
            if read.kind(statement) == "IfThenElse" and place.items:
                tested = _test_first(statement.condition, place, params, owners)
                if not tested.same_as(statement.condition):
                    instead[read.key(statement.condition)] = tested
        if not instead:
            return func

        def replace(branch: Any) -> Any:
            tested = instead.get(read.key(branch.condition))
            return branch if tested is None else tirx.IfThenElse(tested, branch.then_case, branch.else_case)

        return func.with_body(tvm_ffi.structural_map(func.body, (tirx.IfThenElse, replace), order="post"))

    return import_tvm().tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.TestRangesFirst")


def _buffers(func: Any) -> Iterator[tuple[Any, BufferInfo]]:
    for param in func.params:
        info = read.buffer_param(func, param)
        if info is not None:
            yield param, info


def _test_first(condition: Any, place: StatementContext, params: Params, owners: dict[int, int]) -> Any:
    """A condition whose comparisons are each tested for the range of what they read; itself where nothing is to test."""
    tirx = import_tvm().tirx
    kind = read.kind(condition)
    if kind in ("And", "Or"):
        a, b = (_test_first(part, place, params, owners) for part in (condition.a, condition.b))
        unchanged = a.same_as(condition.a) and b.same_as(condition.b)
        return condition if unchanged else getattr(tirx, kind)(a, b)
    loads = [node for node in read.walk(condition) if is_load(node)]
    tests = [test for load in loads for test in _tests(load, place, params.get(memory_of(load, owners)))]
    return tirx.all(*tests, condition) if tests else condition


def _tests(load: Any, place: StatementContext, param: tuple[BufferInfo, Any] | None) -> list[Any]:
    """What has to hold for a load from a parameter to be in range, without what is known to hold; [] if the index does not
    depend on the work-item."""
    if param is None:
        return []
    tests = []
    with _Knowing(place) as analyzer:
        for index, extent in _indices(load, *param):
            if place.numbers_in(index):
                tests += [analyzer.simplify(test) for test in (index >= 0, index < extent)]
        return [test for test in tests if constant(test) != 1 and not analyzer.can_prove(test)]


def _indices(load: Any, buffer: BufferInfo, offset: Any) -> list[tuple[Any, Any]]:
    """The indices of a load, each with its extent; one of all elements where memory is flattened. offset: where the buffer begins
    there."""
    tirx = import_tvm().tirx
    if offset is None and len(load.indices) == len(buffer.shape):
        return [
            (index, tirx.Cast(read.dtype_of(index), extent)) for index, extent in zip(load.indices, buffer.shape, strict=True)
        ]
    index = load.indices[0]
    dtype = read.dtype_of(index)
    extent = tirx.const(1, dtype)
    for axis in buffer.shape:
        extent = extent * tirx.Cast(dtype, axis)
    return [(index if offset is None else index - tirx.Cast(dtype, offset), extent)]


class _Knowing:
    """An analyser that knows the ranges and conditions of a place."""

    def __init__(self, place: StatementContext) -> None:
        self.place, self.stack = place, ExitStack()

    def __enter__(self) -> Any:
        tvm: Any = import_tvm()
        analyzer = tvm.sym.Analyzer()
        for var, extent in self.place.ranges:
            analyzer.bind(var, tvm.ir.Range(0, extent))
        for condition in self.place.conditions:
            self.stack.enter_context(analyzer.constraint_scope(condition))
        return analyzer

    def __exit__(self, *_: object) -> None:
        self.stack.close()


FIX = Fix(
    name="condition-range",
    versions=("0.27",),
    summary="conditions read buffers at a work-item's index only after a test of its range",
    tir=("tirx.CommonSubexprElim", range_first),
    reference=range_first,
)
