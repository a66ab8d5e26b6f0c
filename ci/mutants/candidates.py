"""Which tests can notice a mutant, in the order in which they are tried."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from selection.durations import Durations, split_id

UNKNOWN = 0.01
"""Seconds of a test that was never measured."""


@dataclass(frozen=True)
class Candidates:
    fast: list[str]
    others: list[str]


def read_outcomes(survey: Path) -> dict[str, str]:
    """How each test of a run ended, by its id; one that failed in any phase has failed."""
    file = Path(f"{survey}.outcomes")
    ended: dict[str, str] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        node, outcome = json.loads(line)
        if ended.get(node) != "failed":
            ended[node] = outcome
    return ended


class Survey:
    """What ran with no mutant on: the tests that pass, the fast set among them, and who came by which mutant."""

    def __init__(self, file: Path, hits: Path, durations: Durations):
        found = json.loads(file.read_text(encoding="utf-8"))
        outcomes = read_outcomes(file)
        self.failing = {node for node, outcome in outcomes.items() if outcome == "failed"}
        self.passing = {node for node, outcome in outcomes.items() if outcome == "passed"}
        self._durations = durations
        self._fast = [node for node in found["fast"] if node in self.passing]
        skipped = {split_id(node) for node, outcome in outcomes.items() if outcome == "skipped"}
        fast = set(found["fast"])
        self._others = [node for node in found["everything"] if node not in fast and split_id(node) not in skipped]
        self._hits: dict[int, set[str]] = defaultdict(set)
        self._shared: dict[int, set[str]] = defaultdict(set)
        for path in hits.iterdir():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                number, _, place = line.partition("\t")
                node, _, phase = place.rpartition(" (")
                self._hits[int(number)].add(node)
                if phase == "setup)":  # what a fixture made is used by other tests of its file
                    self._shared[int(number)].add(split_id(node)[0])

    def seconds(self, node: str) -> float:
        return max(UNKNOWN, self._durations.of(node))

    def is_reached(self, number: int) -> bool:
        return bool(self._hits[number])

    def find_candidates(self, number: int) -> Candidates:
        """Tests that came by come first, then the others of their files: what is computed once is noticed by any of them."""
        hits = self._hits[number]
        functions = {split_id(node) for node in hits}
        files = {file for file, _ in functions}
        direct = [node for node in self._fast if node in hits or split_id(node)[0] in self._shared[number]]
        beside = [node for node in self._fast if split_id(node)[0] in files and node not in set(direct)]
        others = [node for node in self._others if split_id(node) in functions and node not in self.failing]
        if "" in hits:  # on import, or in a process of no test
            beside = [node for node in self._fast if node not in set(direct)]
        return Candidates([*self._sort(direct), *self._sort(beside)], self._sort(others))

    def _sort(self, nodes: Sequence[str]) -> list[str]:
        """The fast ones first, and in turn from each file: tests of one file notice the same."""
        rank: dict[str, int] = defaultdict(int)
        keys: dict[str, tuple[int, float]] = {}
        for node in sorted(nodes, key=lambda node: (self.seconds(node), node)):
            file, _ = split_id(node)
            keys[node] = (rank[file] // 3, self.seconds(node))
            rank[file] += 1
        return sorted(nodes, key=lambda node: keys[node])

    def split(self, nodes: Iterable[str], most: float) -> list[list[str]]:
        """`nodes` in parts that take longer and longer, until `most` seconds are spent: most mutants end in the first one."""
        parts: list[list[str]] = [[]]
        limit, taken, total = 4.0, 0.0, 0.0
        for node in nodes:
            if total + self.seconds(node) > most:
                break
            if taken > limit or len(parts[-1]) > 60 * len(parts) ** 3:
                parts.append([])
                limit, taken = limit * 4, 0.0
            parts[-1].append(node)
            taken += self.seconds(node)
            total += self.seconds(node)
        return [part for part in parts if part]
