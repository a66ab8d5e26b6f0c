"""A device profile as the TOML file that `sim:FILE.toml` reads: the built-in profile it is based on, and what differs from it."""

from __future__ import annotations

import json
from typing import Any

from ...profiles.profile import Profile
from .profile_difference import find_differences


def to_toml(profile: Profile, base: Profile) -> str:
    """The text of the file. `base` is a built-in profile; values of a dump that differ from it are written as given."""
    lines = [
        f"# Made from {_word(profile.name)} by adreno-sim devices --from.",
        f"[profile.{_word(profile.name)}]",
        f"base = {_word(base.name)}",
        "",
        f"[profile.{_word(profile.name)}.given]",
        *(
            f"{one.key} = {_value(one.value)}"
            for one in find_differences(profile, base)
            if profile.marks[one.key] == "given"
        ),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _word(value)


def _word(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
