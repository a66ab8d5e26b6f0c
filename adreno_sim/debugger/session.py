"""One debugging session: a launch that runs to moments, forwards and backwards, and what is asked of it there.

A moment is the count of statements that all work-items have begun. Going back is running to a smaller count again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ..base.errors import AdrenoSimError
from ..base.text.line_markers import number_lines
from ..engine.abi import debugging as abi
from ..engine.abi.debug_table import Point
from ..engine.run.debugged import StoreRecord, Watch
from ..records import dataclass
from .breakpoints import Breakpoint, Wanted
from .frames import Frame, ItemScope, frames_of
from .items import Grid
from .memory import LaunchMemory
from .open import Debuggee
from .values import DebugError, NoValueError, Value

State = Literal["not begun", "stopped", "ended"]
Step = Literal["in", "over", "out"]


@dataclass(frozen=True)
class Writer:
    """A store to an element: when, by whom (global ids), at which line, and what the element then was."""

    count: int
    ids: tuple[int, int, int]
    point: Point
    value: Value


class DebugSession:
    """A launch under the debugger. seconds: how long it may run from one stop to the next, None = until it is
    interrupted.

    reason: why it stopped, in words. lane: the inspected work-item; frame: which of its functions, 0 = the innermost.
    """

    def __init__(self, debuggee: Debuggee, seconds: float | None = 60.0):
        launch = debuggee.launch
        self.debuggee, self.launch, self.run, self.seconds = debuggee, launch, launch.run, seconds
        self.grid = Grid(launch.total, launch.group, launch.offset, launch.dimensions)
        self.memory = LaunchMemory(launch, list(debuggee.names))
        self.lines = number_lines(debuggee.text)
        self.breakpoints: dict[int, Breakpoint] = {}
        self.state: State = "not begun"
        self.reason = ""
        self.lane = self.frame = 0
        self._made = 0

    # Breakpoints

    def add_breakpoint(self, wanted: Wanted) -> Breakpoint:
        """Adds a breakpoint, at the next line that has code. DebugError if there is none, or no such work-item."""
        item = None
        if wanted.item:
            item = self.grid.find(wanted.item)
            if item is None:
                shown = ", ".join(map(str, wanted.item))
                raise DebugError(f"item {shown}: no work-item of the global size {self.grid.show(self.grid.total)}")
        line = self.find_line(wanted.file, wanted.line) if wanted.line else 0
        if wanted.line and not line:
            raise DebugError(f"break {wanted.text}: no code of the kernel lies at this line or behind it")
        self._made += 1
        made = Breakpoint(self._made, wanted.file, line, wanted.finding, item, wanted.condition, wanted.text)
        self.breakpoints[made.number] = made
        self._set_flags()
        return made

    def find_line(self, file: str, line: int) -> int:
        """Returns the first line from `line` on at which a statement begins, 0 if there is none."""
        lines = [point.line for point in self.run.table.points if self._is_in(point, file) and point.line >= line]
        return min(lines, default=0)

    def delete_breakpoint(self, number: int) -> None:
        """DebugError if there is none of this number."""
        if self.breakpoints.pop(number, None) is None:
            raise DebugError(f"no breakpoint {number}: there are {', '.join(map(str, self.breakpoints)) or 'none'}")
        self._set_flags()

    def _is_in(self, point: Point, file: str) -> bool:
        own = self.debuggee.path
        return point.file in ("", own) if file in ("", own) or own.endswith("/" + file) else point.file.endswith(file)

    def _set_flags(self) -> None:
        """Has the launch ask at the points of breakpoints."""
        self.run.flags[:] = 0
        for number, point in enumerate(self.run.table.points, 1):
            self.run.flags[number] = any(b.line == point.line and self._is_in(point, b.file) for b in self.breakpoints.values())
        self._set_words()

    def _set_words(self) -> None:
        self.run.words[abi.DEBUG_BEGINNINGS] = any(not b.line and not b.finding for b in self.breakpoints.values())
        self.run.words[abi.DEBUG_AT_FINDINGS] = any(b.finding for b in self.breakpoints.values())

    def _hit(self, reason: int) -> str:
        """Returns which breakpoint the launch has come to, in words; "" for none."""
        words = self.run.words
        before, now = int(words[abi.DEBUG_BEFORE]), int(words[abi.DEBUG_POINT])
        begins = reason == abi.ASKED_AT_POINT and self.run.table.begins_statement(before, now)
        for breakpoint in self.breakpoints.values():
            if breakpoint.item not in (None, (self.run.group, self.run.lane)):
                continue
            if breakpoint.finding:
                if reason != abi.ASKED_AT_FINDING:
                    continue
            elif not begins or not self._is_at(breakpoint, before, self.run.table.point(now)):
                continue
            if breakpoint.condition is not None and not self._holds(breakpoint):
                continue
            return f"finding {self.finding}" if breakpoint.finding else f"breakpoint {breakpoint.number}"
        return ""

    def _is_at(self, breakpoint: Breakpoint, before: int, point: Point) -> bool:
        if not breakpoint.line:
            return before == abi.NOT_BEGUN
        return breakpoint.line == point.line and self._is_in(point, breakpoint.file)

    def _holds(self, breakpoint: Breakpoint) -> bool:
        assert breakpoint.condition is not None
        try:
            return bool(breakpoint.condition.value(self._scope(self.run.lane, 0)).number)
        except NoValueError:
            return False
        except DebugError as error:
            raise DebugError(f"condition of breakpoint {breakpoint.number}: {error}") from None

    @property
    def finding(self) -> str:
        """The finding that was reported last."""
        site = self.run.site(int(self.run.words[abi.DEBUG_FINDING]) - 1)
        return f"{site.kind.label} at {site.loc.line}:{site.loc.column}"

    # Running

    def restart(self) -> None:
        """Puts the launch back to its beginning."""
        self.run.start()
        self._set_words()
        self.state, self.reason = "not begun", ""

    def resume(self) -> None:
        """Runs to the next breakpoint, or to the end."""
        self._forwards(lambda reason: self._hit(reason))

    def step(self, how: Step = "in") -> None:
        """Runs the work-item to its next statement: in helpers too, over them, or out of the one it is in. At its end, to the
        first statement of the next one."""
        if self.state == "not begun":
            self._forwards(lambda reason: "start" if reason == abi.ASKED_AT_POINT else "", at=1)
            return
        self.require_stop()
        depth = len(self.point.callers) - (how == "out")
        self.run.words[abi.DEBUG_STEPPING] = self.run.lane + 1
        group, lane = self.run.group, self.run.lane

        def decide(reason: int) -> str:
            hit = self._hit(reason)
            if hit or reason != abi.ASKED_AT_POINT:
                return hit
            if (self.run.group, self.run.lane) != (group, lane):
                gone = self.run.words[abi.DEBUG_STEPPING] == 0
                return "next work-item" if gone and self.run.count == int(self.run.words[abi.DEBUG_AT]) else ""
            return "step" if self._begins() and (how == "in" or len(self.point.callers) <= depth) else ""

        self._forwards(decide)

    def back(self, over: bool = False) -> None:
        """Goes back to the statement that the work-item began before; over: not to one in a helper that it called. From the end
        of the launch, to its last statement."""
        if self.state == "ended":
            self.go_to(self.run.count)
            return
        self.require_stop()
        before, depth = 0, len(self.point.callers)
        for count, point in self._statements_of_item():
            if not over or len(point.callers) <= depth:
                before = count
        if not before and self.run.count <= 1:
            raise DebugError("this is the beginning of the launch")
        self.go_to(before or self.run.count - 1, "back")

    def resume_back(self) -> None:
        """Goes back to the last breakpoint before this moment, or to the beginning of the launch."""
        now, found = self.run.count + (self.state == "ended"), [(1, "beginning of the launch")]
        self._require_begun()

        def look(reason: int) -> bool:
            if reason == abi.ASKED_AT_POINT and self.run.count >= now:
                return True
            hit = self._hit(reason)
            if hit:
                found[0] = self.run.count, hit
            return False

        self._again(now, look, whole=True)
        self.go_to(*found[0])

    def go_to(self, count: int, reason: str = "") -> None:
        """Runs to the moment `count`. DebugError if the launch ends before."""
        if count < 1:
            raise DebugError(f"moment {count}: the first is 1")
        self._again(count, lambda reason: reason == abi.ASKED_AT_POINT and self.run.count >= count)
        self._arrive((reason or "goto") if self.run.count == count else "interrupted")
        if self.run.ended:
            raise DebugError(f"moment {count}: the launch has {self.run.count} statements")

    def _statements_of_item(self) -> list[tuple[int, Point]]:
        """Returns the statements that the work-item began before this moment, which are then gone through once more."""
        now, group, lane = self.run.count, self.run.group, self.run.lane
        found: list[tuple[int, Point]] = []

        def look(reason: int) -> bool:
            if reason == abi.ASKED_AT_GROUP:
                self.run.words[abi.DEBUG_STEPPING] = lane + 1
            elif reason == abi.ASKED_AT_POINT and self.run.count >= now:
                return True
            elif reason == abi.ASKED_AT_POINT and (self.run.group, self.run.lane) == (group, lane) and self._begins():
                found.append((self.run.count, self.point))
            return False

        self._again(now, look)
        return found

    def _again(self, count: int, look: Callable[[int], bool], whole: bool = False) -> None:
        """Runs once more until `look` stops it, which is asked at the moment `count`, and before the group that now runs: from a
        checkpoint, or the whole launch."""
        group = self.run.group
        self.run.start(0 if whole else count)
        self._set_words()
        self.run.words[abi.DEBUG_AT] = count
        if group >= 0:
            self.run.stop_before(group)
        self.run.decide = look
        self._go()

    def _forwards(self, find: Callable[[int], str], at: int = 0) -> None:
        if self.state == "ended":
            raise DebugError("the launch has ended: back goes to its last statement, restart to its beginning")
        if self.state == "not begun":
            self.run.start()
            self._set_words()
        if at:
            self.run.words[abi.DEBUG_AT] = at
        found = [""]

        def decide(reason: int) -> bool:
            found[0] = find(reason)
            return bool(found[0])

        self.run.decide = decide
        self._go()
        self._arrive(found[0])

    def _go(self) -> None:
        self.run.go(self.seconds)
        self.run.words[abi.DEBUG_STEPPING] = 0
        if self.run.error is not None:
            error, self.run.error = self.run.error, None
            self._arrive("an error")
            if isinstance(error, (DebugError, AdrenoSimError)):
                raise DebugError(str(error)) from None
            raise error

    def _arrive(self, reason: str) -> None:
        self.state = "ended" if self.run.ended else "stopped"
        self.reason = "" if self.run.ended else reason or "interrupted"
        self.lane, self.frame = self.run.lane, 0

    def close(self) -> None:
        """Ends the launch."""
        self.run.close()

    # Looking

    @property
    def point(self) -> Point:
        """The point that the running work-item came to last."""
        return self.run.table.point(int(self.run.words[abi.DEBUG_POINT]))

    def _begins(self) -> bool:
        words = self.run.words
        return self.run.table.begins_statement(int(words[abi.DEBUG_BEFORE]), int(words[abi.DEBUG_POINT]))

    def place_of(self, lane: int) -> int:
        """Returns the point that a work-item of the group is at, or `abi.NOT_BEGUN` or `abi.FINISHED`."""
        return int.from_bytes(self.run.read(self.run.table.places_at + 8 * lane, 8), "little")

    def frames(self, lane: int | None = None) -> list[Frame]:
        """Returns the functions that a work-item is in, innermost first; none of one that has not begun or is finished."""
        if self.state != "stopped":
            return []
        place = self.place_of(self.lane if lane is None else lane)
        return [] if place in (abi.NOT_BEGUN, abi.FINISHED) else frames_of(self.launch, self.run.table.point(place))

    def scope(self, lane: int | None = None, frame: int | None = None) -> ItemScope:
        """Returns what names mean to a work-item of the group, by default the inspected one."""
        if self.state != "stopped":
            return ItemScope(self.launch, self.memory, self.grid, None, None)
        return self._scope(self.lane if lane is None else lane, self.frame if frame is None else frame)

    def _scope(self, lane: int, frame: int) -> ItemScope:
        place = self.place_of(lane)
        if place == abi.NOT_BEGUN:
            return ItemScope(self.launch, self.memory, self.grid, None, None)
        point = self.run.table.points[-1] if place == abi.FINISHED else self.run.table.point(place)
        frames = frames_of(self.launch, point)
        return ItemScope(self.launch, self.memory, self.grid, lane, frames[min(frame, len(frames) - 1)])

    def find_writers(self, value: Value) -> tuple[list[Writer], int]:
        """Returns the stores to an element before this moment, in order, and how many there were: of many the last. The launch
        runs once more for it. DebugError for a value that lies nowhere."""
        if value.address is None:
            raise DebugError("expected an element of a buffer, of local memory, or a texel of an image")
        self._require_begun()
        ended, count, reason, lane = self.state == "ended", self.run.count, self.reason, self.lane
        group = self.run.group
        self.run.start()
        self._set_words()
        self.run.words[abi.DEBUG_AT] = 0 if ended else count
        self.run.watch(Watch(value.address, value.address + max(1, value.type.nbytes), value.local))
        self.run.decide = lambda why: not ended and why == abi.ASKED_AT_POINT and self.run.count >= count
        self._go()
        stores, number = self.run.stores()
        self._arrive(reason)
        self.lane = lane if not ended else self.lane
        mine = [store for store in stores if not value.local or store.group == group]
        return [self._writer(store, value) for store in mine], number if not value.local else len(mine)

    def _writer(self, store: StoreRecord, value: Value) -> Writer:
        ids = self.grid.global_ids(store.group, store.lane)
        return Writer(store.count, ids, self.run.table.point(store.point), replace(value, data=store.value[: value.type.nbytes]))

    def require_stop(self) -> None:
        """DebugError unless a work-item waits."""
        if self.state != "stopped":
            raise DebugError("the launch has ended" if self.state == "ended" else "the launch has not begun: step, or continue")

    def _require_begun(self) -> None:
        if self.state == "not begun":
            raise DebugError("the launch has not begun: step, or continue")
