"""Which options the content of a file may set: one table. Everything else is the command line's.

A file may ask for more checks than the command has by default, never for fewer. What a command line, a Python call or the
environment says goes before what a file says, whatever that is.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...records import dataclass
from ..errors import AdrenoSimError
from ..run_options import NAMES, RunOptions, make_options
from .confined_path import find_below
from .device_string import DeviceString, default_device, options_in, parse_device_string


class Input(enum.Enum):
    """The kinds of files that are data."""

    RECORDING = "a recording"
    BUNDLE = "a bundle"
    PLAN = "a memory plan"
    PROFILE = "a device profile"
    LAUNCH = "a launch file"
    ALLOW_LIST = "an allow-list"
    MODEL = "a model"
    TUNED = "a tuning folder"
    PROJECT = "a project's pyproject.toml"


@dataclass(frozen=True)
class Limit:
    """What of an option a file may ask for. allowed: values; None if `most` says it; () for none at all."""

    allowed: tuple[Any, ...] | None = None
    most: float | None = None

    def admits(self, value: Any) -> bool:
        """Whether a file may ask for `value`."""
        if self.most is not None:
            return bool(value <= self.most)
        return self.allowed is None or value in self.allowed

    def __str__(self) -> str:
        if self.most is not None:
            return f"at most {self.most:g}"
        return " or ".join(map(str, self.allowed or ())) or "nothing"


_ANY, _NOTHING = Limit(), Limit(())

LIMITS: Mapping[str, Limit] = {
    "checks": Limit(("bounds", "full")),
    "timeout": Limit(most=RunOptions.timeout),
    "threads": Limit(most=256),
    "seed": _ANY,
    "order": _ANY,
    "contract": _ANY,
    "flush_denormals": _ANY,
    "finite_math": _ANY,
    "filter_bits": _ANY,
    "pitch_rule": _ANY,
    "pool": _ANY,
    "emitter": _ANY,
    "count_accesses": _ANY,
    "counters": _ANY,
    "all_drivers": _ANY,
    "cache": _NOTHING,
    "unsafe_includes": _NOTHING,
}
"""Each of RunOptions, and what of it a file may ask for that may set any. An option without a row is the command line's."""

_OPTIONS = frozenset(name for name, limit in LIMITS.items() if limit.allowed != ())

MAY_SET: Mapping[Input, frozenset[str]] = {
    Input.RECORDING: _OPTIONS - {"counters"},
    Input.BUNDLE: frozenset(),
    Input.PLAN: frozenset(),
    Input.PROFILE: frozenset(),
    Input.LAUNCH: _OPTIONS,
    Input.ALLOW_LIST: frozenset(),
    Input.MODEL: frozenset(),
    Input.TUNED: frozenset(),
    Input.PROJECT: frozenset(),
}
"""The options that a file of each kind may set, within LIMITS."""

MAY_NAME_DEVICE = frozenset({Input.RECORDING, Input.LAUNCH, Input.PROJECT})
"""Kinds of files that may name a simulated device: a built-in profile, with values of its own. A real one only the command line
names."""

MAY_NAME_FILES = frozenset({Input.LAUNCH})
"""Kinds of files that may name others by path: below their own folder, links followed."""


def environment_guards() -> dict[str, str]:
    """What the environment's device string says of options that files may not set as they like: it goes before a file's."""
    return {name: value for name, value in options_in(default_device()).items() if LIMITS.get(name, _NOTHING) != _ANY}


@dataclass(frozen=True)
class Taken:
    """What was asked for by a file. options: those that count. refused: the others, each with a sentence that says where it may
    be set."""

    options: dict[str, Any]
    refused: dict[str, str]

    def require_all(self) -> None:
        """Raise AdrenoSimError for the first that does not count."""
        for sentence in self.refused.values():
            raise AdrenoSimError(sentence)


def take_options(source: Input, asked: Mapping[str, Any]) -> Taken:
    """Sorts the options that a file asks for, by name. Raises AdrenoSimError for an unknown one, or a value that is none."""
    taken: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, value in asked.items():
        meant = getattr(make_options({name: value}), name)
        if name in MAY_SET[source] and LIMITS.get(name, _NOTHING).admits(meant):
            taken[name] = value
        else:
            refused[name] = _refusal(source, name, value)
    return Taken(taken, refused)


def require_options(source: Input, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a file asks for. Raises AdrenoSimError for the first that it may not set."""
    found = take_options(source, asked)
    found.require_all()
    return found.options


def _refusal(source: Input, name: str, value: Any) -> str:
    said = value if isinstance(value, str) else str(value).lower()
    limit = LIMITS.get(name, _NOTHING) if name in MAY_SET[source] else _NOTHING
    if limit.allowed == ():
        why = f"{source.value} does not decide this"
    else:
        why = f"{source.value} may ask for {limit}: for more checks, never for fewer"
    return f"{name}={said}: {why}; the command line may ({_FLAGS.get(name, '--device sim:PROFILE,{0}={1}').format(name, said)})"


_FLAGS = {"checks": "--checks {1}", "unsafe_includes": "--unsafe-includes", "cache": "--no-cache", "counters": "--counters"}


@dataclass(frozen=True)
class TakenDevice(Taken):
    """The device that a file names. text: its string without options of a run, which are taken apart."""

    text: str


def take_device(source: Input, text: str, folder: Path | None = None) -> TakenDevice:
    """The simulated device that a file names by a device string.

    folder: the file's own, below which it may name a profile; None if it may name none. Raises AdrenoSimError for a real
    device and for a profile elsewhere: these are for the command line to name.
    """
    device = parse_device_string(text)
    if source not in MAY_NAME_DEVICE or device.backend != "sim":
        raise AdrenoSimError(
            f"device {text!r}: {source.value} may name a simulated device, sim:PROFILE; a real one is chosen on the command line "
            f"(--device {text})"
        )
    if device.names_file:
        device = _confine_profile(source, device, folder)
    asked = {key: value for key, value in device.pairs if key in NAMES}
    found = take_options(source, asked)
    return TakenDevice(found.options, found.refused, str(device.without(NAMES)))


def _confine_profile(source: Input, device: DeviceString, folder: Path | None) -> DeviceString:
    """The device with the real path of its profile."""
    inside = None
    if source in MAY_NAME_FILES and folder is not None:
        inside = find_below(device.name, folder)
        if inside is not None and not inside.is_file():  # where the command runs, too, as for include folders
            inside = find_below(Path.cwd() / device.name, folder) or inside
    if inside is None:
        below = "below its own folder" if source in MAY_NAME_FILES else "that is built in"
        raise AdrenoSimError(
            f"device {device}: {source.value} may name a profile {below}; another one is named on the command line "
            f"(--device {device})"
        )
    return device.with_name(str(inside))
