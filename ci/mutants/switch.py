"""Copied into a tree of mutants: says whether a mutant is on, and notes which test came by where that is asked for.

ADRENO_MUTANT holds the number of the one mutant that is on. ADRENO_MUTANT_HITS names a folder: each process adds lines
"number<tab>test" to a separate file there.
"""

import contextlib
import os

_ON = int(os.environ.get("ADRENO_MUTANT", "-1"))
_HITS = os.environ.get("ADRENO_MUTANT_HITS")


def is_on(number: int) -> bool:
    return number == _ON


if _HITS:
    _seen: set[tuple[int, str]] = set()
    _file = os.open(os.path.join(_HITS, str(os.getpid())), os.O_CREAT | os.O_APPEND | os.O_WRONLY)  # before a wall forbids it

    def is_on(number: int) -> bool:  # type: ignore[no-redef]
        key = (number, os.environ.get("PYTEST_CURRENT_TEST", ""))
        if key not in _seen:
            _seen.add(key)
            with contextlib.suppress(OSError):  # a test closes what is open in its child
                os.write(_file, f"{number}\t{key[1]}\n".encode())
        return False
