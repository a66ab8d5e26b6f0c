"""Changes to a model as changes to the tensors that are to be placed: fused, reused in place, computed again, halved, moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ....base.errors import AdrenoSimError
from ....base.specs import TensorSpec
from ....records import dataclass
from ...artifact.memory_plan import MemoryPlan, PlannedTensor
from ..problem import Item, Problem
from ..rules import DeviceRules, spec_of

KINDS = ("fuse", "in place", "recompute", "half", "other scope")


@dataclass(frozen=True)
class Edit:
    """One change of kind `kind` to a tensor: what it is in words, and the tensors to place after it."""

    kind: str
    text: str
    problem: Problem


class Editor:
    """Makes edits of a plan's tensors. `problem`: the tensors as they are on a device."""

    def __init__(self, plan: MemoryPlan, problem: Problem, rules: DeviceRules):
        self.problem = problem
        self.rules = rules
        self.tensors: Mapping[str, PlannedTensor] = {tensor.id: tensor for tensor in plan.tensors}
        self.items: Mapping[str, Item] = {item.id: item for item in problem.items}
        self.read_at: dict[int, list[str]] = {}
        for tensor in plan.tensors:
            for instruction in tensor.reads:
                if tensor.id in self.items:
                    self.read_at.setdefault(instruction, []).append(tensor.id)

    def edits(self, key: str, when: int) -> Iterator[Edit]:
        """What can be done about tensor `key`, which is live at instruction `when`."""
        tensor, item = self.tensors[key], self.items[key]
        yield from self._fuse(tensor, item)
        yield from self._in_place(tensor, item)
        yield from self._recompute(tensor, item, when)
        yield from self._half(item)
        yield from self._other_scope(item)

    def _inputs(self, tensor: PlannedTensor) -> list[Item]:
        """The tensors that its producer reads."""
        read = [] if tensor.written is None else self.read_at.get(tensor.written, [])
        return [self.items[key] for key in read if key != tensor.id]

    def _changed(self, changes: Mapping[str, Sequence[Item]]) -> Problem:
        """The problem with other tensors instead of some."""
        return replace(self.problem, items=tuple(new for item in self.problem.items for new in changes.get(item.id, (item,))))

    def _longer(self, items: Sequence[Item], end: int) -> dict[str, Sequence[Item]]:
        return {item.id: (replace(item, end=max(item.end, end)),) for item in items}

    def _fuse(self, tensor: PlannedTensor, item: Item) -> Iterator[Edit]:
        """Its only reader computes it: it takes no memory, and what it is made of lives as long as it did."""
        if len(tensor.reads) == 1 and tensor.written is not None and tensor.reader != "the result":
            changes = {**self._longer(self._inputs(tensor), item.end), item.id: ()}
            yield Edit("fuse", f"fuse {tensor.producer} into {tensor.reader}", self._changed(changes))

    def _in_place(self, tensor: PlannedTensor, item: Item) -> Iterator[Edit]:
        """It takes the bytes of a tensor of its type that its producer reads last."""
        for given in self._inputs(tensor):
            same = (given.shape, given.dtype, given.scope, given.call) == (item.shape, item.dtype, item.scope, item.call)
            if same and given.last == tensor.written:
                both = replace(item, start=given.start, end=item.end)
                text = f"{tensor.producer} writes over its input {given.id}"
                yield Edit("in place", text, self._changed({given.id: (), item.id: (both,)}))
                return

    def _recompute(self, tensor: PlannedTensor, item: Item, when: int) -> Iterator[Edit]:
        """It ends with its last reader before `when`, and is made again before the next one."""
        before = [read for read in tensor.reads if read < when]
        after = [read for read in tensor.reads if read > when]
        if not before or not after or when in tensor.reads or tensor.written is None:
            return
        again = replace(item, id=f"{item.id} again", start=after[0] - 1)
        first = replace(item, end=before[-1] + 1)
        changes = {**self._longer(self._inputs(tensor), after[0]), item.id: (first, again)}
        yield Edit("recompute", f"compute {tensor.producer} once more for {tensor.reader}", self._changed(changes))

    def _half(self, item: Item) -> Iterator[Edit]:
        if item.dtype == "float32":
            yield from self._other("half", "keep it in float16", item, replace(spec_of(item), dtype="float16"))

    def _other_scope(self, item: Item) -> Iterator[Edit]:
        if item.is_texture:
            yield from self._other("other scope", "keep it in a buffer", item, replace(spec_of(item), scope="global"))
        elif len(item.shape) == 5 and item.shape[-1] == 4:
            yield from self._other("other scope", "keep it in a texture", item, replace(spec_of(item), scope="global.texture"))

    def _other(self, kind: str, text: str, item: Item, spec: TensorSpec) -> Iterator[Edit]:
        """The tensor as another one, where the device can hold that."""
        try:
            size, alignment, over = self.rules.size(spec), self.rules.alignment(spec), self.rules.over_limit(spec)
        except AdrenoSimError:
            return
        if not over and size:
            kept = replace(item, dtype=spec.dtype, scope=spec.scope, dense=spec.nbytes)
            new = replace(kept, size=size, alignment=max(alignment, self.problem.unit))
            yield Edit(kind, text, self._changed({item.id: (new,)}))
