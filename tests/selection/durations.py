"""Measured seconds of the test functions, as `--record-durations` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

FILE = Path(__file__).parent / "durations.json"

LEAST = 0.02
"""Seconds an item below which a function is not in the file: it counts as taking none."""


def split_id(node: str) -> tuple[str, str]:
    """File and function of a test's id: tests/a.py::test_b[c] is ("tests/a.py", "test_b")."""
    file, _, name = node.partition("::")
    return file, name.partition("[")[0]


class Durations:
    """Seconds an item of each function, by file. A function that the file does not know takes none: a new test always runs."""

    def __init__(self, seconds: Mapping[str, Mapping[str, float]]):
        self._seconds = {file: dict(functions) for file, functions in seconds.items()}

    @classmethod
    def read(cls, path: Path = FILE) -> Durations:
        return cls(json.loads(path.read_text(encoding="utf-8")))

    def of(self, node: str) -> float:
        file, function = split_id(node)
        return self._seconds.get(file, {}).get(function, 0.0)

    def update(self, measured: Iterable[tuple[str, float]]) -> None:
        """Replace what is known of the functions in `measured`, pairs of a test's id and the seconds that it took."""
        taken: dict[tuple[str, str], list[float]] = {}
        for node, seconds in measured:
            taken.setdefault(split_id(node), []).append(seconds)
        for (file, function), values in taken.items():
            known = self._seconds.setdefault(file, {})
            known.pop(function, None)
            if (mean := sum(values) / len(values)) >= LEAST:
                known[function] = float(f"{mean:.2g}")

    def write(self, root: Path, path: Path = FILE) -> None:
        """Write the file anew, without test files that are no longer below `root`."""
        kept = {file: functions for file, functions in self._seconds.items() if functions and (root / file).exists()}
        path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
