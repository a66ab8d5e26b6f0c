"""Built-in profiles: a chip, the driver that it runs, and the phone that it is in, each a table of values and their sources.

The tables are chips.toml, drivers.toml and phones.toml; their heads say what is in them. A profile is its chip's values, over
them its driver's, over them its phone's. A chip without a phone has the smallest that its phones have (`VENDOR_CHOICES`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ..base.errors import AdrenoSimError
from ..records import dataclass
from .fields import apply_value, suggest
from .lazy_tables import LazyTables, read_lazily

VENDOR_CHOICES = ("GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE")
"""Keys that those who sell a device choose."""

_HEADS = ("source", "inferred", "of", "only")


@dataclass
class Values:
    """Values of a profile. marks: "sourced" or "inferred", by key; origins: the address, or what the value is a guess from;
    seen: the smallest and the largest value of a key that phones were seen with."""

    values: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    def put(self, name: str, key: str, value: Any, mark: str, origin: str) -> None:
        """Set one value."""
        changed = apply_value(name, key, value, self.values)
        if changed != key:  # a list is sourced where all of it is
            mark = mark if self.marks[changed] == "sourced" else self.marks[changed]
            origin = f"{self.origins[changed]}; {key.replace('_', ' ')}: {origin}"
        self.marks[changed], self.origins[changed] = mark, origin


def chips() -> list[str]:
    """Names of the chips, and of the reference."""
    return list(_tables("chips")["chip"])


def phones() -> list[str]:
    """Names of phones and boards whose dumps are public."""
    return list(_tables("phones")["phone"])


def families() -> list[str]:
    """Names of the families of chips: profiles of users may be based on them."""
    return list(_tables("chips")["family"])


def phone(name: str) -> Mapping[str, Any]:
    """The table of a phone."""
    table: Mapping[str, Any] = _tables("phones")["phone"][name]
    return table


def drivers_of(chip: str) -> list[str]:
    """The drivers that are known to run on a chip, or that may: the default first."""
    found = [name for name, table in _drivers().items() if chip in (*table["chips"], *table.get("fits", ()))]
    default = _default_driver(chip)
    return sorted(found, key=lambda name: (name != default, name))


def resolve(name: str, driver: str = "") -> Values:
    """The values of a chip, a phone or a family under a driver: its own, or one of `drivers_of`, or a version of the same branch.

    AdrenoSimError if the chip has no such driver.
    """
    of_phone = phone(name) if name in phones() else None
    chip = name if of_phone is None else of_phone["chip"]
    key, version = _find_driver(chip, driver or (of_phone["driver"] if of_phone is not None else ""))
    found = Values()
    for table in _chain(_tables("chips"), ("chip", "family"), chip):
        _apply(found, table, chip, [chip])
    head = _apply_driver(found, chip, key)
    number = next(_chain(_tables("chips"), ("chip", "family"), chip, widest=False)).get("number", chip)
    _fill_texts(found, {**head, "number": number, "version": version or head["version"]})
    if version:
        found.marks["driver_version"], found.origins["driver_version"] = "given", "given"
    _apply_vendor(found, chip)
    if of_phone is not None:
        _apply_phone(found, of_phone)
    return found


def _apply_driver(found: Values, chip: str, key: str) -> dict[str, str]:
    """Put a driver's values over a chip's. Returns what its texts are filled with."""
    head: dict[str, Any] = {}
    seen_on = _drivers()[key]["chips"]
    for table in _chain(_tables("drivers"), ("driver", "branch"), key):
        head |= {name: table[name] for name in ("opencl", "platform", "build", "version") if name in table}
        _apply(found, table, chip, seen_on)
    build = head.get("build", "commit unknown")
    text = build.get(chip, "commit unknown") if isinstance(build, dict) else build
    source = _drivers()[key]["source"]
    mark = "sourced" if chip in seen_on and source.startswith(("https://", "docs/")) else "inferred"
    found.put(key, "opencl", head["opencl"], mark, source if chip in seen_on else _as_on(seen_on, source))
    for shown in ("driver_version", "device_version", "platform_version"):
        found.marks[shown], found.origins[shown] = found.marks["opencl"], found.origins["opencl"]
    return {"opencl": head["opencl"], "platform": head.get("platform", head["opencl"]), "build": text,
            "version": head.get("version", key)}  # fmt: skip


def _apply_vendor(found: Values, chip: str) -> None:
    """The smallest of the values that phones with the chip were read with. The range goes up to what is only said of one."""
    own = [table for table in _tables("phones")["phone"].values() if table["chip"] == chip]
    for key in VENDOR_CHOICES:
        groups = [group for table in own for group in table["values"] if key in group and "source" in group]
        if groups:
            least = min(groups, key=lambda group: int(group[key]))
            found.put(chip, key, least[key], "sourced", least["source"])
            found.seen[key] = (least[key], max(group[key] for table in own for group in table["values"] if key in group))


def _apply_phone(found: Values, table: Mapping[str, Any]) -> None:
    """A phone's own values; what no dump of it shows is a guess from others with its chip."""
    for key in VENDOR_CHOICES:
        found.marks[key] = "inferred"
    found.seen.clear()
    _apply(found, table, table["chip"], [table["chip"]])


def _apply(found: Values, table: Mapping[str, Any], chip: str, read_on: Sequence[str]) -> None:
    for group in table.get("values", ()):
        if chip in group.get("only", (chip,)):
            for key, value in group.items():
                if key not in _HEADS:
                    found.put(chip, key, value, *_origin(group, chip, group.get("of", read_on)))


def _origin(group: Mapping[str, Any], owner: str, read_on: Sequence[str]) -> tuple[str, str]:
    """The mark of a group's values for `owner`, and their origin."""
    if "inferred" in group:
        return "inferred", group["inferred"]
    return ("sourced", group["source"]) if owner in read_on else ("inferred", _as_on(read_on, group["source"]))


def _as_on(chips: Sequence[str], source: str) -> str:
    return f"as on {chips[0]}: {source}" if chips else f"as on {source}"


def _fill_texts(found: Values, words: Mapping[str, str]) -> None:
    for key, value in found.values.items():
        if isinstance(value, str) and "{" in value:
            found.values[key] = value.format_map(words)


def _find_driver(chip: str, wanted: str) -> tuple[str, str]:
    """The entry of a driver by its name, by how its version begins, or the nearest of its branch; with its own version, that
    version."""
    if not wanted:
        return _default_driver(chip), ""
    known = drivers_of(chip)
    if wanted in known:
        return wanted, ""
    starts = [name for name in known if name.startswith(f"{wanted}.")]
    if starts:
        return starts[0], ""
    branch = ".".join(wanted.split(".")[:2])
    near = [name for name in known if name == branch or name.startswith(f"{branch}.")]
    if not near or not all(part.isalnum() for part in wanted.split(".")):
        raise AdrenoSimError(
            f"driver {wanted!r} of {chip}: no such driver is known there{suggest(wanted, known)}; expected one of "
            f"{', '.join(known)}, or another version of their branches; a profile of your own can have any (devices --from)"
        )
    return near[0], wanted


def _default_driver(chip: str) -> str:
    return next(
        table["driver"] for table in _chain(_tables("chips"), ("chip", "family"), chip, widest=False) if "driver" in table
    )


def _chain(tables: Mapping[str, Any], kinds: Sequence[str], name: str, widest: bool = True) -> Iterator[Mapping[str, Any]]:
    """A table and its bases, the widest first. kinds: of the table, and of bases."""
    chain: list[Mapping[str, Any]] = []
    kind = kinds[0] if name in tables[kinds[0]] else kinds[1]
    while name:
        chain.append(tables[kind][name])
        kind, name = kinds[1], chain[-1].get("base", "")
    return iter(chain[::-1] if widest else chain)


def _drivers() -> Mapping[str, Any]:
    return _tables("drivers")["driver"]


@functools.cache
def _tables(name: str) -> dict[str, LazyTables]:
    return read_lazily(Path(__file__).with_name(f"{name}.toml"))
