"""Machine code as parts of a page: the table, and the assembly of each chip to open."""

from __future__ import annotations

from collections.abc import Sequence

from ...device.machine_code import KernelCode
from ..page import escape
from .columns import COLUMNS, note_lines
from .text import assembly_text


def list_parts(kernels: Sequence[KernelCode]) -> list[str]:
    """Returns the parts of a section; none without kernels."""
    if not kernels:
        return []
    heads = "".join(f"<th>{escape(column.title)}</th>" for column in COLUMNS)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(column.text(kernel))}</td>' for column in COLUMNS)}</tr>" for kernel in kernels)
    parts = [
        f'<div class="scroll"><table><tr>{heads}</tr>{rows}</table></div>',
        *(f"<p>{escape(line)}</p>" for line in note_lines(kernels)),
    ]
    for kernel in kernels:
        text = escape(assembly_text([kernel]))
        parts.append(
            f"<details><summary><code>{escape(kernel.kernel)} {escape(kernel.chip)}</code></summary><pre>{text}</pre></details>"
        )
    return parts
