"""The lists of networks: their rows, and what is drawn of them."""

from __future__ import annotations

import random
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Network:
    """A row of a list. options: for a model in a package those of `adreno-sim check`; for a program the shape of its input, and
    settings of its architecture.
    """

    package: str
    name: str
    options: tuple[str, ...]

    @property
    def is_program(self) -> bool:
        """Whether PyTorch exports it; else it is an ONNX file in its package."""
        return not self.name.endswith(".onnx")

    @property
    def file(self) -> str:
        """Its file name, as the table shows it."""
        return f"{self.name}.pt2" if self.is_program else Path(self.name).name

    @property
    def check_options(self) -> tuple[str, ...]:
        return () if self.is_program else self.options


def read_rows(listed: Path, pattern: str = "") -> list[Network]:
    """The rows of a list whose package or name holds `pattern`."""
    rows = [shlex.split(line, comments=True) for line in listed.read_text().splitlines()]
    networks = [Network(row[0], row[1], tuple(row[2:])) for row in rows if row]
    return [network for network in networks if pattern in f"{network.package} {network.name}"]


def draw_rows(networks: list[Network], count: int, seed: int) -> list[Network]:
    """`count` models of packages and as many programs, in the order of the list. The same for the same list and seed."""
    chosen: set[Network] = set()
    for is_program in (False, True):
        kind = [network for network in networks if network.is_program == is_program]
        chosen.update(random.Random(seed).sample(kind, min(count, len(kind))))
    return [network for network in networks if network in chosen]
