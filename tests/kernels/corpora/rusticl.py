"""Machine code by Mesa's own OpenCL driver for Adreno beside what kernels have here: registers and instructions.

python tests/kernels/corpora/rusticl.py FOLDER JUDGE [--kernels N] [--seed N] [--seconds N] [--all]

FOLDER keeps the archives of the corpora, JUDGE is what `bash ci/rusticl/build.sh JUDGE` made. Sources are drawn until N kernels
are compared. What the driver says of each is kept in JUDGE: a run that was stopped goes on where it was, and a second one only
compiles here. Every kernel requires groups of 64, by which both compilers choose registers. Kernels are counted apart that need
what Mesa's driver does in a way of its own: functions of its library (log, vload4), and halves of images. This needs the extra
isa, root (chroot), and some twenty minutes of a processor, most of them in qemu.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from corpora.archives import ArchiveError  # noqa: E402
from corpora.campaign import gather  # noqa: E402
from corpora.source import Source  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.base.output_file import write_text  # noqa: E402
from adreno_sim.device.machine_code import Instructions, KernelCode, MachineCode  # noqa: E402
from adreno_sim.ir import ir  # noqa: E402
from adreno_sim.ir.builtins import builtin_of  # noqa: E402
from adreno_sim.isa.assembly import count_instructions  # noqa: E402
from adreno_sim.isa.chips import find_chip  # noqa: E402
from adreno_sim.isa.compile import compile_kernel  # noqa: E402

CHIP, GPU = "a740", "740"
MOST_CHARACTERS = 6000
"""Of a source: longer ones take minutes in qemu."""
SECONDS = 600
"""Of a processor, after which the driver is stopped at a source, and goes on with the next one."""

_GROUP = "__attribute__((reqd_work_group_size(64, 1, 1)))"
_ENTRY = re.compile(r"\b(__kernel|kernel)\s+void\b")
_INCLUDED = re.compile(r"-I\s*(\S+)")
_KERNEL = re.compile(r"decl_function __wrapped_(\w+) \(\)")
_REGISTERS = re.compile(r"; CL prog .* (\d+) half, (\d+) full")
_STANDARD = "-cl-std=CL3.0"
_IGNORED = {"-cl-fast-relaxed-math": "-D__FAST_RELAXED_MATH__=1", "-cl-unsafe-math-optimizations": ""}
"""Options that allow less exact floats: the driver compiles as without them."""
_BUILT, _ENDED = "=== KERNELS", "=== ENDED"
_NEWER = re.compile(r"(\([^)]*\))*(lock|unlock)")
"""What Mesa 25.2, which compiles here, ends each kernel with on this chip, and 25.0, which Debian has, does not."""


@dataclass(frozen=True)
class Code:
    """registers: of four words. instructions: but for nops, and what is done once for all work-items."""

    registers: int
    instructions: Instructions

    @property
    def count(self) -> int:
        return self.instructions.total - self.instructions.nops


@dataclass(frozen=True)
class Pair:
    """A kernel here and there. apart: whether Mesa's driver has a way of its own for it."""

    name: str
    here: Code
    there: Code
    apart: bool

    @property
    def off(self) -> float:
        """How many more instructions it has here, as a share."""
        return self.here.count / max(1, self.there.count) - 1


def draw_sources(folder: Path, seed: int) -> list[Source]:
    """Returns sources in an order that the seed decides: one variant of each file, not too long, without sub-groups, which
    Debian's driver does not have."""
    found: dict[str, Source] = {}
    for source in random.Random(seed).sample(everything := gather(folder), len(everything)):
        if len(source.text) <= MOST_CHARACTERS and "sub_group" not in source.text and _ENTRY.search(source.text):
            found.setdefault(source.name.partition("#")[0], source)
    return [_prepare(source) for source in found.values()]


def _prepare(source: Source) -> Source:
    text = _ENTRY.sub(rf"\1 {_GROUP} void", source.text)
    return Source(source.name, text, re.sub(r"-cl-std=\S+", "", source.options))


# There


def ask_judge(judge: Path, sources: Sequence[Source], seconds: int = SECONDS) -> Iterator[tuple[Source, dict[str, Code]]]:
    """Yields each source with the codes of its kernels: what is kept, or what the driver says now. A source at which the driver
    ended, or that took longer, has none, and is not asked for again."""
    said = judge / "said"
    said.mkdir(exist_ok=True)
    places = {source.name: said / hashlib.sha256(f"{source.text}\0{source.options}".encode()).hexdigest() for source in sources}
    driver = _ask_driver(judge, [source for source in sources if not places[source.name].exists()], seconds)
    for source in sources:
        place = places[source.name]
        if not place.exists():
            write_text(place, "\n".join(next(driver)))
        lines = place.read_text(encoding="utf-8").splitlines()
        yield source, dict(read_codes(lines)) if lines[-1].startswith(_BUILT) else {}


def _ask_driver(judge: Path, sources: Sequence[Source], seconds: int) -> Iterator[list[str]]:
    """One process for all sources, as it takes a minute to begin, and another one for what is behind a source that ended it."""
    left = list(sources)
    while left:
        process = _start_driver(judge, left)
        try:
            for source in list(left):
                lines = _read_answer(process, seconds)
                if not any(line.startswith("=== FILE") for line in lines):
                    raise OSError(f"expected the driver to build {source.name}; it did not begin: {lines[-3:]}")
                left.remove(source)
                yield lines
                if lines[-1].startswith(_ENDED):
                    break
        finally:
            process.kill()
            process.wait()


def _start_driver(judge: Path, sources: Sequence[Source]) -> subprocess.Popen[str]:
    folder = judge / "root/kernels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows, included = [], dict[str, str]()
    for number, source in enumerate(sources):
        for path in _INCLUDED.findall(source.options):
            if path not in included:
                included[path] = f"/kernels/included{len(included)}"
                shutil.copytree(path, judge / f"root{included[path]}")
        (folder / f"{number}.cl").write_text(source.text, encoding="utf-8")
        options = _INCLUDED.sub(lambda found: f"-I{included[found[1]]}", source.options)
        rows.append(f"/kernels/{number}.cl\t{_STANDARD} {options}")
    (folder / "list").write_text("\n".join(rows) + "\n", encoding="utf-8")
    environment = {
        "LD_PRELOAD": "/usr/lib/libshim.so", "RUSTICL_ENABLE": "freedreno", "RUSTICL_FEATURES": "fp16", "FD_GPU_ID": GPU,
        "IR3_SHADER_DEBUG": "cs,disasm", "MESA_SHADER_CACHE_DISABLE": "true", "HOME": "/tmp", "PATH": os.environ["PATH"],
    }  # fmt: skip
    command = ["chroot", str(judge / "root"), "/qemu-aarch64-static", "/client", "/kernels/list"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )


def _read_answer(process: subprocess.Popen[str], seconds: int) -> list[str]:
    """Returns the lines of one source; the last one says how it ended."""
    assert process.stdout is not None
    lines, is_read = list[str](), threading.Event()
    threading.Thread(target=_end_when_it_took, args=(process, seconds, is_read), daemon=True).start()
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith((_BUILT, "=== NOT BUILT", "=== NO ")):
                return lines
    finally:
        is_read.set()
    return [*lines, f"{_ENDED} itself, or took longer than {seconds} s"]


def _end_when_it_took(process: subprocess.Popen[str], seconds: int, is_read: threading.Event) -> None:
    """Ends a process that took so many seconds of a processor for one source, however busy the machine is."""
    first = _processor_seconds(process)
    while not is_read.wait(1):
        if process.poll() is not None or _processor_seconds(process) - first > seconds:
            process.kill()
            return


def _processor_seconds(process: subprocess.Popen[str]) -> float:
    try:
        user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:  # it has ended
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def read_codes(lines: Iterable[str]) -> Iterator[tuple[str, Code]]:
    """Yields the name and the code of each variant that the driver made: of a kernel the last one counts."""
    name, text = "", list[str]()
    for line in lines:
        line = line.removeprefix("MESA: info: ")
        if found := _KERNEL.search(line):
            name = found[1]
        if line.startswith("Native code"):
            text = []
        elif found := _REGISTERS.search(line):
            yield name, Code(max(int(found[2]), (int(found[1]) + 1) // 2), count_instructions("\n".join(text)))
        elif not line.startswith((";", "@")):
            text.append(line)


# Here


def compile_here(source: Source) -> dict[str, tuple[KernelCode, bool]]:
    """Returns each kernel of a source that has code here, and whether Mesa's driver has ways of its own for it."""
    found = {}
    options = " ".join([_STANDARD, *(_IGNORED.get(word, word) for word in source.options.split())])
    for name, function in adreno_sim.open_device("sim:adreno-830").build(source.text, options).module.kernels.items():
        try:
            (code,) = compile_kernel(function, [find_chip(CHIP)])
        except AdrenoSimError as error:
            print(f"{name}: {error}", file=sys.stderr)
        else:
            found[name] = code, bool(code.stand_ins) or _has_own_ways(function)
    return found


def _has_own_ways(function: ir.Function) -> bool:
    """Whether Mesa's driver has code of its own for some of a kernel: vloadN and vstoreN access one element after the other, and
    halves of images come as floats."""
    instrs = [instr for block in function.blocks for instr in block.instrs if instr.callee is not None]
    return any(builtin_of(instr).vector is not None or instr.callee.name.endswith("_imageh") for instr in instrs)


def _count(code: MachineCode) -> Code:
    lines = [line for line in code.text.splitlines() if not _NEWER.match(line)]
    return Code(code.registers, count_instructions("\n".join(lines)))


# Both


def compare_kernels(folder: Path, judge: Path, kernels: int, seed: int, seconds: int = SECONDS) -> Iterator[Pair]:
    """Yields kernels that have code here and there, until there are so many that both compile in the same way."""
    for source, there in ask_judge(judge, draw_sources(folder, seed), seconds):
        here = compile_here(source) if there else {}
        for name in sorted(there.keys() & here.keys()):
            (code, apart), judged = here[name], there[name]
            codes = [_count(one) for one in (code.rolled, code.unrolled)]
            own = min(codes, key=lambda one: abs(one.count - judged.count))  # it unrolls by rules of its own
            yield Pair(f"{source.name} {name}", own, judged, apart)
            kernels -= not apart
        if kernels <= 0:
            return


@dataclass(frozen=True)
class Agreement:
    """Shares of kernels: with as many registers, within two, with as many instructions within 15%."""

    kernels: int
    equal: float
    near: float
    alike: float

    def __str__(self) -> str:
        registers = f"registers equal for {self.equal:.0%}, within 2 for {self.near:.0%}"
        return f"{self.kernels} kernels: {registers}; instructions within 15% for {self.alike:.0%}"


def compare(pairs: Sequence[Pair]) -> Agreement:
    """Returns how often the two agree."""
    count = max(1, len(pairs))
    apart = [abs(pair.here.registers - pair.there.registers) for pair in pairs]
    shares = sum(one == 0 for one in apart), sum(one <= 2 for one in apart), sum(abs(pair.off) <= 0.15 for pair in pairs)
    return Agreement(len(pairs), *(share / count for share in shares))


def describe_difference(pairs: Sequence[Pair]) -> str:
    """Returns by how many instructions they differ in each category."""
    texts = []
    for name in ("alu_full", "alu_half", "special", "moves", "texture", "memory", "flow", "barriers"):
        here = sum(getattr(pair.here.instructions, name) for pair in pairs)
        there = sum(getattr(pair.there.instructions, name) for pair in pairs)
        texts.append(f"{name} {here - there:+} of {there}")
    return ", ".join(texts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps the archives")
    parser.add_argument("judge", type=Path, help="what ci/rusticl/build.sh made")
    parser.add_argument("--kernels", type=int, default=100, help="that both compile in the same way (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="draws the sources (default 0)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"of a processor for a source (default {SECONDS})")
    parser.add_argument("--all", action="store_true", help="print a line for each kernel")
    options = parser.parse_args()
    pairs = []
    try:
        folder, judge = options.folder.resolve(), options.judge.resolve()
        for pair in compare_kernels(folder, judge, options.kernels, options.seed, options.seconds):
            pairs.append(pair)
            if options.all:
                figures = (
                    f"registers {pair.here.registers} {pair.there.registers}, instructions {pair.here.count} {pair.there.count}"
                )
                print(f"{pair.name}: {figures} ({pair.off:+.0%}){', a way of its own there' * pair.apart}", flush=True)
    except (ArchiveError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    same, other = ([pair for pair in pairs if pair.apart is apart] for apart in (False, True))
    print(f"the same work: {compare(same)}")
    if same:
        print(f"instructions here beside those there: {describe_difference(same)}")
    print(f"a way of its own there: {compare(other)}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
