"""What a session shows, as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ..engine.abi import debugging as abi
from ..results import finding_text
from .expressions import Expression
from .session import DebugSession
from .values import DebugError, Value, show

AROUND = 4
"""Lines of the source above and below the one that is shown."""
MOST_STORES = 20
"""Stores to an element that are listed: the last."""


def where_it_stands(session: DebugSession) -> list[str]:
    """Where the launch stopped and why, with the line of the source; at its end, what it found."""
    if session.state == "ended":
        return _ending(session)
    if session.state == "not begun":
        return [f"kernel {session.launch.kernel.name} of {session.debuggee.path} has not begun"]
    frame = session.frames(session.run.lane)[0]
    head = f"{session.reason}: {place(session, frame.file, frame.line)} in {item_name(session, session.run.lane)}"
    return [f"{head}, moment {session.run.count}", *source_line(session, frame.file, frame.line)]


def _ending(session: DebugSession) -> list[str]:
    lines = [f"the launch ended after {session.run.count} statements"]
    if session.run.printed:
        lines += ["printed:", *session.run.printed.rstrip("\n").split("\n")]
    for finding in session.run.findings:
        lines += finding_text.lines(finding)
    return lines


def place(session: DebugSession, file: str, line: int) -> str:
    return f"{file or session.debuggee.path}:{line}"


def source_line(session: DebugSession, file: str, line: int, mark: str = " ") -> list[str]:
    """The line with its number; nothing of another file."""
    text = session.lines.get(line)
    return [] if file or text is None else [f"{mark}{line:4}  {text.rstrip()}"]


def item_name(session: DebugSession, lane: int) -> str:
    """A work-item of the group that runs, by its ids."""
    grid, group = session.grid, session.run.group
    local, of = grid.show(grid.local_ids(group, lane)), grid.show(grid.group_ids(group))
    return f"work-item {grid.show(grid.global_ids(group, lane))} [local {local}, group {of}]"


def listing(session: DebugSession, line: int = 0) -> list[str]:
    """The source around a line, or around the line of the inspected work-item."""
    frames = session.frames()
    here = frames[min(session.frame, len(frames) - 1)].line if frames else 0
    middle = line or here or session.launch.function.loc.line or 1
    lines: list[str] = []
    for number in range(max(1, middle - AROUND), middle + AROUND + 1):
        lines += source_line(session, "", number, ">" if number == here else " ")
    return lines or [f"no line {middle} in {session.debuggee.path}"]


def stack(session: DebugSession) -> list[str]:
    """The functions that the work-item is in."""
    frames = session.frames()
    if not frames:
        return [
            f"{item_name(session, session.lane)}: {_state(session, session.lane)}"
            if session.state == "stopped"
            else session.state
        ]
    lines = [item_name(session, session.lane)]
    for number, frame in enumerate(frames):
        mark = ">" if number == session.frame else " "
        lines.append(f"{mark} {number}  {frame.function} at {place(session, frame.file, frame.line)}")
    return lines


def items(session: DebugSession) -> list[str]:
    """Where each work-item of the group is; neighbours at one place share a line."""
    count = session.grid.items_of(session.run.group)
    states = [(lane, _state(session, lane)) for lane in range(count)]
    group = session.grid.show(session.grid.group_ids(session.run.group))
    return [f"group {group}, {count} work-items", *(f"  {lanes}: {state}" for lanes, state in _in_ranges(states))]


def _state(session: DebugSession, lane: int) -> str:
    at = session.place_of(lane)
    if at == abi.NOT_BEGUN:
        return "has not begun"
    if at == abi.FINISHED:
        return "is finished"
    point = session.run.table.point(at)
    where = f"line {point.line}" + "".join(f", called from line {line}" for line in point.callers)
    if lane == session.run.lane:
        return f"runs, {where}"
    return f"waits for the others, {where}" if point.is_barrier else where


def _in_ranges(states: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    for state, same in groupby(states, key=lambda one: one[1]):
        lanes = [lane for lane, _ in same]
        yield (str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}-{lanes[-1]}"), state


def value_text(session: DebugSession, value: Value) -> str:
    """A value; a pointer by the memory that it points into."""
    if value.type.kind == "pointer":
        return pointer_text(session, value)
    return show(value)


def pointer_text(session: DebugSession, value: Value) -> str:
    address = int(value.number)
    found = session.memory.range_at(address)
    if found is None:
        return "a null pointer" if not address else f"{address:#x}, in no memory of the launch"
    element = value.type.element
    offset = address - found.address
    whole = element is not None and element.nbytes and offset % element.nbytes == 0
    start = f"&{found.name}[{offset // element.nbytes}]" if whole and element else f"byte {offset} of {found.name}"
    return f"{start} ({found.nbytes} bytes)"


def printed(session: DebugSession, expression: Expression, everyone: bool) -> list[str]:
    """The value of an expression, for the inspected work-item or for all of the group."""
    if not everyone:
        values = [value_text(session, value) for value in expression.values(session.scope())]
        return [f"{expression.text} = {', '.join(values)}"]
    if session.state != "stopped":
        raise DebugError("--all: no group runs at this moment")
    states = []
    for lane in range(session.grid.items_of(session.run.group)):
        try:
            states.append((lane, ", ".join(value_text(session, value) for value in expression.values(session.scope(lane, 0)))))
        except DebugError as error:
            states.append((lane, f"({error})"))
    return [f"{expression.text}, of work-items of the group:", *(f"  {lanes}: {text}" for lanes, text in _in_ranges(states))]


def local_variables(session: DebugSession) -> list[str]:
    """The variables of the function, with their values."""
    scope = session.scope()
    lines: list[str] = []
    for name in dict.fromkeys(variable.name for variable, _ in scope.variables()):
        try:
            lines.append(f"{name} = {value_text(session, scope.name(name))}")
        except DebugError as error:
            lines.append(str(error))
    return lines or ["no variables"]


def writers(session: DebugSession, expression: Expression) -> list[str]:
    """Who stored to an element before this moment."""
    value = expression.value(session.scope())
    found, number = session.find_writers(value)
    until = "in the launch" if session.state == "ended" else "before this moment"
    if not found:
        return [f"{expression.text}: no work-item stored to it {until}; it is {value_text(session, value)}"]
    lines = [f"{expression.text}: {number} store{'s' if number != 1 else ''} {until}, in order:"]
    shown = found[-MOST_STORES:]
    if len(shown) < number:
        lines.append(f"  ... {number - len(shown)} earlier")
    for writer in shown:
        who = session.grid.show(writer.ids)
        at = place(session, writer.point.file, writer.point.line)
        lines.append(f"  moment {writer.count}: work-item {who} made it {value_text(session, writer.value)} at {at}")
        lines += [f"  {line}" for line in source_line(session, writer.point.file, writer.point.line)]
    return lines


def breakpoints(session: DebugSession) -> Iterable[str]:
    """The breakpoints."""
    for one in session.breakpoints.values():
        at = f"line {one.line}, " if one.line else ""
        yield f"{one.number}: {at}break {one.text}"
    if not session.breakpoints:
        yield "no breakpoints"
