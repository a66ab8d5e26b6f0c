"""Proves that work-items read only bytes of a local array that their group has written before. It then needs no marks.

The bytes that a group writes before a barrier are found one by one: for each work-item, and each iteration of loops before the
barrier, the bytes of a store whose offset and conditions depend on nothing else. Each work-item makes these stores on every way
to the barrier. A load behind the barrier may read these bytes and no others.
"""

from __future__ import annotations

import numpy as np

from ...ir import ir
from ...ir.memory_ops import is_plain_store
from ...ir.provenance import ObjectId
from ..analysis.budget import Budget, OverBudget
from ..analysis.uniformity import Uniformity
from .executions import Executions, Step, Ways, offsets_of_read
from .in_range import AccessAnalysis
from .local_races import LocalAccess, Point, find_local_accesses, orders_local_memory
from .single_writer import read_of, write_of

_STEPS = 4096, 16
"""The stores and loads, for a kernel and for each of its instructions, that are considered, over all barriers."""
_MOST_POINTS = 1 << 24
"""The executions of stores and loads that are tried, and the bytes of them, over all barriers: beyond, nothing more is proven."""


def written_local_arrays(analysis: AccessAnalysis) -> frozenset[ObjectId]:
    """Returns the local arrays in which no work-item reads a byte that its group has not written."""
    if not analysis.forms.facts.uniform:
        return frozenset()
    by_array: dict[ObjectId, list[LocalAccess]] = {}
    for several in (find_local_accesses(analysis) or {}).values():
        for access in several:
            by_array.setdefault(access.array, []).append(access)
    if not by_array:
        return frozenset()
    found = _WrittenFirst(analysis)
    return frozenset(array for array, accesses in by_array.items() if found.holds(array, accesses))


class _WrittenFirst:
    """Whether the loads of an array read only what the group writes before a barrier that they are behind."""

    def __init__(self, analysis: AccessAnalysis):
        self._analysis = analysis
        self._forms = forms = analysis.forms
        self._ways = Ways(analysis.function, forms.dominators)
        self._places = {id(instr): (b, n) for b in forms.dominators.order for n, instr in enumerate(b.instrs)}
        self._steps = Budget.of("accesses to local memory", analysis.function, *_STEPS)
        self._points = Budget("executions of accesses to local memory", _MOST_POINTS, _MOST_POINTS)
        uniformity = Uniformity(forms.dominators)
        convergent = filter(uniformity.is_convergent, forms.dominators.order)
        self._barriers = [(b, n) for b in convergent for n, instr in enumerate(b.instrs) if orders_local_memory(instr)]

    def holds(self, array: ObjectId, accesses: list[LocalAccess]) -> bool:
        try:
            return self._holds(array, accesses)
        except OverBudget:
            return False

    def _holds(self, array: ObjectId, accesses: list[LocalAccess]) -> bool:
        loads = [access.instr for access in accesses if access.reads]
        stores = [access.instr for access in accesses if is_plain_store(access.instr)]
        if len(loads) + len(stores) < len(accesses):
            return False
        for barrier in self._barriers:
            self._steps.spend(len(loads))
            behind = [load for load in loads if self._is_before(barrier, self._places[id(load)])]
            if behind:
                self._steps.spend(len(stores))
                written = self._written_before(barrier, array, stores)
                shown = {id(load) for load in behind if self._reads_only(load, written)}
                loads = [load for load in loads if id(load) not in shown]
        return not loads

    def _reads_only(self, load: ir.Instr, written: np.ndarray) -> bool:
        """Returns whether all bytes that a load reads are among the `written` ones."""
        if written.all():
            return True
        read = read_of(load, self._analysis) if written.any() else None
        first = None if read is None else offsets_of_read(self._forms, read)
        if read is None or first is None:
            return False
        self._points.spend(len(first) * read.size)
        first = first[(first >= 0) & (first + read.size <= len(written))]  # it is proven in range
        return all(bool(written[first + byte].all()) for byte in range(read.size))

    def _is_before(self, one: Point, other: Point) -> bool:
        """Returns whether every path to `other` passes `one` first."""
        if one[0] is other[0]:
            return one[1] < other[1]
        return self._forms.dominators.dominates(one[0], other[0])

    def _written_before(self, barrier: Point, array: ObjectId, stores: list[ir.Instr]) -> np.ndarray:
        """Returns for each byte of the array whether the group writes it on every way to the barrier."""
        size = self._analysis.object_size(array)
        assert size is not None
        written = np.zeros(size, bool)
        executions: tuple[list[Step], Executions] | None = None
        for store in stores:
            write, place = write_of(store, self._analysis), self._places[id(store)]
            late = place[0] is barrier[0] and place[1] > barrier[1]
            way = None if write is None or late else self._ways.find(place[0], barrier[0])
            if write is not None and way is not None:
                if executions is None or executions[0] is not way:  # stores of one block have one way
                    executions = way, Executions(self._forms, way)
                    self._points.spend(executions[1].points * len(way))
                self._points.spend(executions[1].points)
                first = executions[1].offsets(write.offset)
                self._points.spend(len(first) * write.size)
                for byte in range(write.size):
                    written[first + byte] = True
        return written
