"""A copy of the project in which every chosen mutant is next to the code it replaces, and a variable picks one.

One tree serves all mutants, and the processes that a test starts, which inherit the variable.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from sites import Site, find_sites

TOPS = ("adreno_sim", "compiler", "golden")
FUTURE = "from __future__ import annotations"
COMPILED = ("numba", "from .machine_code import compiled")
LEFT_OUT = (".git", ".venv*", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "*.egg-info")


@dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    site: Site


def choose_mutants(root: Path, count: int, seed: int) -> list[Mutant]:
    """One mutant in each of `count` runs of lines of equal length, over all packages in the order of their paths.

    Left out are files that numba compiles, which the switch does not survive.
    """
    generator = random.Random(seed)
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in _sources(root)}
    sites = [(file, site) for file, text in texts.items() for site in find_sites(text)]
    starts, lines = {}, 0
    for file, text in texts.items():
        starts[file] = lines
        lines += text.count("\n")
    mutants: list[Mutant] = []
    for number in range(count):
        low, high = (lines * end // count for end in (number, number + 1))
        inside = [(file, site) for file, site in sites if low <= starts[file] + site.line < high]
        kinds = sorted({site.kind for _, site in inside})
        while kinds:  # each kind as likely as another, however often it stands there
            kind = generator.choice(kinds)
            file, site = generator.choice([entry for entry in inside if entry[1].kind == kind])
            if not mutants or mutants[-1].file != file or _end(mutants[-1].site) < (site.line, site.column):
                mutants.append(Mutant(number, file, site))
                break
            kinds.remove(kind)
    return mutants


def _end(site: Site) -> tuple[int, int]:
    return site.end_line, site.end_column


def _sources(root: Path) -> list[Path]:
    found = sorted(path for top in TOPS for path in (root / top).rglob("*.py") if not _behind_a_link(path, root))
    texts = {path: path.read_text(encoding="utf-8") for path in found}
    return [
        path
        for path, text in texts.items()
        if f"\n{FUTURE}\n" in text and "numba" not in text and "machine_code import" not in text
    ]


def _behind_a_link(path: Path, root: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if root in parent.parents)


def weave(root: Path, mutants: list[Mutant], tree: Path) -> None:
    """Copy `root` to `tree`, with the mutants in it."""
    shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copy(Path(__file__).parent / "switch.py", tree / "mutant_switch.py")
    for file in sorted({mutant.file for mutant in mutants}):
        source = (root / file).read_text(encoding="utf-8")
        woven = weave_source(source, [mutant for mutant in mutants if mutant.file == file])
        compile(woven, file, "exec")
        (tree / file).write_text(woven, encoding="utf-8")


def weave_source(source: str, mutants: list[Mutant]) -> str:
    """The text of one file with its mutants, line for line where it was."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for mutant in sorted(mutants, key=lambda mutant: (mutant.site.line, mutant.site.column), reverse=True):
        site = mutant.site
        test = f"_is_on({mutant.number})".encode()
        last, first = lines[site.end_line - 1], lines[site.line - 1]
        if site.mutated is None:
            lines[site.line - 1] = first[: site.column] + b"if not " + test + b": " + first[site.column :]
            continue
        lines[site.end_line - 1] = last[: site.end_column] + b"))" + last[site.end_column :]
        first = lines[site.line - 1]
        choice = b"((" + site.mutated.encode() + b") if " + test + b" else ("
        lines[site.line - 1] = first[: site.column] + choice + first[site.column :]
    text = b"".join(lines).decode()
    return text.replace(f"\n{FUTURE}\n", f"\n{FUTURE}; from mutant_switch import is_on as _is_on\n", 1)
