"""Regular expressions over names, matched in time linear in the name: no expression makes a run endless.

What they know: characters, `.`, classes, `\\d \\w \\s` and their opposites (of ASCII), groups, `|`, `* + ? {m,n}`, `^ $`.
Everything that would need backtracking is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import AdrenoSimError

LONGEST = 500
"""Characters of an expression."""
MOST_STATES = 5_000
"""Of the automaton; repeats are written out."""
_DEEPEST = 50
"""Groups inside groups."""
_MOST_REPEATS = 1_000

Test = Callable[[str], bool]


class PatternError(AdrenoSimError):
    """An expression that is none, or that is not supported: where and why, in one line."""


@dataclass(frozen=True)
class _State:
    """A state of the automaton. test: of the next character, which leads to the first of `following`; None: the automaton is in
    all of these at once, where `at` ("" anywhere, "begin" or "end" of the name) holds."""

    test: Test | None
    following: tuple[int, ...]
    at: str = ""


@dataclass(frozen=True)
class _Node:
    """Part of an expression. kind: char, begin, end, all (parts in order), any (one of parts), repeat (of the only part)."""

    kind: str
    parts: tuple[_Node, ...] = ()
    test: Test | None = None
    least: int = 1
    most: int | None = 1


class NamePattern:
    """An expression, which names may match anywhere in them. Raises PatternError."""

    def __init__(self, text: str):
        self.text = text
        if len(text) > LONGEST:
            raise PatternError(f"{len(text)} characters: expected at most {LONGEST}")
        self._states: list[_State] = [_State(None, ())]  # 0: matched
        self._start = self._compile(_Parser(text).parse(), 0)
        self._known: dict[str, bool] = {}

    def is_in(self, name: str) -> bool:
        """Whether some part of a name matches."""
        if name not in self._known:
            self._known[name] = self._search(name)
        return self._known[name]

    def _search(self, name: str) -> bool:
        now: set[int] = set()
        for place in range(len(name) + 1):
            self._enter(self._start, now, place, len(name))
            if 0 in now:
                return True
            if place < len(name):
                following: set[int] = set()
                for number in now:
                    state = self._states[number]
                    if state.test is not None and state.test(name[place]):
                        self._enter(state.following[0], following, place + 1, len(name))
                now = following
        return 0 in now

    def _enter(self, number: int, now: set[int], place: int, end: int) -> None:
        """Be in a state, and in those to which it leads without a character."""
        waiting = [number]
        while waiting:
            one = waiting.pop()
            state = self._states[one]
            if one not in now and place == {"begin": 0, "end": end}.get(state.at, place):
                now.add(one)
                if state.test is None:
                    waiting += state.following

    def _compile(self, node: _Node, then: int) -> int:
        """The state that begins a part, behind which the automaton is in state `then`."""
        if node.kind == "char":
            return self._add(_State(node.test, (then,)))
        if node.kind in ("begin", "end"):
            return self._add(_State(None, (then,), node.kind))
        if node.kind == "all":
            for part in reversed(node.parts):
                then = self._compile(part, then)
            return then
        if node.kind == "any":
            return self._add(_State(None, tuple(self._compile(part, then) for part in node.parts)))
        return self._compile_repeat(node, then)

    def _compile_repeat(self, node: _Node, then: int) -> int:
        part = node.parts[0]
        if node.most is None:
            loop = self._add(_State(None, ()))
            self._states[loop] = _State(None, (self._compile(part, loop), then))
            then = loop
        else:
            end = then
            for _ in range(node.most - node.least):
                then = self._add(_State(None, (self._compile(part, then), end)))
        for _ in range(node.least):
            then = self._compile(part, then)
        return then

    def _add(self, state: _State) -> int:
        if len(self._states) >= MOST_STATES:
            raise PatternError(f"its repeats make more than {MOST_STATES} states: expected a smaller expression")
        self._states.append(state)
        return len(self._states) - 1


_CLASSES: dict[str, Test] = {
    "d": lambda char: "0" <= char <= "9",
    "w": lambda char: char.isascii() and (char.isalnum() or char == "_"),
    "s": lambda char: char in " \t\n\r\f\v",
}
_SPECIAL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_BOUNDS = re.compile(r"\{(\d{0,5})(?:(,)(\d{0,5}))?\}")


class _Parser:
    """Reads an expression once, from its start."""

    def __init__(self, text: str):
        self._text, self._at, self._depth = text, 0, 0

    def parse(self) -> _Node:
        node = self._alternatives()
        if self._at < len(self._text):
            raise self._error("unbalanced )")
        return node

    def _alternatives(self) -> _Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Node("any", tuple(parts))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated())
        return _Node("all", tuple(parts))

    def _repeated(self) -> _Node:
        begin = self._at
        node = self._single()
        bounds = self._bounds()
        if bounds is None:
            return node
        if node.kind in ("begin", "end"):
            raise self._error("nothing to repeat", begin)
        self._take("?")  # the shortest match is one as well
        if self._bounds() is not None:
            raise self._error("a repeat of a repeat", self._at - 1)
        return _Node("repeat", (node,), least=bounds[0], most=bounds[1])

    def _bounds(self) -> tuple[int, int | None] | None:
        """The least and the most of a repeat, which is taken; None where there is none."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        found = _BOUNDS.match(self._text, self._at)
        if found is None or found[0] in ("{}", "{,}"):
            return None
        least = int(found[1] or 0)
        most = (int(found[3]) if found[3] else None) if found[2] else least
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise self._error(f"{found[0]}: expected {{m,n}} with m <= n <= {_MOST_REPEATS}")
        self._at = found.end()
        return least, most

    def _single(self) -> _Node:
        begin, char = self._at, self._text[self._at]
        self._at += 1
        if char == "(":
            return self._group()
        if char in "^$":
            return _Node("begin" if char == "^" else "end")
        if char in "*+?":
            raise self._error("nothing to repeat", begin)
        if char == ".":
            return _Node("char", test=lambda one: one != "\n")
        if char == "[":
            return _Node("char", test=self._class(begin))
        return _Node("char", test=self._escape(begin)[0] if char == "\\" else _is(char))

    def _group(self) -> _Node:
        begin = self._at - 1
        if self._take("?") and not self._take(":"):
            raise self._error("of groups ( ) and (?: ) are supported", begin)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} groups inside each other", begin)
        node = self._alternatives()
        self._depth -= 1
        if not self._take(")"):
            raise self._error("( without )", begin)
        return node

    def _escape(self, begin: int) -> tuple[Test, str]:
        """What is behind a backslash: its test, and the character that it means, "" for a class."""
        if self._at >= len(self._text):
            raise self._error("a backslash at the end", begin)
        char = self._text[self._at]
        self._at += 1
        if char.lower() in _CLASSES:
            test = _CLASSES[char.lower()]
            return (test if char.islower() else lambda one: not test(one)), ""
        if char in _SPECIAL or not (char.isascii() and char.isalnum()):
            char = _SPECIAL.get(char, char)
            return _is(char), char
        raise self._error(f"\\{char} is not supported", begin)

    def _class(self, begin: int) -> Test:
        negated = self._take("^")
        tests = [self._class_item(begin)]  # a ] that stands first is one of the characters
        while not self._take("]"):
            tests.append(self._class_item(begin))
        return lambda char: any(test(char) for test in tests) != negated

    def _class_item(self, begin: int) -> Test:
        """One character, range or class inside of [ ]."""
        test, low = self._class_char(begin)
        rest = self._text[self._at : self._at + 2]
        if len(rest) < 2 or rest[0] != "-" or rest[1] == "]":
            return test
        self._at += 1
        _, high = self._class_char(begin)
        if not low or not high or high < low:
            raise self._error("expected a range from a lower to a higher character", begin)
        return lambda char: low <= char <= high

    def _class_char(self, begin: int) -> tuple[Test, str]:
        if self._at >= len(self._text):
            raise self._error("[ without ]", begin)
        char = self._text[self._at]
        self._at += 1
        return self._escape(self._at - 1) if char == "\\" else (_is(char), char)

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _error(self, what: str, at: int | None = None) -> PatternError:
        return PatternError(f"at character {(self._at if at is None else at) + 1}: {what}")


def _is(char: str) -> Test:
    return lambda one: one == char
