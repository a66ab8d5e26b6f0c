"""Vectors of 32 (cl_qcom_extra_vector_types): components that clang has no name for.

Qualcomm's compiler goes on counting behind .sf with .sg to .sv. The same lanes are .s0 to .sf of the upper half, so
they are respelled as those before clang sees the source, and only in a source that switches the extension on.
"""

from __future__ import annotations

import re

EXTENSION = "cl_qcom_extra_vector_types"

_SWITCHED_ON = re.compile(rf"^[ \t]*#[ \t]*pragma[ \t]+OPENCL[ \t]+EXTENSION[ \t]+{EXTENSION}[ \t]*:[ \t]*enable\b", re.MULTILINE)
_UPPER = re.compile(r"(?<=[\w)\]])\.[sS]([g-vG-V]+)\b")


def name_upper_lanes(source: str) -> str:
    """`source` with v.sg spelled v.hi.s0, and so on to v.sv; lines stay, later columns of such a line move."""
    if not _SWITCHED_ON.search(source):
        return source
    return _UPPER.sub(lambda match: ".hi.s" + "".join(f"{ord(letter) - ord('g'):x}" for letter in match[1].lower()), source)
