"""The size of what a pointer points to, by how the source spells its type."""

from __future__ import annotations

import re


def element_bytes(spelled: str) -> int:
    """Returns the bytes of the element of a pointer spelling such as "const __global float4*"."""
    name = spelled.rstrip("* ").split()[-1]
    match = re.fullmatch(r"u?(char|short|int|long|half|float|double)(\d*)", name)
    if match is None:
        return 1
    size = {"char": 1, "short": 2, "half": 2, "int": 4, "float": 4, "long": 8, "double": 8}[match[1]]
    lanes = int(match[2] or 1)
    return size * (4 if lanes == 3 else lanes)
