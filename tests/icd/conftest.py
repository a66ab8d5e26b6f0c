"""A client with a server of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the shared `fake_shim` module off the path

from fake_shim import Shim


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Shim]]:
    """connect(checks=..., device=...) starts a server and says HELLO; its report goes to tmp_path."""
    made: list[Shim] = []

    def start(**settings: str) -> Shim:
        shim = Shim(reports=str(tmp_path), **settings)
        made.append(shim)
        shim.hello()
        return shim

    yield start
    for shim in made:
        shim.server.kill()
        shim.server.communicate()


@pytest.fixture
def report(tmp_path: Path) -> Callable[[Shim], dict[str, Any]]:
    """report(shim) ends a session and returns what its server wrote."""

    def end(shim: Shim) -> dict[str, Any]:
        status, _, said = shim.close()
        assert status == 0, said
        (path,) = tmp_path.glob(f"process-*-{shim.server.pid}.json")
        data: dict[str, Any] = json.loads(path.read_text())
        data["said"] = said
        return data

    return end
