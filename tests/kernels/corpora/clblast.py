"""CLBlast's kernels: each routine joins several files, C++ raw strings, and defines the tuning parameters of its data base."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .archives import CLBLAST, unpack
from .source import Source

PRECISIONS = {"half": "16", "float": "32", "float2": "3232"}
"""What PRECISION is defined as, which also names the files of the data base, by the host's type. Adreno GPUs have no doubles."""

TUNINGS = 4
"""Variants of each routine: the generic Adreno's parameters, those of models, and the default of all devices."""

DEVICE = (("USE_INLINE_KEYWORD", 1), ("USE_CL_MAD", 1), ("GLOBAL_MEM_FENCE", 1), ("RELAX_WORKGROUP_SIZE", 1))
"""What the host program defines for Qualcomm's GPUs."""

SYMMETRIC = {"HER": "SYR", "HER2": "SYR2"}
"""Names under which the host runs these routines on real numbers."""

_INCLUDE = re.compile(r'^\s*#include "\.\./\.\./kernels/(.+?\.opencl)"', re.MULTILINE)
_TABLES = re.compile(r"Routine\(queue, event, name,\s*\{([^}]*)\}")
_NAME = re.compile(r'&name = "(\w+)"')
_HOST_TYPE = re.compile(r"^template class \w+<(\w+)", re.MULTILINE)
_RAW = re.compile(r'R"\((.*?)\)"', re.DOTALL)


def sources(folder: Path) -> list[Source]:
    """Every routine with kernels of its own, in each precision and tuning. A combination that says nothing new is left out."""
    root = unpack(CLBLAST, folder) / "src"
    found: dict[str, Source] = {}
    for file in sorted(root.glob("routines/*/*.cpp")):
        code = file.read_text()
        tables, includes = _TABLES.search(code), _INCLUDE.findall(code)
        if tables is None or not includes:
            continue
        routine = _NAME.search(file.with_suffix(".hpp").read_text())
        assert routine is not None, file
        kernels = "".join(_strings(root / "kernels" / name) for name in includes)
        for precision in (PRECISIONS[name] for name in _HOST_TYPE.findall(code) if name in PRECISIONS):
            name = routine[1] if precision == "3232" else SYMMETRIC.get(routine[1], routine[1])
            for tuning in range(TUNINGS):
                rows = [_parameters(root, table, precision, tuning) for table in re.findall(r'"(\w+)"', tables[1])]
                defines = [("PRECISION", precision), (f"ROUTINE_{name}", ""), *DEVICE, *(pair for row in rows for pair in row)]
                head = "".join(f"#define {name} {value}\n" for name, value in defines)
                text = head + _strings(root / "kernels/common.opencl") + kernels
                found.setdefault(text, Source(f"clblast/{name}-{precision}#{tuning}", text, "-cl-std=CL1.2"))
    return list(found.values())


@cache
def _strings(file: Path) -> str:
    return "".join(_RAW.findall(file.read_text()))


@cache
def _parameters(root: Path, table: str, suffix: str, tuning: int) -> tuple[tuple[str, str], ...]:
    """Names and values of one row: of different rows for Qualcomm's GPUs and the default, the one numbered `tuning`."""
    stem = re.sub(r"(?<!^)(?=[A-Z])", "_", table).lower()
    text = (root / f"database/kernels/{stem}/{stem}_{suffix}.hpp").read_text()
    names = re.findall(r'"(\w+)"', text[text.index("Precision::") : text.index("}, {")])
    blocks = [text[text.index(mark) :] for mark in ("// QUALCOMM GPUs", "// Default") if mark in text]
    rows = [re.findall(r"Params\{([^}]*)\}", block.split("\n    },\n")[0]) for block in blocks]
    different = list(dict.fromkeys(row for block in rows for row in block))
    return tuple(zip(names, re.findall(r"\d+", different[tuning % len(different)]), strict=False))
