"""The picture of a memory plan: time to the right, bytes upwards, a rectangle for each tensor.

A `Scene` is the picture as shapes in pixels; plan_svg and plan_png draw it.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

from ...records import dataclass

if TYPE_CHECKING:
    from ...compiler.plan.allocation import Allocation
    from ...compiler.plan.problem import Item

WIDTH, HEIGHT = 1200, 760
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 92, 96
STRIP = 92
"""Height of the panel of live bytes, under that of the tensors."""

GAP = 26

COLOURS = {
    "global.texture": "#4e79a7", "global.texture-weight": "#f28e2b", "global.texture-nhwc": "#59a14f", "global": "#b07aa1",
}  # fmt: skip
OTHER = "#9c9ca4"
INK, SOFT, GRID, PAPER = "#1f2328", "#59636e", "#e4e7eb", "#ffffff"
PEAK, BOUND, LIVE = "#d1242f", "#1f2328", "#6e7781"

SMALLEST = 1.0
"""Pixels below which the rectangles of a crowded picture become cells of a grid."""

CELL = 4
"""Pixels of such a cell."""

CROWDED = 4_000
"""Tensors from which a picture is crowded."""


@dataclass(frozen=True)
class Rect:
    """x, y of the upper left corner, all in pixels. title: shown on hover. opacity of the fill."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    opacity: float = 1.0
    title: str = ""
    outline: str = ""


@dataclass(frozen=True)
class Line:
    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0
    dashes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Text:
    """Text whose anchor ("start", "middle", "end") is at x on baseline y. upwards: turned by a quarter."""

    x: float
    y: float
    text: str
    size: int = 13
    colour: str = INK
    anchor: str = "start"
    bold: bool = False
    upwards: bool = False


@dataclass
class Scene:
    """Shapes in the order in which they are drawn."""

    width: int
    height: int
    title: str
    shapes: list[Rect | Line | Text] = field(default_factory=list)


@dataclass(frozen=True)
class Picture:
    """What is drawn: an allocation, where its tensors came from, how sizes were computed."""

    allocation: Allocation
    source: str
    rule: str


def colour_of(scope: str) -> str:
    return COLOURS.get(scope, OTHER)


def bases(allocation: Allocation) -> list[int]:
    """Storages stacked one above the other: the byte at which each begins in the picture."""
    starts, total = [], 0
    for size in allocation.storages:
        starts.append(total)
        total += size
    return starts


def live_curve(items: tuple[Item, ...]) -> list[tuple[int, int]]:
    """(time, bytes live from then on) at each time that changes them."""
    changes: dict[int, int] = {}
    for item in items:
        changes[item.start] = changes.get(item.start, 0) + item.size
        changes[item.end] = changes.get(item.end, 0) - item.size
    live, curve = 0, []
    for time in sorted(changes):
        live += changes[time]
        curve.append((time, live))
    return curve


def time_axis(items: tuple[Item, ...]) -> str:
    """What times are: tensors of a model count VM instructions, traces count what they like."""
    return "time (VM instruction)" if any(item.shape for item in items) else "time"


def unit_of(largest: int) -> tuple[int, str]:
    """Bytes of the unit that an axis up to `largest` bytes counts in, and its name."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if largest >= unit:
            return unit, name
    return 1, "bytes"


def ticks(low: float, high: float, about: int) -> list[float]:
    """Some `about` round numbers from `low` to `high`."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def describe(item: Item, storage: int, offset: int) -> str:
    """Lines of text on a tensor: shape and type, storage and offset, padding."""
    dense = item.dense or item.size
    shape = f"{item.dtype} {'x'.join(map(str, item.shape))}, {item.scope}\n" if item.shape else ""
    return (
        f"{item.id}\n{shape}{item.size:,} bytes with {item.size - dense:,} of padding\n"
        f"storage {storage}, offset {offset:,}\nlive from {item.start} to {item.last}"
    )


def scene_of(picture: Picture) -> Scene:
    """The picture in pixels."""
    return _Painter(picture).paint()


class _Painter:
    """Turns times and bytes into pixels."""

    def __init__(self, picture: Picture):
        self.picture = picture
        self.allocation = picture.allocation
        items = self.allocation.problem.items
        self.start = min((item.start for item in items), default=0)
        self.end = max((item.end for item in items), default=1)
        self.bound = self.allocation.problem.lower_bound(self.allocation.unit)
        self.most = max(self.allocation.total, self.bound, 1)
        self.floor = HEIGHT - BOTTOM - STRIP - GAP
        self.scene = Scene(WIDTH, HEIGHT, f"{picture.source}: memory plan {self.allocation.planner}")

    def x(self, time: float) -> float:
        return LEFT + (time - self.start) / (self.end - self.start) * (WIDTH - LEFT - RIGHT)

    def y(self, nbytes: float) -> float:
        return self.floor - nbytes / (self.most * 1.04) * (self.floor - TOP)

    def paint(self) -> Scene:
        self._heading()
        self._axes()
        self._storages()
        self._tensors()
        self._limits()
        self._live()
        self._legend()
        return self.scene

    def add(self, *shapes: Rect | Line | Text) -> None:
        self.scene.shapes += shapes

    def _heading(self) -> None:
        allocation, bound = self.allocation, self.bound
        ratio = f", {allocation.total / bound:.3f} x the lower bound" if bound else ""
        count, storages = len(allocation.problem.items), len(allocation.storages)
        self.add(Rect(0, 0, WIDTH, HEIGHT, PAPER))
        self.add(Text(LEFT, 32, self.scene.title, 19, bold=True))
        self.add(
            Text(LEFT, 54, f"{allocation.total:,} bytes in {storages} storage{'s'[: storages != 1]}{ratio}; {count} tensors; "
                 f"{self.picture.rule}", 13, SOFT)
        )  # fmt: skip

    def _axes(self) -> None:
        unit, name = unit_of(self.most)
        for value in ticks(0, self.most * 1.04 / unit, 8):
            height = self.y(value * unit)
            self.add(Line(((LEFT, height), (WIDTH - RIGHT, height)), GRID))
            self.add(Text(LEFT - 8, height + 4, f"{value:g}", 12, SOFT, "end"))
        for value in ticks(self.start, self.end, 10):
            if value == int(value):
                place = self.x(value)
                self.add(Line(((place, HEIGHT - BOTTOM), (place, HEIGHT - BOTTOM + 5)), SOFT))
                self.add(Text(place, HEIGHT - BOTTOM + 20, f"{int(value)}", 12, SOFT, "middle"))
        self.add(Text(24, (TOP + self.floor) / 2, f"offset ({name})", 13, INK, "middle", upwards=True))
        time = time_axis(self.allocation.problem.items)
        self.add(Text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 42, time, 13, INK, "middle"))
        self.add(Line(((LEFT, self.floor), (WIDTH - RIGHT, self.floor)), INK, 1.2))
        self.add(Line(((LEFT, TOP - 6), (LEFT, self.floor)), INK, 1.2))

    def _storages(self) -> None:
        """A line under each storage but the first."""
        for base in bases(self.allocation)[1:]:
            self.add(Line(((LEFT, self.y(base)), (WIDTH - RIGHT, self.y(base))), SOFT, 1.0, (1, 3)))

    def _tensors(self) -> None:
        items, starts = self.allocation.problem.items, bases(self.allocation)
        crowded, small = len(items) > CROWDED, dict[int, dict[int, str]]()
        for number, item in enumerate(items):
            storage, offset = self.allocation.storage_of[number], self.allocation.offsets[number]
            left, right = self.x(item.start), self.x(item.end)
            low, high = self.y(starts[storage] + offset), self.y(starts[storage] + offset + item.size)
            if crowded and (right - left < SMALLEST or low - high < SMALLEST):
                for row in range(int(high) // CELL, int(low) // CELL + 1):
                    small.setdefault(row, {})[int(left) // CELL] = colour_of(item.scope)
                continue
            title = "" if crowded else describe(item, storage, offset)
            shade = 0.95 if number % 2 else 0.78
            self.add(Rect(left, high, right - left, low - high, colour_of(item.scope), shade, title, PAPER))
            self._padding(item, left, right, low, high)
            self._label(item, left, right, low, high)
        self._cells(small)

    def _cells(self, rows: dict[int, dict[int, str]]) -> None:
        """Cells that small tensors touch, neighbours of one colour as one rectangle."""
        for row, cells in rows.items():
            columns = sorted(cells)
            start = 0
            for end in range(1, len(columns) + 1):
                first, colour = columns[start], cells[columns[start]]
                if end < len(columns) and columns[end] == columns[end - 1] + 1 and cells[columns[end]] == colour:
                    continue
                self.add(Rect(first * CELL, row * CELL, (columns[end - 1] + 1 - first) * CELL, CELL, colour, 0.8))
                start = end

    def _padding(self, item: Item, left: float, right: float, low: float, high: float) -> None:
        """What of a tensor is padding, as a pale band at its upper end."""
        band = (low - high) * (item.size - (item.dense or item.size)) / item.size
        if band >= 0.5:
            self.add(Rect(left, high, right - left, band, PAPER, 0.55))

    def _label(self, item: Item, left: float, right: float, low: float, high: float) -> None:
        if low - high < 14 or right - left < 7.2 * len(item.id) + 8:
            return
        shape = "x".join(map(str, item.shape))
        wide = right - left > 6.8 * (len(item.id) + len(shape) + 2)
        self.add(Text((left + right) / 2, (low + high) / 2 + 4, f"{item.id}  {shape}" if wide else item.id, 11, PAPER, "middle"))

    def _limits(self) -> None:
        """Where the plan ends, and where the least any plan needs does; one line where these are one."""
        unit, name = unit_of(self.most)
        peak, bound = self.y(self.allocation.total), self.y(self.bound)
        said = f"{self.allocation.total / unit:.2f} {name}"
        if abs(peak - bound) < 2:
            self._limit(peak, PEAK, (9, 4), f"plan = lower bound: {said}")
            return
        self._limit(peak, PEAK, (), f"plan: {said}")
        self._limit(bound, BOUND, (9, 4), f"lower bound: {self.bound / unit:.2f} {name}")

    def _limit(self, height: float, colour: str, dashes: tuple[int, ...], text: str) -> None:
        self.add(Line(((LEFT, height), (WIDTH - RIGHT, height)), colour, 1.8, dashes))
        width = 7.0 * len(text) + 10
        self.add(Rect(WIDTH - RIGHT - width, height - 21, width, 17, PAPER, 0.85))
        self.add(Text(WIDTH - RIGHT - 5, height - 7, text, 13, colour, "end"))

    def _live(self) -> None:
        """Bytes live at each time, in a separate panel."""
        base, most = HEIGHT - BOTTOM, max(self.bound, 1) * 1.12
        curve, live = live_curve(self.allocation.problem.items), 0
        points: list[tuple[float, float]] = []
        for time, after in curve:
            points += [(self.x(time), base - live / most * STRIP), (self.x(time), base - after / most * STRIP)]
            live = after
        for left, high, width in _columns(points):
            if width > 0 and base > high:
                self.add(Rect(left, high, width, base - high, LIVE, 0.25))
        if points:
            self.add(Line(tuple(_thin(points)), LIVE, 1.4))
        height = base - self.bound / most * STRIP
        self.add(Line(((LEFT, height), (WIDTH - RIGHT, height)), BOUND, 1.4, (9, 4)))
        unit, name = unit_of(self.most)
        for value in ticks(0, self.bound / unit, 2):
            self.add(Text(LEFT - 8, base - value * unit / most * STRIP + 4, f"{value:g}", 12, SOFT, "end"))
        self.add(Text(24, base - STRIP / 2, f"live ({name})", 13, INK, "middle", upwards=True))
        self.add(Line(((LEFT, base), (WIDTH - RIGHT, base)), INK, 1.2), Line(((LEFT, base - STRIP), (LEFT, base)), INK, 1.2))

    def _legend(self) -> None:
        """Below the picture: scopes that occur, padding, the dashed line."""
        items = self.allocation.problem.items
        place, base = float(LEFT), HEIGHT - 18
        for scope in sorted({item.scope for item in items}):
            self.add(Rect(place, base - 11, 14, 13, colour_of(scope), 0.9), Text(place + 20, base, scope))
            place += 20 + 7.2 * len(scope) + 22
        if any(item.dense and item.dense < item.size for item in items):
            self.add(Rect(place, base - 11, 14, 13, OTHER, 0.9), Rect(place, base - 11, 14, 7, PAPER, 0.55))
            self.add(Text(place + 20, base, "padding"))
            place += 92
        self.add(Line(((place, base - 4), (place + 28, base - 4)), BOUND, 1.8, (9, 4)))
        self.add(Text(place + 35, base, "lower bound: most bytes live at one time"))


def _columns(points: list[tuple[float, float]], most: int = 4000) -> list[tuple[float, float, float]]:
    """(left, top, width) of the columns under a curve of steps; of very many, the highest of each pixel."""
    pairs = list(zip(points[1::2], points[2::2], strict=False))
    if len(pairs) <= most:
        return [(left, high, right - left) for (left, _), (right, high) in pairs]
    tops: dict[int, float] = {}
    for (left, _), (right, high) in pairs:
        for column in range(int(left), max(int(right), int(left) + 1)):
            tops[column] = min(high, tops.get(column, high))
    return [(float(column), high, 1.0) for column, high in sorted(tops.items())]


def _thin(points: list[tuple[float, float]], most: int = 4000) -> list[tuple[float, float]]:
    """Up to `most` points unchanged; of more, the lowest and the highest in each column half a unit wide."""
    if len(points) <= most:
        return points
    kept: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        kept.setdefault(int(point[0] * 2), []).append(point)
    out = []
    for column in kept.values():
        low, high = min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1])
        out += [low, high] if low[0] <= high[0] else [high, low]
    return out
