"""Whether the LLVM text of a kernel goes from lane to lane."""

from __future__ import annotations

import re

_SOME_LANES = re.compile(r"^define internal [^\n]*@(load|store)_lanes\..*?^}", re.MULTILINE | re.DOTALL)
"""Functions for rows of which not all lanes are accessed, where the processor has no instruction for them."""


def goes_from_lane_to_lane(text: str) -> bool:
    """A gather, or a loop over lanes."""
    return re.search(r"call [^\n]*(masked\.gather|llvm\.cttz)", _SOME_LANES.sub("", text)) is not None


def stores_a_row(text: str, elements: str) -> bool:
    """Some lanes store a row of such elements, as "8i8", as one."""
    return f"llvm.masked.store.v{elements}" in text or f"@store_lanes.v{elements}." in text
