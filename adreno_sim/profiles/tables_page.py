"""The page docs/devices-evidence.md: device by value, sourced with its address, inferred from what, and the ranges of phones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import builtin
from .errata import errata
from .profile import FIELDS, Profile, load, names, phones

_LISTS = ("extensions", "compiler_extensions")
_GUESSES = ("ml_gflops", "kernel_gflops", "memory_mbps", "ml_start_ns", "kernel_start_ns")

_HEAD = """\
# Where the values of devices come from

Written by `python -m adreno_sim.profiles` from the tables of profiles; a test holds it up to date. What `adreno-sim devices
--profile NAME` shows is here for all: **sourced** values with the address where they were read, *inferred* ones
with what they are a guess from. Sizes that phones choose carry the range seen.
"""


def make_page() -> str:
    """The text of the page."""
    made = [load(name) for name in names() if name != "reference"]
    return "\n".join([_HEAD, *_values(made), *_drivers(), *_phones(), *_faults(), *_lists(made)]).rstrip() + "\n"


def _values(made: list[Profile]) -> Iterator[str]:
    yield "## Values\n\nOf each chip under the driver that it has where none is named.\n"
    for key in FIELDS:
        if key in (*_LISTS, *_GUESSES):
            continue
        yield f"### `{key}`\n"
        yield "| Devices | Value | Origin |\n|---|---|---|"
        rows: dict[tuple[str, str], list[str]] = {}
        for one in made:
            rows.setdefault((_shown(one, key), _origin(one, key)), []).append(one.name.removeprefix("adreno-"))
        for (value, origin), devices in rows.items():
            yield f"| {', '.join(devices)} | {value} | {origin} |"
        yield ""


def _drivers() -> Iterator[str]:
    yield "## Drivers\n\nOf `sim:adreno-NUMBER,driver=VERSION`; the first is the one without a name.\n"
    yield "| Chip | Drivers |\n|---|---|"
    for name in names():
        if name != "reference":
            yield f"| {name} | {', '.join(builtin.drivers_of(name))} |"
    yield ""


def _phones() -> Iterator[str]:
    yield "## Phones and boards\n"
    yield "| Profile | Product | Chip | Driver | Global memory | Largest allocation |\n|---|---|---|---|---|---|"
    for name in phones():
        table, one = builtin.phone(name), load(name)
        sizes = " | ".join(f"{_shown(one, key)}, {_origin(one, key)}" for key in builtin.VENDOR_CHOICES)
        yield f"| `{name}` | {table['product']} | {table['chip']} | {table['driver']} | {sizes} |"
    yield ""


def _faults() -> Iterator[str]:
    yield "## Known faults of drivers\n"
    yield "What `driver-erratum` warns of, where a kernel meets it.\n"
    yield "| Name | Construct | Symptom | Compilers | Instead | Source |\n|---|---|---|---|---|---|"
    for one in errata():
        yield f"| `{one.name}` | {one.construct} | {one.symptom} | {one.owners} | {one.workaround} | {one.source} |"
    yield ""


def _lists(made: list[Profile]) -> Iterator[str]:
    yield "## Extensions\n"
    for one in made:
        for key in _LISTS:
            listed = ", ".join(f"`{word}`" for word in one[key]) or "none"
            yield f"{one.name}, {key.replace('_', ' ')} ({_origin(one, key)}): {listed}\n"


def _shown(one: Profile, key: str) -> str:
    value: Any = one[key]
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    low, high = one.seen.get(key, (0, 0))
    text = f"{value:,}" if isinstance(value, int) else f"`{value}`"
    return text + (f" (seen: up to {high:,})" if low != high else "")


def _origin(one: Profile, key: str) -> str:
    text = one.origins[key]
    return f"**sourced** {text}" if one.marks[key] == "sourced" else f"*inferred*: {text}"
