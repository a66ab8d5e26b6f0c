"""Cuts long basic blocks of LLVM text: without optimisation, instruction selection takes time that grows with the square of a
block."""

from __future__ import annotations

import re

MOST = 4000
"""The most lines of a block. Selection drops what is computed twice or for nothing within a block alone: shorter ones make code
several times as long of what repeats itself."""

_LABEL = re.compile(r'("[^"]+"|[-\w.$]+):')
_PHI = re.compile(r"  \S+ = phi ")
_SOURCE = re.compile(r', %("[^"]+"|[-\w.$]+) \]')


def cut_long_blocks(text: str, most: int = MOST) -> str:
    """Returns the module `text` with a jump to a separate block after each `most` lines of a block.

    The first block of a function stays whole: what it allocates later would be allocated while the function runs.
    """
    out: list[str] = []
    start = 0
    for line in text.splitlines():
        if line.startswith("define"):
            start = len(out)
        out.append(line)
        if line == "}" and len(out) - start > most:
            out[start:] = _cut_function(out[start:], most)
    return "\n".join(out) + "\n"


def _cut_function(lines: list[str], most: int) -> list[str]:
    out: list[str] = []
    label, size = "", 0
    last: dict[str, str] = {}  # by the label of a block that was cut: of its last part
    for at, line in enumerate(lines):
        if found := _LABEL.match(line):
            label, size = (found[1] if at > 1 else ""), 0
        elif (
            label and size >= most and line.startswith("  %") and not _PHI.match(line)
        ):  # the cases of a switch are indented more
            part = last[label] = f"part.{len(out)}"
            out += [f"  br label %{part}", f"{part}:"]
            size = 0
        size += 1
        out.append(line)
    if not last:
        return lines
    return [_SOURCE.sub(lambda m: f", %{last.get(m[1], m[1])} ]", line) if _PHI.match(line) else line for line in out]
