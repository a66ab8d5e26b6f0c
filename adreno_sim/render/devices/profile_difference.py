"""What differs between two device profiles, as text or as JSON `adreno-sim/profile-difference/1`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from ...profiles.profile import Profile
from ...records import dataclass

SCHEMA = "adreno-sim/profile-difference/1"


@dataclass(frozen=True)
class ProfileDifference:
    """A key whose values differ. within: the other profile's value is one of several seen, and this one is in their range."""

    key: str
    value: Any
    other: Any
    within: bool


def find_differences(profile: Profile, other: Profile) -> list[ProfileDifference]:
    """Every key whose values differ, in the order of profiles."""
    return list(_differences(profile, other))


def _differences(profile: Profile, other: Profile) -> Iterator[ProfileDifference]:
    for key, value in profile.values.items():
        if value != other[key]:
            low, high = other.seen.get(key, (0, -1))
            yield ProfileDifference(key, value, other[key], isinstance(value, int) and low <= value <= high)


def show(profile: Profile, other: Profile, file: IO[str]) -> None:
    """Print a line for each key that differs: both values, of lists what is more and less, and where the other's come from."""
    found = find_differences(profile, other)
    print(f"{profile.name} against {other.name}: {len(found)} of {len(profile.values)} values differ", file=file)
    for one in found:
        if isinstance(one.value, tuple) and one.key.endswith("extensions"):
            words = [f"+{name}" for name in one.value if name not in one.other]
            words += [f"-{name}" for name in one.other if name not in one.value]
            print(f"  {one.key}: {' '.join(words)}", file=file)
        else:
            print(f"  {one.key}: {_text(one.value)}, not {_text(one.other)}{other.range_text(one.key)}", file=file)
        mark, origin = other.marks[one.key], other.origins.get(one.key, "")
        print(f"    {profile.marks[one.key]} here; there {mark}{f', {origin}' if origin not in ('', mark) else ''}", file=file)


def to_json(profile: Profile, other: Profile) -> dict[str, Any]:
    """The same as data."""
    rows = [
        {
            "key": one.key, "value": _plain(one.value), "other": _plain(one.other), "mark": profile.marks[one.key],
            "other_mark": other.marks[one.key], "within_range": one.within,
        }
        for one in find_differences(profile, other)
    ]  # fmt: skip
    return {"schema": SCHEMA, "name": profile.name, "other": other.name, "differences": rows}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
