"""Runs a program for all work-items of a launch at once, in NumPy, and notes every access: an independent model of a device.

Work-items go in step: each statement is executed by all whose control flow reaches it, before the next one. For a program
without races that is what any order gives; which accesses race is found from their list (`races.py`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .. import tree
from ..launches import Launch
from ..layout import Image, Struct
from ..program import Program, Scalar, element_of
from .memories import Bound, Event, Memories, Violation
from .undefined import Trace, Use, Value, Where, as_bytes, choose, combine, of_lanes, smear

LONGEST = 5000
"""Turns of a loop after which the generator has made an error."""
FENCE_OF = {"local": "local", "global": "global", "constant": "global", "image": "image"}
"""The fence that orders accesses to a space of memory."""


@dataclass
class Range:
    """Least and largest value of a hole, by work-item; executed: by which work-items at all."""

    low: np.ndarray
    high: np.ndarray

    @property
    def executed(self) -> np.ndarray:
        return self.low <= self.high


@dataclass
class Outcome:
    """What a launch does. trace: of values that are undefined. undefined: it is not known what the launch does, as a branch or an
    address depends on such a value."""

    memories: Memories
    trace: Trace = field(default_factory=Trace)
    holes: dict[int, Range] = field(default_factory=dict)
    undefined: bool = False
    diverged: list[tuple[int, int]] = field(default_factory=list)  # line, group
    barriers: list[int] = field(default_factory=list)  # their lines


def evaluate(program: Program, launch: Launch) -> Outcome:
    """Runs the program."""
    return Evaluator(program, launch).run()


class Evaluator:
    def __init__(self, program: Program, launch: Launch) -> None:
        self._program, self._launch = program, launch
        self._lines = program.lines if program.text else {}
        self._memories = Memories.of(program, launch)
        barriers = [self._lines[id(s)] for s in tree.walk(program.body) if isinstance(s, tree.Barrier)]
        self._outcome = Outcome(self._memories, barriers=barriers)
        self._passed: Counter[str] = Counter()
        self._alive = np.ones(launch.items, bool)
        self._line = 0
        self._values = {name: Value.of(number) for name, number in launch.linear.items()}
        self._values["s"] = Value.of(np.zeros(launch.items, np.int64))
        for parameter in program.parameters:
            if isinstance(parameter, Scalar):
                value = launch.values[parameter.name]
                assert isinstance(value, int)
                self._values[parameter.name] = Value.of(np.full(launch.items, value, np.int64))

    def run(self) -> Outcome:
        self._block(self._program.body, self._alive.copy())
        return self._outcome

    # -- statements

    def _block(self, body: tuple[tree.Stmt, ...], mask: np.ndarray) -> None:
        for statement in body:
            now = mask & self._alive
            if now.any():
                self._statement(statement, now)

    def _statement(self, statement: tree.Stmt, mask: np.ndarray) -> None:
        if isinstance(statement, tree.Slot):
            self._block(statement.body, mask)
            return
        self._line = self._lines[id(statement)]
        if isinstance(statement, tree.Declare):
            self._values[statement.name] = self._value(statement.value, mask)
        elif isinstance(statement, tree.Assign):
            self._assign(statement, mask)
        elif isinstance(statement, tree.DeclareArray):
            if statement.array.name not in self._memories.bounds:
                self._memories.declare(statement.array)
            if statement.values:
                self._memories.initialise(statement.array, statement.values, mask)
        elif isinstance(statement, tree.Store):
            self._store(statement, mask)
        elif isinstance(statement, tree.WriteTexel):
            self._write_texel(statement, mask)
        elif isinstance(statement, tree.For):
            self._loop(statement, mask)
        elif isinstance(statement, tree.If):
            holds = self._decided(self._value(statement.condition, mask), mask)
            self._block(statement.body, mask & holds)
            self._block(statement.otherwise, mask & ~holds)
        elif isinstance(statement, tree.Barrier):
            self._barrier(statement, mask)
        else:
            assert isinstance(statement, tree.Return)
            self._alive &= ~mask

    def _assign(self, statement: tree.Assign, mask: np.ndarray) -> None:
        value = self._value(statement.value, mask)
        old = self._values[statement.name]
        new = value if statement.op == "=" else _binary(statement.op[0], old, value)
        self._values[statement.name] = choose(mask, new, old)

    def _loop(self, loop: tree.For, mask: np.ndarray) -> None:
        self._values[loop.name] = self._value(loop.low, mask)
        line = self._line
        for _ in range(LONGEST):
            self._line = line
            mask = mask & self._alive
            condition = _binary(loop.op, self._values[loop.name], self._value(loop.high, mask))
            mask = mask & self._decided(condition, mask)
            if not mask.any():
                return
            self._block(loop.body, mask)
            at = self._values[loop.name]
            step = Value.of(np.full(self._launch.items, 2 if loop.step == "/2" else loop.step, np.int64))
            self._values[loop.name] = choose(mask, _binary("/" if loop.step == "/2" else "+", at, step), at)
        raise AssertionError("a loop that does not end")

    def _barrier(self, barrier: tree.Barrier, mask: np.ndarray) -> None:
        groups = self._launch.linear["g"]
        arrived = np.bincount(groups, mask, minlength=int(groups.max()) + 1)
        for group in np.flatnonzero((arrived > 0) & (arrived < self._launch.group_items)):
            self._outcome.diverged.append((self._line, int(group)))
            self._outcome.undefined = True
            self._alive &= groups != group  # what the others do until they end is not judged
        self._passed.update(barrier.fences)

    # -- expressions

    def _value(self, e: tree.Expr, mask: np.ndarray) -> Value:
        if isinstance(e, tree.Num):
            return Value.of(np.full(self._launch.items, e.value, np.int64))
        if isinstance(e, tree.Name):
            return self._values[e.name]
        if isinstance(e, tree.Hole):
            return self._noted(e.number, self._value(e.inner, mask), mask)
        if isinstance(e, tree.Binary):
            left = self._value(e.left, mask)
            if e.op in ("&&", "||"):
                right = self._value(e.right, mask & ((left.number != 0) if e.op == "&&" else (left.number == 0)))
            else:
                right = self._value(e.right, mask)
            return _binary(e.op, left, right)
        if isinstance(e, tree.Choose):
            holds = self._decided(self._value(e.condition, mask), mask)
            return choose(holds, self._value(e.yes, mask & holds), self._value(e.no, mask & ~holds))
        if isinstance(e, tree.ReadTexel):
            return self._read_texel(e, mask)
        assert isinstance(e, tree.Load)
        return self._load(e.place, mask)

    def _noted(self, number: int, value: Value, mask: np.ndarray) -> Value:
        n = self._launch.items
        known = self._outcome.holes.setdefault(number, Range(np.full(n, 1 << 40), np.full(n, -(1 << 40))))
        known.low = np.where(mask, np.minimum(known.low, value.number), known.low)
        known.high = np.where(mask, np.maximum(known.high, value.number), known.high)
        return value

    # -- uses

    def _decided(self, condition: Value, mask: np.ndarray) -> np.ndarray:
        """For which work-items a condition holds, on which a branch depends."""
        self._use([condition], mask)
        holds: np.ndarray = condition.number != 0
        return holds

    def _use(self, values: list[Value], mask: np.ndarray) -> None:
        """Notes that a branch or an address depends on values."""
        undefined = mask & np.logical_or.reduce([value.undefined != 0 for value in values])
        if undefined.any():
            items = np.flatnonzero(undefined)
            self._outcome.trace.uses.append(Use(items, np.bitwise_or.reduce([value.origins for value in values])[items]))
            self._outcome.undefined = True

    # -- accesses

    def _load(self, place: tree.Place, mask: np.ndarray) -> Value:
        offsets, inside = self._address(place, mask)
        element = element_of(place)
        nbytes = element.dtype.itemsize * (place.many or element.lanes)
        bound = self._memories.bounds[place.array.name]
        legal = self._check(bound, "read", place.array.space, offsets, inside, nbytes, mask)
        return self._read(bound, offsets, nbytes, element.dtype, legal)

    def _store(self, statement: tree.Store, mask: np.ndarray) -> None:
        place = statement.place
        element = element_of(place)
        lanes = place.many or element.lanes
        value = self._value(statement.value, mask)
        offsets, inside = self._address(place, mask)
        bound = self._memories.bounds[place.array.name]
        legal = self._check(bound, "write", place.array.space, offsets, inside, element.dtype.itemsize * lanes, mask)
        self._write(bound, offsets, value, element.dtype, legal, 0 if statement.whole else lanes)

    def _address(self, place: tree.Place, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The byte offset in the object, and whether every inner index is inside its array."""
        array, inside = place.array, np.ones(self._launch.items, bool)
        values = [self._value(e, mask) for e in (place.shift, *place.indices, place.inner) if e is not None]
        self._use(values, mask)
        shift = 0 if place.shift is None else values[0].number
        indices = [value.number for value in values[0 if place.shift is None else 1 :][: len(place.indices)]]
        element = array.element
        if place.many:
            return (shift + indices[0] * place.many) * element.nbytes, inside  # type: ignore[return-value]
        linear = shift + indices[0]
        for extent, index in zip(array.dims[1:], indices[1:], strict=True):
            linear = linear * extent + index
            inside &= (index >= 0) & (index < extent)
        offsets = linear * element.nbytes
        if isinstance(element, Struct):
            of_field, count = element.element_of(place.field)
            offsets = offsets + element.offset_of(place.field)
            if place.inner is not None:
                inner = values[-1].number
                offsets = offsets + inner * of_field.nbytes
                inside &= (inner >= 0) & (inner < count)
        return offsets, inside

    def _check(
        self, bound: Bound, how: str, space: str, offsets: np.ndarray, inside: np.ndarray, nbytes: int, mask: np.ndarray
    ) -> np.ndarray:
        """Notes what is out of range; returns which work-items access the object."""
        fits = (offsets >= 0) & (offsets + nbytes <= bound.nbytes)
        self._violate(f"out-of-bounds-{how}", bound, mask & ~fits, offsets)
        self._violate("sub-object-overrun", bound, mask & fits & ~inside, offsets)
        return mask & fits

    def _violate(self, kind: str, bound: Bound, mask: np.ndarray, offsets: np.ndarray) -> None:
        for item in np.flatnonzero(mask):
            self._memories.violations.append(Violation(kind, self._line, bound.name, bound.space, int(item), int(offsets[item])))

    def _read(
        self, bound: Bound, offsets: np.ndarray, nbytes: int, dtype: np.dtype, mask: np.ndarray, texels: np.ndarray | None = None
    ) -> Value:
        """Reads numbers, whose sum is the value. texels: their coordinates, in an image."""
        items = np.flatnonzero(mask)
        starts, instances = bound.base + offsets[items], bound.instance[items]
        at = starts[:, None] + np.arange(nbytes)
        data = bound.room.contents[instances[:, None], at]
        self._event(bound, False, items, instances, starts, nbytes, None, data)
        value = Value.of(np.zeros(self._launch.items, np.int64))
        numbers = data.view(dtype)
        if (
            dtype.kind == "f" and not (abs(numbers.astype(np.float64)) < 1 << 31).all()
        ):  # bytes of another field, which no int holds
            self._outcome.undefined = True
            numbers = np.zeros_like(numbers)
        value.number[items] = numbers.astype(np.int64).sum(axis=1)
        bits = of_lanes(bound.room.undefined[instances[:, None], at], dtype)
        if not bits.any():
            return value
        lacking = bits != 0
        where: list[Where] = (
            [(offset, None) for offset in offsets[items[lacking]].tolist()]
            if texels is None
            else [(None, tuple(place)) for place in texels[items[lacking]].tolist()]
        )
        value = Value(value.number, value.undefined.copy(), value.origins.copy())
        value.undefined[items] = bits
        value.origins[items[lacking]] = self._outcome.trace.note_read(self._line, bound, items[lacking], where)
        return value

    def _write(self, bound: Bound, offsets: np.ndarray, value: Value, dtype: np.dtype, mask: np.ndarray, lanes: int) -> None:
        """Writes value, value + 1, ... modulo 64 in so many lanes; 0: one lane, as it is."""
        items = np.flatnonzero(mask)
        numbers, undefined = value.number[items, None], value.undefined[items, None]
        if lanes:
            numbers = (numbers + np.arange(lanes)) & 63
            undefined = np.repeat(smear(undefined) & 63, lanes, axis=1)
        data = np.ascontiguousarray(numbers.astype(dtype)).view(np.uint8)
        starts, instances = bound.base + offsets[items], bound.instance[items]
        at = starts[:, None] + np.arange(data.shape[1])
        before = bound.room.contents[instances[:, None], at]
        bits = as_bytes(undefined, dtype)
        bound.room.contents[instances[:, None], at] = data
        bound.room.undefined[instances[:, None], at] = bits
        lacking = bits.any(axis=1)
        if bound.space in ("global", "image") and lacking.any():
            left = bound, instances[lacking], starts[lacking], data.shape[1]
            self._outcome.trace.uses.append(Use(items[lacking], value.origins[items[lacking]], left))
        self._event(bound, True, items, instances, starts, data.shape[1], data, before)

    def _event(
        self, bound: Bound, writes: bool, items: np.ndarray, instances: np.ndarray, starts: np.ndarray, nbytes: int,
        values: np.ndarray | None, before: np.ndarray,
    ) -> None:  # fmt: skip
        if bound.space != "private" and len(items):
            interval = self._passed[FENCE_OF[bound.space]]
            self._memories.events.append(
                Event(bound, self._line, writes, items, instances, starts, nbytes, interval, values, before)
            )

    # -- images

    def _texels(self, image: Image, coordinates: tuple[tree.Expr, ...], mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates by work-item, and whether they are inside."""
        values = [self._value(c, mask) for c in coordinates]
        self._use(values, mask)
        at = np.array([value.number for value in values]).T
        return at, _are_inside(image, at)

    def _read_texel(self, e: tree.ReadTexel, mask: np.ndarray) -> Value:
        at, inside = self._texels(e.image, e.coordinates, mask)
        if e.sampler and e.image.kind.endswith("_array"):  # the layer of a read with a sampler is clamped
            at[:, -1] = np.clip(at[:, -1], 0, e.image.extents[-1] - 1)
            inside = _are_inside(e.image, at)
        self._violate_texel("image-read-out-of-range", e.image, mask & ~inside, at)
        self._outcome.undefined |= bool((mask & ~inside).any())
        bound = self._memories.bounds[e.image.name]
        return self._read(bound, _texel_offset(e.image, at), e.image.texel_bytes, e.image.dtype, mask & inside, at)

    def _write_texel(self, statement: tree.WriteTexel, mask: np.ndarray) -> None:
        image = statement.image
        value = self._value(statement.value, mask)
        at, inside = self._texels(image, statement.coordinates, mask)
        self._violate_texel("image-write-out-of-range", image, mask & ~inside, at)
        bound = self._memories.bounds[image.name]
        self._write(bound, _texel_offset(image, at), value, image.dtype, mask & inside, image.channels)

    def _violate_texel(self, kind: str, image: Image, mask: np.ndarray, at: np.ndarray) -> None:
        for item in np.flatnonzero(mask):
            where = tuple(int(c) for c in at[item])
            self._memories.violations.append(Violation(kind, self._line, image.name, "image", int(item), None, where))


def _are_inside(image: Image, at: np.ndarray) -> np.ndarray:
    inside: np.ndarray = ((at >= 0) & (at < np.array(image.extents))).all(axis=1)
    return inside


def _texel_offset(image: Image, at: np.ndarray) -> np.ndarray:
    """The texel's first byte, texels lying densely."""
    width, height, _ = image.size
    padded = np.zeros((len(at), 3), np.int64)
    padded[:, : at.shape[1]] = at
    x, y, z = padded.T
    if image.kind == "image1d_array":
        y, z = 0 * y, y
    offset: np.ndarray = ((z * height + y) * width + x) * image.texel_bytes
    return offset


def _divide(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.sign(left) * (np.abs(left) // np.where(right == 0, 1, right))


def _remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.fmod(left, np.where(right == 0, 1, right))


def _binary(op: str, left: Value, right: Value) -> Value:
    return combine(op, _BINARY[op](left.number, right.number), (left, right))


_BINARY = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
    "%": _remainder,
    "&": np.bitwise_and,
    "^": np.bitwise_xor,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "&&": np.logical_and,
    "||": np.logical_or,
}
"""Of C: / and % round to zero. A divisor is never negative."""
