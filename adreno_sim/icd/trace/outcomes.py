"""How calls of a recorded session ended then, and how they end in a replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..status import NAMES, SUCCESS
from .events import Event, EventKind, decode_failure

_OF_PROGRAMS = (EventKind.BUILD, EventKind.LINK)
_Key = tuple[EventKind, int, int, int]


class Outcomes:
    """What of a session ran. programs, launches: how many there are; built, ran: how many of them without an error; others: what
    else did; stopped: its time was over before its end."""

    def __init__(self) -> None:
        self._then: dict[_Key, list[int]] = defaultdict(list)
        self._now: dict[_Key, list[int]] = defaultdict(list)
        self._why: dict[_Key, str] = {}
        self._last: _Key | None = None
        self._passed: set[_Key] = set()
        self.launches, self.ran = 0, 0
        self.programs, self.built = 0, 0
        self.others = 0
        self.stopped = False

    def add(self, event: Event, status: int, why: str = "") -> None:
        """An event was played. why: what was said of an error."""
        good = status == SUCCESS
        if event.kind is EventKind.LAUNCH:
            self.launches, self.ran = self.launches + 1, self.ran + good
        elif event.kind in _OF_PROGRAMS:
            self.programs, self.built = self.programs + 1, self.built + good
        else:
            self.others += good
        if not good:
            key = self._last = _key(event.kind, event)
            self._now[key].append(status)
            self._why.setdefault(key, why)

    def pass_by(self, event: Event) -> None:
        """An event is not played, and how it ended says nothing."""
        self._passed.add(_key(event.kind, event))

    def go_on(self) -> None:
        """Another event follows, so that the one before has ended."""
        self._last = None

    def add_recorded(self, event: Event) -> None:
        """An event FAILED. Raises ValueError for a damaged one."""
        kind, status = decode_failure(event.body)
        if _key(kind, event) not in self._passed:
            self._then[_key(kind, event)].append(status)

    def differences(self) -> Iterator[tuple[str, bool]]:
        """What ended otherwise than it was recorded, in words, and whether it failed only now.

        The last event of a recording whose server died is left out: nobody recorded how it ended.
        """
        for key in {**self._now, **self._then}:
            now, then = self._now.get(key, []), self._then.get(key, [])
            if sorted(now) != sorted(then) and key != self._last:
                why = f" ({self._why[key]})" if self._why.get(key) else ""
                ended = f"ended with {_words(now)}{why}, and with {_words(then)} when it was recorded"
                yield f"call {key[1]}: {key[0].name} {ended}", bool(now)


def find_idle(sessions: Sequence[Outcomes]) -> str:
    """Why the replay of all sessions says nothing: "" if something built and ran."""
    programs, launches, others = (sum(getattr(one, name) for one in sessions) for name in ("programs", "launches", "others"))
    if programs and not sum(one.built for one in sessions):
        return f"none of {programs} programs was built"
    if launches and not sum(one.ran for one in sessions):
        return f"none of {launches} launches ran"
    return "" if programs or launches or others else "nothing in the recording runs"


def _key(kind: EventKind, event: Event) -> _Key:
    return kind, event.call, event.thread, event.queue


def _words(statuses: list[int]) -> str:
    return ", ".join(NAMES.get(status, str(status)) for status in statuses) or "success"
