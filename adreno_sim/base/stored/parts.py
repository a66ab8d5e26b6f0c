"""A tree of JSON and the bytes that it refers to, as one piece of bytes.

It begins with the length of the JSON text in 8 bytes. The text is [tree, [length of each part]]; the parts follow, each at a
multiple of ALIGNMENT, so that arrays can be viewed without a copy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

ALIGNMENT = 64
_HEAD = 8


def join(tree: Any, parts: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """The pieces that make up the bytes of a tree and its parts."""
    text = json.dumps([tree, [len(part) for part in parts]], separators=(",", ":")).encode("ascii")
    pieces: list[bytes | memoryview] = [len(text).to_bytes(_HEAD, "little"), text]
    place = _HEAD + len(text)
    for part in parts:
        pieces += [bytes(-place % ALIGNMENT), part]
        place += -place % ALIGNMENT + len(part)
    return pieces


def split(data: memoryview) -> tuple[Any, list[memoryview]]:
    """The tree, and the parts as they are in `data`. Raises ValueError, RecursionError for a tree that is nested too deeply."""
    place = _HEAD + int.from_bytes(data[:_HEAD], "little")
    if len(data) < place:
        raise ValueError("expected a whole tree")
    tree, lengths = json.loads(bytes(data[_HEAD:place]))
    parts = []
    for length in lengths:
        place += -place % ALIGNMENT
        if type(length) is not int or not 0 <= length <= len(data) - place:
            raise ValueError("expected a whole part")
        parts.append(data[place : place + length])
        place += length
    if place != len(data):
        raise ValueError("expected nothing behind the last part")
    return tree, parts
