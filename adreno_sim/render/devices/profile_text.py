"""One device profile: every value with its mark, as a table or as JSON `adreno-sim/profile/1`."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import IO, Any

from ...profiles.profile import Profile

SCHEMA = "adreno-sim/profile/1"

_NAME, _MARK, _WIDTH = 30, 10, 120


def to_json(profile: Profile) -> dict[str, Any]:
    """Each key's value and mark; derived: what follows from the values for images over buffers and denormals."""
    values = {
        key: {"value": list(value) if isinstance(value, tuple) else value, "mark": profile.marks[key]} | _origin(profile, key)
        for key, value in profile.values.items()
    }
    return {"schema": SCHEMA, "name": profile.name, "values": values, "derived": _derived_values(profile)}


def show(profile: Profile, file: IO[str]) -> None:
    """Print the profile; upper-case names are those of clGetDeviceInfo without CL_DEVICE_."""
    print(f"profile {profile.name}", file=file)
    for key, value in profile.values.items():
        text = ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
        lines = textwrap.wrap(text, _WIDTH - _NAME - _MARK) or [""]
        lines[0] += profile.range_text(key)
        print(f"  {f'{key} ':<{_NAME}}{profile.marks[key]:<{_MARK}}{lines[0]}", file=file)
        for line in [*lines[1:], *textwrap.wrap(_origin_text(profile, key), _WIDTH - _NAME - _MARK, break_on_hyphens=False)]:
            print(" " * (2 + _NAME + _MARK) + line, file=file)
    for key, answer in _derived_values(profile).items():
        print(f"  {key.replace('_', ' '):<{_NAME}}{'':<{_MARK}}{_answer_text(answer)}", file=file)
    counts = Counter(profile.marks.values())
    print(", ".join(f"{count} {mark}" for mark, count in sorted(counts.items())), file=file)


def _origin(profile: Profile, key: str) -> dict[str, Any]:
    """The facts about a value beside its mark: where it was read or what it is a guess from, and the range seen."""
    origin, seen = profile.origins.get(key, ""), profile.seen.get(key)
    return ({"origin": origin} if origin not in ("", profile.marks[key]) else {}) | ({"seen": list(seen)} if seen else {})


def _origin_text(profile: Profile, key: str) -> str:
    origin = _origin(profile, key).get("origin", "")
    return f"({origin})" if origin else ""


def _answer_text(answer: object) -> str:
    if isinstance(answer, list):
        return ", ".join(answer) or "none"
    return "yes" if answer else "no"


def _derived_values(profile: Profile) -> dict[str, Any]:
    from ...image.layout import KINDS

    return {
        "flushes_denormals": profile.flush_denormals,
        "images_over_buffers": [kind for kind in KINDS if profile.images_over_buffers(kind)],
    }
