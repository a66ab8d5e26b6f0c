"""A hostile case and what became of it: one run of the command line over files of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_SECONDS = 20.0  # of CPU time, with the compiler's
MOST_MEMORY = 2 << 30
MOST_TEXT = 60_000  # characters that a run may print
PRINTED = 4 << 20  # and so many of a kernel's own: the most of printf that is kept of a launch
MOST_LINE = 1500  # characters of a line of a message
LINES_OF_ONE = 8  # of one message: the text, a line of source, a caret, notes
CODES = (0, 1, 2, 3, 130)


@dataclass(frozen=True)
class Case:
    """`adreno-sim ARGS` in a folder with `files`; those under cache/ are the cache on disk (without any: the
    usual one).

    expected: exit code and standard output, where they are known.
    """

    name: str
    args: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    expected: tuple[int, str] | None = None


@dataclass(frozen=True)
class Outcome:
    """code: exit code, or minus the signal. peak: bytes. written: paths outside of the case's folder, or new in it."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int
    written: tuple[str, ...] = ()


_MESSAGE = re.compile(r"(?:^|: )(?:fatal )?(?:error|warning): ", re.M)


def complaints(case: Case, outcome: Outcome) -> list[str]:
    """What is wrong with how the run ended; nothing for one that ended as any run should."""
    text = outcome.err + outcome.out
    found = []
    if outcome.code not in CODES:
        found.append(f"exit code {outcome.code}" if outcome.code >= 0 else f"ended by signal {-outcome.code}")
    found += [f"says {sign!r}" for sign in ("Traceback", "internal error", "Exception ignored", "Fatal Python") if sign in text]
    if outcome.seconds > MOST_SECONDS:
        found.append(f"{outcome.seconds:.1f} s of CPU time")
    if outcome.peak > MOST_MEMORY:
        found.append(f"{outcome.peak >> 20} MiB of memory")
    if len(text) > MOST_TEXT + PRINTED * ("printf" in str(case.files.get("k.cl"))):
        found.append(f"{len(text)} characters")
    if outcome.code in (2, 3):
        longest = max(map(len, outcome.err.splitlines()), default=0)
        if longest > MOST_LINE:
            found.append(f"a line of {longest} characters")
        messages, lines = len(_MESSAGE.findall(outcome.err)), outcome.err.count("\n")
        if not messages or lines > LINES_OF_ONE * messages:
            found.append(f"{lines} lines for {messages} messages")
    found += [f"wrote {path}" for path in outcome.written]
    if case.expected is not None and (outcome.code, outcome.out) != case.expected:
        found.append(f"expected exit code {case.expected[0]} and the same text as ever")
    return found
