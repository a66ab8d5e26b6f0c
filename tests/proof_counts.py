"""How much is proven of launches, as numbers to compare with golden/data/proof-counts.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adreno_sim.device.protocol import Device, Kernel
from adreno_sim.results.snapshots import SnapshotFile

GOLDEN = Path(__file__).parents[1] / "golden/data/proof-counts.json"
SITES = "access sites"

Counts = dict[str, int]


def count_proofs(device: Device, kernel: Kernel, global_size: Any, local_size: Any, arguments: Sequence[Any]) -> Counts:
    """What is proven of a launch at level full; nothing of one without work-items."""
    analysis = device.prepare(kernel, global_size, local_size, arguments).config.analysis
    if analysis is None:
        return {}
    proven, proofs = analysis.proven, analysis.proven.proofs
    return {
        SITES: proven.accesses.places,
        "accesses in range": proven.accesses.proven_places,
        "in range": len(proofs.in_range),
        "nsw": len(proofs.nsw),
        "single-writer arguments": len(proven.single_writer),
        "race-free locals": len(proofs.race_free_locals),
    }


def compare_proofs(stored: SnapshotFile, name: str, found: Mapping[str, Counts]) -> None:
    """Fails where fewer is proven than is stored under `name`; where more is, or the code is another, it asks to record it."""
    texts = json.loads(GOLDEN.read_text())["snapshots"].get(name, {}) if GOLDEN.exists() else {}
    lost = [line for case, text in texts.items() for line in lost_proofs(case, _counts_of(text), found.get(case, {}))]
    assert stored.update or not lost, f"fewer proofs than {GOLDEN.name} has of {name}:\n" + "\n".join(lost)
    difference = stored.difference(name, {case: _text_of(counts) for case, counts in found.items()})
    assert not difference, f"more is proven, or other code: record it with --update-snapshots (without -n)\n{difference}"


def lost_proofs(case: str, before: Counts, found: Counts) -> list[str]:
    """Lines on what is no longer proven of a case. Access sites are no proofs: fewer of them are only other code."""
    fewer = [name for name, count in before.items() if name != SITES and found.get(name, 0) < count]
    return [f"  {case}: {name}: was {before[name]}, is {found.get(name, 0)}" for name in fewer]


def _text_of(counts: Counts) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _counts_of(text: str) -> Counts:
    pairs = (part.rpartition(" ") for part in text.split(", ") if part)
    return {name: int(count) for name, _, count in pairs}
