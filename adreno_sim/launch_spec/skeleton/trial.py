"""Trial launches of a guessed launch file: what a launch does not fit into is made larger, until it does or stays too small."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...base.errors import AdrenoSimError
from ...findings import Access, Finding, Severity
from ...records import dataclass
from ...results.launch_report import LaunchReport
from ..read import read_tables
from ..run import run_launch
from .guess import Guess, Skeleton
from .text import MARK, skeleton_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_TRIALS, FACTOR = 10, 4
SECONDS = 5
"""What one trial launch may take."""
LARGEST_COUNT, LARGEST_IMAGE, LARGEST_LOCAL = 1 << 24, 1 << 20, 1 << 15
"""Elements of a buffer, texels of an image, bytes of a local argument that a guess grows to."""


@dataclass(frozen=True)
class SizeTrial:
    """The last trial. text: the launch file. report: what it found, None if it was refused, for the reason `refused`."""

    text: str
    report: LaunchReport | None
    refused: str = ""

    @property
    def errors(self) -> list[Finding]:
        """What is wrong with the launch as it is guessed."""
        findings = self.report.findings if self.report else []
        return [finding for finding in findings if finding.severity is Severity.ERROR]


def settle(made: Skeleton, target: Path, source: Path, device: str | None, root: Path | None = None) -> SizeTrial:
    """Run the launch that `made` describes, as file `target` would have it, and make larger what it does not fit into.

    root: as of `read_launch`. `made` is changed. A launch that is refused, or that errs whatever its sizes are, ends the trials.
    """
    first = [dict(argument.keys) for argument in made.arguments]
    trial = _settle_group(made, _run(made, target, source, device, root), lambda: _run(made, target, source, device, root))
    for _ in range(MOST_TRIALS):
        if not _grow(made, _left_arguments(trial)):
            break
        trial = _run(made, target, source, device, root)
    if astray := set(_left_arguments(trial)):  # whatever their sizes are: what they were says more
        for argument, keys in zip(made.arguments, first, strict=True):
            argument.keys = keys if argument.keys.get("name") in astray else argument.keys
        trial = _run(made, target, source, device, root)
    for argument in made.arguments:
        if "count" in argument.decide and trial.report is not None and argument.keys.get("name") not in astray:
            argument.decide["count"] += "; the trial launch stays inside"
    return replace(trial, text=skeleton_text(made))


def run_trial(made: Skeleton, target: Path, source: Path, device: str | None, root: Path | None) -> SizeTrial:
    """Run a launch as it is written, at level full."""
    return _run(made, target, source, device, root, checks=None)


def _run(
    made: Skeleton, target: Path, source: Path, device: str | None, root: Path | None, checks: str | None = "bounds"
) -> SizeTrial:
    text = skeleton_text(made)
    try:
        spec = read_tables(tomllib.loads(text), target, root=root)
        return SizeTrial(text, run_launch(replace(spec, run={"timeout": SECONDS}), source, device=device, checks=checks))
    except AdrenoSimError as error:
        return SizeTrial(text, None, str(error).splitlines()[0])


def _settle_group(made: Skeleton, trial: SizeTrial, run: Callable[[], SizeTrial]) -> SizeTrial:
    """Try work-groups of another shape, and as many work-items, where a guessed one leaves the kernel's local variables: rows of
    4 x 16 look like 8 x 8 from outside. The first trial that stays inside them; the guess stays where none does."""
    guess = made.local_size
    if guess is None or len(guess) != 2 or not made.decide["local_size"].startswith(MARK) or not _leaves_local(made, trial):
        return trial
    items = math.prod(guess)
    widths = [1 << power for power in range(items.bit_length())]
    for width in sorted(widths, key=lambda width: abs(math.log(width * width / items))):  # the squarest first
        made.set_group((width, items // width))
        if not _leaves_local(made, other := run()):
            return other
    made.set_group(guess)
    return trial


def _leaves_local(made: Skeleton, trial: SizeTrial) -> bool:
    """Whether an access misses a local variable of the kernel, which is called KERNEL.VARIABLE."""
    return any(finding.access is not None and finding.access.view.startswith(f"{made.kernel}.") for finding in trial.errors)


def _left_arguments(trial: SizeTrial) -> dict[str, Access]:
    """The first access behind the end of each argument, by its name."""
    found: dict[str, Access] = {}
    for finding in trial.errors:
        access = finding.access
        if access is not None and (access.coordinate is not None or (access.offset or 0) >= 0):
            found.setdefault(access.view, access)
    return found


def _grow(made: Skeleton, left: Mapping[str, Access]) -> bool:
    """Make the arguments larger that accesses leave at their ends; whether any could be."""
    grown = False
    for argument in made.arguments:
        access = left.get(argument.keys.get("name", ""))
        if access is None:
            continue
        if access.coordinate is not None:
            grown |= _grow_image(argument, access.coordinate)
        elif argument.keys["kind"] == "local":
            grown |= _multiply(argument, "nbytes", LARGEST_LOCAL)
        else:
            grown |= _multiply(argument, "count", LARGEST_COUNT)
    return grown


def _grow_image(argument: Guess, coordinate: Sequence[int]) -> bool:
    keys = argument.keys
    sides = [key for key in ("width", "height", "depth", "layers") if key in keys]
    small = [key for key, at in zip(sides, coordinate, strict=False) if at >= keys[key]]
    grown = [_multiply(argument, key, LARGEST_IMAGE * keys[key] // math.prod(keys[side] for side in sides)) for key in small]
    return any(grown)


def _multiply(argument: Guess, key: str, most: int) -> bool:
    if key not in argument.keys or argument.keys[key] * FACTOR > most:
        return False
    argument.keys[key] *= FACTOR
    return True
