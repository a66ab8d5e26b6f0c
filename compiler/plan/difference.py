"""Why two footprints differ: which tensors are live at the peak of one and not of the other, and which exist in one only."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Union

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..artifact.memory_plan import MemoryPlan
from ..artifact.serial import SchemaError, decode
from .footprint import SCHEMA, Footprint
from .plan_file import SCHEMA as PLAN_SCHEMA
from .plan_file import plan_from_json, read_object
from .problem import Item
from .spans import peak_at
from .trace import SCHEMA as TRACE_SCHEMA
from .trace import read as read_trace


@dataclass(frozen=True)
class Life:
    """A tensor as an older footprint had it: `size` bytes, live on [start, end)."""

    id: str
    size: int
    dense: int
    start: int
    end: int
    scope: str
    shape: tuple[int, ...]
    dtype: str
    left_alone: str = ""


AnyLife = Union[Life, Item]


@dataclass(frozen=True)
class OldFootprint:
    """What `--compare` compares with. totals: planner -> bytes (none for a plain plan). rule, target: as in a `Footprint`, or
    "" where the file does not say.
    """

    source: str
    lives: tuple[AnyLife, ...]
    totals: dict[str, int]
    rule: str = ""
    target: str = ""


@dataclass(frozen=True)
class Change:
    """`bytes` more (or fewer) because of tensors like `tensor`: `count` more (or fewer) of them."""

    tensor: str
    count: int
    bytes: int


@dataclass(frozen=True)
class PlanDifference:
    """New against old. totals: planner -> (old, new) bytes. peak: changes of what is live at the peak, which add up to
    `bound`, the change of the live lower bound; tensors: changes of the set of tensors. conditions: (what, old, new) of what
    the two were made for, where it differs: their bytes differ for that, too.
    """

    source: str
    totals: dict[str, tuple[int, int]]
    bound: int
    peak: tuple[Change, ...]
    tensors: tuple[Change, ...]
    conditions: tuple[tuple[str, str, str], ...] = ()


def read_old(path: str | os.PathLike[str]) -> OldFootprint:
    """A footprint, plan or trace written before. Raises AdrenoSimError if it is none."""
    data = read_object(path)
    schema = data.get("schema")
    if schema == SCHEMA:
        return _old_footprint(data, str(path))
    if schema == PLAN_SCHEMA:
        plan = plan_from_json(data, str(path))
        return OldFootprint(str(path), tuple(_planned_lives(plan)), {}, plan.rule)
    if schema == TRACE_SCHEMA:
        return OldFootprint(str(path), read_trace(str(path)).items, {})
    raise AdrenoSimError(f"{path}: schema {schema!r}: expected {SCHEMA!r}, {PLAN_SCHEMA!r} or {TRACE_SCHEMA!r}")


def _old_footprint(data: dict[str, Any], where: str) -> OldFootprint:
    try:
        lives = decode(tuple[Life, ...], data.get("lives"), "lives")
        rows = data["planners"]
        totals = {str(line["planner"]): int(line["total"]) for line in rows if not line.get("skipped")}
    except (SchemaError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise AdrenoSimError(f"{where}: not a footprint: {error}") from None
    said = [data[key] if isinstance(data.get(key), str) else "" for key in ("rule", "target")]
    return OldFootprint(where, lives, totals, *said)


def _planned_lives(plan: MemoryPlan) -> Iterable[Life]:
    for t in plan.tensors:
        if t.right_bytes:
            yield Life(t.id, t.right_bytes, t.dense_bytes, t.first, t.last + 1, t.scope, t.shape, t.dtype)


def difference(old: OldFootprint, new: Footprint) -> PlanDifference:
    """What changed from `old` to `new`. Tensors are the same kind where shape, dtype, scope and size are: names move."""
    rows = {line.planner: line.total for line in new.rows if not line.skipped}
    totals = {name: (old.totals[name], total) for name, total in rows.items() if name in old.totals}
    before, after = _at_peak(old.lives), _at_peak(new.problem.items)
    bound = sum(life.size for life in after) - sum(life.size for life in before)
    conditions = tuple(
        (what, then, now)
        for what, then, now in (("rule of sizes", old.rule, new.rule), ("target", old.target, new.target))
        if then and now and then != now
    )
    return PlanDifference(old.source, totals, bound, _changes(before, after), _changes(old.lives, new.problem.items), conditions)


def _at_peak(lives: Sequence[AnyLife]) -> list[AnyLife]:
    """Those live at the first instant when most bytes are."""
    _, when = peak_at((life.start, life.end, life.size) for life in lives)
    return [life for life in lives if life.start <= when < life.end]


def _changes(old: Iterable[AnyLife], new: Iterable[AnyLife]) -> tuple[Change, ...]:
    """Kinds of tensors that became more or fewer, the largest change of bytes first."""
    count: Counter[tuple[Any, ...]] = Counter()
    names: dict[tuple[Any, ...], str] = {}
    for lives, sign in ((old, -1), (new, 1)):
        for life in lives:
            kind = (tuple(life.shape), life.dtype, life.scope, life.size)
            count[kind] += sign
            names.setdefault(kind, life.id)
    changes = [Change(_describe(names[kind], kind), n, n * kind[3]) for kind, n in count.items() if n]
    return tuple(sorted(changes, key=lambda change: (-abs(change.bytes), change.tensor)))


def _describe(name: str, kind: tuple[Any, ...]) -> str:
    shape, dtype, scope, size = kind
    if not shape:
        return f"{name} ({size:,} bytes)"
    return f"{name} ({dtype} {'x'.join(map(str, shape))} {scope}, {size:,} bytes)"
