"""The defect corpus: corpus/KIND/NAME.cl is a kernel, NAME.toml its launch, whose variant `clean` is the clean twin.

A case that cannot be read fails one test, which says why. No other test gets it, so that each of them can run on the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.launch_spec.read import read_launch

CORPUS = Path(__file__).parent / "corpus"


def why_broken(path: Path) -> str:
    """What is wrong with the launch file `path` or its kernel, with the place and what was expected; "" if nothing is."""
    try:
        for variant in ("", "clean"):
            read_launch(path, variant)
        path.with_suffix(".cl").read_text(encoding="utf-8")
    except AdrenoSimError as error:
        return str(error)
    except OSError as error:
        return f"{path}: expected its kernel in {path.stem}.cl: {error.strerror}"
    except UnicodeDecodeError as error:
        return f"{path.with_suffix('.cl')}: expected UTF-8 text, got the byte {error.object[error.start]:#x} at {error.start}"
    return ""


def find_broken(paths: Iterable[Path]) -> dict[Path, str]:
    """The cases that cannot be read, each with the reason."""
    return {path: why for path in paths if (why := why_broken(path))}


def require_readable(path: Path, broken: dict[Path, str]) -> None:
    """Fail the test of a case that cannot be read."""
    if path in broken:
        pytest.fail(broken[path], pytrace=False)


ALL = sorted(CORPUS.rglob("*.toml"))
BROKEN = find_broken(ALL)
CASES = [path for path in ALL if path not in BROKEN]
