"""What a launch shows of its inside as text: kernel IR, a table of proofs, the code that ran as LLVM text, assembly."""

from __future__ import annotations

from collections.abc import Iterator

from ...device.inspection import ISA, AccessProof, Inside, LaunchProofs, SharingProof
from ...device.protocol import LaunchCode
from ..isa.text import assembly_text

_HEAD = ("place", "access", "of", "index", "in range")
_MOST = 40
"""The largest width of a column; longer cells push the rest of their line to the right."""


def inside_text(inside: Inside) -> str:
    """Returns the parts that are known, in the order in which a launch makes them: kernel IR, proofs, code."""
    parts = [inside.ir] if inside.ir else []
    parts += ["\n".join(proof_lines(inside.proofs)) + "\n"] if inside.proofs is not None else []
    if "llvm" in inside.wanted:
        parts.append("\n".join(_code_lines(inside.code)) + "\n")
    if inside.machine_code and ISA in inside.wanted:
        parts.append(assembly_text(inside.machine_code))
    return "\n".join(parts)


def proof_lines(proofs: LaunchProofs) -> list[str]:
    """A line for each access, and for each argument or local array that work-items may share."""
    accesses = [access for access in proofs.accesses if access.memory]
    proven = sum(not access.reason for access in accesses)
    lines = [f"; proofs of kernel {proofs.kernel}: {proven} of {len(accesses)} accesses to memory in range"]
    lines += [f"; nothing is proven: {failure}" for failure in proofs.failures]
    rows = [_HEAD, *((a.place, a.access, a.target, a.index, _verdict(a)) for a in proofs.accesses)]
    widths = [min(_MOST, max(len(row[column]) for row in rows)) for column in range(len(_HEAD) - 1)]
    for row in rows if proofs.accesses else ():
        lines.append("  ".join([*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]))
    return [*lines, *map(_sharing_line, proofs.sharing)]


def _verdict(access: AccessProof) -> str:
    return f"NOT PROVEN: {access.reason}" if access.reason else f"proven: {access.proof}"


def _sharing_line(sharing: SharingProof) -> str:
    return f"{sharing.target}: {sharing.what}: {f'NOT PROVEN: {sharing.reason}' if sharing.reason else 'proven'}"


def _code_lines(code: tuple[LaunchCode, ...]) -> Iterator[str]:
    if not code:
        yield "; no code ran"
    for number, one in enumerate(code, 1):
        again = "" if number == 1 else ", because a check failed in the code before"
        yield f"; code {number} of {len(code)}{again}: {one.description}"
        yield one.text.rstrip("\n")
