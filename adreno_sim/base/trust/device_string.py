"""The parts of a device string `BACKEND:NAME[,key=value...]`, before anything is opened."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...records import dataclass
from ..errors import AdrenoSimError
from ..run_options import NAMES

VARIABLE = "ADRENO_SIM_DEVICE"
DEFAULT = "sim:adreno-740"


@dataclass(frozen=True)
class DeviceString:
    """backend: "sim" or "cl", or what stands there. name: of the profile, its path, or the rest of a real device's string.
    pairs: keys with their values, of a simulated one."""

    backend: str
    name: str
    pairs: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.backend}:{','.join([self.name, *(f'{key}={value}' for key, value in self.pairs)])}"

    @property
    def names_file(self) -> bool:
        """Whether the profile is a file's."""
        return self.name.endswith((".toml", ".json", ".txt"))

    def with_name(self, name: str) -> DeviceString:
        """The same with another profile."""
        return replace(self, name=name)

    def with_defaults(self, options: Mapping[str, Any]) -> DeviceString:
        """The same with these keys where it has them not."""
        own = {key for key, _ in self.pairs}
        return replace(self, pairs=(*((key, str(value)) for key, value in options.items() if key not in own), *self.pairs))

    def without(self, keys: Collection[str]) -> DeviceString:
        """The same without these keys."""
        return replace(self, pairs=tuple(pair for pair in self.pairs if pair[0] not in keys))


def parse_device_string(text: str) -> DeviceString:
    """The parts of a device string. AdrenoSimError if the text after a comma is not a key=value."""
    backend, colon, rest = text.partition(":")
    if backend != "sim":
        return DeviceString(backend, rest if colon else "")
    name, *others = rest.split(",")
    pairs = []
    for other in others:
        key, equals, value = (part.strip() for part in other.partition("="))
        if not equals or not key:
            raise AdrenoSimError(f"device sim:{rest}: {other!r}: expected key=value")
        pairs.append((key, value))
    return DeviceString(backend, name.strip(), tuple(pairs))


def default_device() -> str:
    """The device that is meant where none is named: the environment's, else an Adreno 740."""
    return os.environ.get(VARIABLE) or DEFAULT


def options_in(text: str) -> dict[str, str]:
    """The options of a run that a device string sets."""
    return {key: value for key, value in parse_device_string(text).pairs if key in NAMES}
