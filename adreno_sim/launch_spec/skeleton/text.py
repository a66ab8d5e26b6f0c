"""The text of a guessed launch file: every guess has a comment that begins with DECIDE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.launch_folder import SCHEMA, toml_value
from ...base.text.spelling import spell_line
from .guess import Skeleton

MARK = "DECIDE"
_COLUMN = 36
"""Where comments begin."""


def skeleton_text(made: Skeleton) -> str:
    """The launch file."""
    keys: dict[str, Any] = {"schema": SCHEMA, "source": made.source, "kernel": made.kernel}
    keys |= {key: value for key, value in (("options", made.options), ("device", made.device)) if value}
    keys["global_size"] = list(made.global_size)
    if made.local_size is not None:
        keys["local_size"] = list(made.local_size)
    head = [f"# A launch of kernel {spell_line(made.kernel)}. Lines marked {MARK} are guesses: put in what your program gives."]
    parts = [[*head, *_lines(keys, made.decide), *_expected_lines(made)]]
    if made.values:
        first = f"{MARK}: sizes; --set {next(iter(made.values))}=32 replaces one, and expressions may use them"
        lines = _lines(made.values, dict.fromkeys(made.values, MARK))
        parts.append([_commented("[values]", first), *lines])
    for argument in made.arguments:
        parts.append([_commented("[[argument]]", argument.says), *_lines(argument.keys, argument.decide)])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def lines_to_decide(text: str) -> list[int]:
    """Numbers of the lines that hold a guess, the heading and the hint left out."""
    return [number for number, line in enumerate(text.splitlines(), 1) if f"# {MARK}" in line and not line.startswith(("#", "["))]


def _expected_lines(made: Skeleton) -> list[str]:
    if not made.written:
        return []
    names = ", ".join(made.written)
    return [f'# expected = "reference.py:{made.kernel}"   # a NumPy function that returns {names}: docs/launch-files.md']


def _lines(keys: Mapping[str, Any], comments: Mapping[str, str]) -> list[str]:
    return [_commented(f"{key} = {toml_value(value)}", comments.get(key, "")) for key, value in keys.items()]


def _commented(line: str, comment: str) -> str:
    return f"{line:<{_COLUMN}}# {spell_line(comment)}" if comment else line
