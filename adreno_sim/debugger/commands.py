"""The commands of the debugger, as its terminal takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..records import dataclass
from . import shown
from .breakpoints import read_breakpoint
from .expressions import parse
from .session import DebugSession
from .values import DebugError

Run = Callable[[DebugSession, str], Iterable[str]]


@dataclass(frozen=True)
class Command:
    """names: the first is the usual one. usage: what follows it. help: in one line."""

    names: tuple[str, ...]
    usage: str
    help: str
    run: Run


def _moved(move: Callable[[DebugSession], None]) -> Run:
    """Returns a command that goes somewhere, and shows where. It takes nothing behind it."""

    def run(session: DebugSession, rest: str) -> Iterable[str]:
        if rest:
            raise DebugError(f"expected nothing behind the command, got {rest!r}")
        move(session)
        return shown.where_it_stands(session)

    return run


def _times(move: Callable[[DebugSession], None]) -> Run:
    """The same, as often as the number behind it says."""

    def run(session: DebugSession, rest: str) -> Iterable[str]:
        for _ in range(_number(rest, "how often") if rest else 1):
            move(session)
        return shown.where_it_stands(session)

    return run


def _number(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise DebugError(f"expected {what}, a number, got {text!r}")
    return int(text)


def _break(session: DebugSession, rest: str) -> Iterable[str]:
    made = session.add_breakpoint(read_breakpoint(rest))
    at = f" at line {made.line}" if made.line else ""
    return [f"breakpoint {made.number}{at}"]


def _delete(session: DebugSession, rest: str) -> Iterable[str]:
    for number in [_number(rest, "a breakpoint")] if rest else list(session.breakpoints):
        session.delete_breakpoint(number)
    return []


def _go_to(session: DebugSession, rest: str) -> Iterable[str]:
    session.go_to(_number(rest, "a moment"))
    return shown.where_it_stands(session)


def _restart(session: DebugSession, rest: str) -> Iterable[str]:
    session.restart()
    return shown.where_it_stands(session)


def _print(session: DebugSession, rest: str) -> Iterable[str]:
    text, everyone = re.subn(r"\s--all\s*$", "", " " + rest)
    return shown.printed(session, parse(text), bool(everyone))


def _who(session: DebugSession, rest: str) -> Iterable[str]:
    return shown.writers(session, parse(rest))


def _item(session: DebugSession, rest: str) -> Iterable[str]:
    ids = tuple(int(word) for word in re.findall(r"\d+", rest))
    if not re.fullmatch(r"\(?\s*\d+(\s*,\s*\d+){0,2}\s*\)?", rest):
        raise DebugError(f"item {rest}: expected the global ids of a work-item")
    found = session.grid.find(ids)
    if found is None:
        raise DebugError(f"item {rest}: no work-item of the global size {session.grid.show(session.grid.total)}")
    if session.state != "stopped" or found[0] != session.run.group:
        raise DebugError(f"item {rest}: it is in group {found[0]}, which does not run at this moment: break item {rest}")
    session.lane, session.frame = found[1], 0
    return shown.stack(session)


def _frame(session: DebugSession, rest: str, by: int = 0) -> Iterable[str]:
    number = session.frame + by if by else _number(rest, "a frame")
    if not 0 <= number < len(session.frames()):
        raise DebugError(f"frame {number}: there are {len(session.frames())}")
    session.frame = number
    return shown.stack(session)


def _list(session: DebugSession, rest: str) -> Iterable[str]:
    return shown.listing(session, _number(rest, "a line") if rest else 0)


def _info(session: DebugSession, rest: str) -> Iterable[str]:
    topics: dict[str, Callable[[DebugSession], Iterable[str]]] = {
        "items": shown.items, "locals": shown.local_variables, "breakpoints": shown.breakpoints, "stop": shown.where_it_stands,
    }  # fmt: skip
    if rest not in topics:
        raise DebugError(f"info {rest}: expected {', '.join(topics)}")
    if rest == "items":
        session.require_stop()
    return topics[rest](session)


def _help(session: DebugSession, rest: str) -> Iterable[str]:
    return [f"{', '.join(one.names)} {one.usage}".rstrip().ljust(36) + f"  {one.help}" for one in COMMANDS]


COMMANDS = (
    Command(("break", "b"), "LINE [item ID] [if CONDITION]", "also FILE:LINE, item ID, finding; stop there", _break),
    Command(("delete", "d"), "[NUMBER]", "a breakpoint, or all", _delete),
    Command(("continue", "c"), "", "to the next breakpoint, or the end", _moved(DebugSession.resume)),
    Command(("step", "s"), "[TIMES]", "to the work-item's next statement", _times(DebugSession.step)),
    Command(("next", "n"), "[TIMES]", "the same, over helpers", _times(lambda session: session.step("over"))),
    Command(("finish",), "", "out of the helper", _moved(lambda session: session.step("out"))),
    Command(("back",), "[TIMES]", "to the statement that the work-item began before", _times(DebugSession.back)),
    Command(("back-next", "bn"), "[TIMES]", "the same, over helpers", _times(lambda session: session.back(over=True))),
    Command(("back-continue", "bc"), "", "to the last breakpoint before", _moved(DebugSession.resume_back)),
    Command(("goto",), "MOMENT", "to a moment, as stops and who name them", _go_to),
    Command(("restart",), "", "to the beginning of the launch", _restart),
    Command(("print", "p"), "EXPRESSION [--all]", "its value; of all work-items of the group", _print),
    Command(("who",), "ELEMENT", "who stored to it before this moment", _who),
    Command(("info", "i"), "items|locals|breakpoints|stop", "where all work-items are, variables, ...", _info),
    Command(("where", "bt"), "", "the functions that the work-item is in", lambda session, rest: shown.stack(session)),
    Command(("item",), "ID", "select another work-item of the group", _item),
    Command(("frame",), "NUMBER", "select another function that it is in", _frame),
    Command(("up",), "", "at the one that called", lambda session, rest: _frame(session, rest, 1)),
    Command(("down",), "", "at the one that is called", lambda session, rest: _frame(session, rest, -1)),
    Command(("list", "l"), "[LINE]", "the source", _list),
    Command(("help", "h"), "", "this list", _help),
    Command(("quit", "q"), "", "end", lambda session, rest: []),
)
_BY_NAME = {name: command for command in COMMANDS for name in command.names}


def is_quit(line: str) -> bool:
    """Returns whether a line ends the session."""
    return line.split() in (["quit"], ["q"])


def run_command(session: DebugSession, line: str) -> Iterable[str]:
    """Runs one line, and returns what it shows. DebugError says what is wrong with it."""
    name, _, rest = line.strip().partition(" ")
    command = _BY_NAME.get(name)
    if command is None:
        raise DebugError(f"{name}: no command of the debugger; help lists them")
    return command.run(session, rest.strip())
