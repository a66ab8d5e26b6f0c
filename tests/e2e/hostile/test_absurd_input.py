"""Absurd sizes and malformed sources given to `adreno-sim kernel`: one clear refusal each, and no gigabytes on the way to it.

All cases run one after the other in one process whose address space is limited, so that a case which takes memory it
should not take fails there and not on the whole machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 3 << 30  # bytes of address space; libraries and the compiler reserve a good part of it
MOST = 700 << 20  # bytes that the process may have had in memory at once
SLOWEST = 20.0  # seconds of processor time of one case

BUFFER = '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\n'
NUMBER = '[[argument]]\nkind = "scalar"\nvalue = 3\n'
GOOD = "kernel void k(global float *a, int n) { a[get_global_id(0) & 3] = n; }\n"
NEWER = 'options = "-cl-std=CL2.0"\n'
USUAL = "global_size = [4]\n" + BUFFER + NUMBER


def sized(**changes: object) -> str:
    """The usual launch with top-level keys changed or added; values as TOML text."""
    return "".join(f"{key} = {value}\n" for key, value in ({"global_size": "[4]"} | changes).items()) + BUFFER + NUMBER


def body(statements: str, before: str = "") -> str:
    return before + "kernel void k(global float *a, int n) { " + statements + " }\n"


def image(kind: str, **extents: int) -> tuple[str, str]:
    """A kernel over one image, and its launch."""
    keys = "".join(f"{key} = {value}\n" for key, value in extents.items())
    return (
        f"kernel void k(read_only {kind}_t a) {{ }}",
        f'global_size = [4]\n[[argument]]\nkind = "{kind}"\ndata = "random"\n{keys}',
    )


def nested(depth: int) -> str:
    loops = "".join(f"for (int i{n} = 0; i{n} < 1; i{n}++) {{\n" for n in range(depth))
    return body(loops + "a[0] = n;" + "}" * depth)


MACROS = "".join(f"#define M{n} " + f"M{n + 1} " * 8 + "\n" for n in range(9)) + "#define M9 1+\n"
LARGE = str(1 << 62)
FULL = '[run]\nchecks = "full"\n'

CASES: dict[str, tuple[str, str, int, str]] = {
    "a trillion work-items": (
        GOOD, 'global_size = [1099511627776]\n[run]\ntimeout = 0.2\n' + BUFFER + NUMBER, 1,
        "still running when the launch's time was over",
    ),
    "too many work-items": (GOOD, sized(global_size="[1048576, 1048577]"), 1, "CL_INVALID_GLOBAL_WORK_SIZE"),
    "a size beyond 64 bits": (GOOD, sized(global_size="[9223372036854775808]"), 2, "global_size: expected a list"),
    "a negative size": (GOOD, sized(global_size="[-1]"), 2, "global_size: expected a list"),
    "a fraction": (GOOD, sized(global_size="[4.5]"), 2, "global_size: expected a list"),
    "text for a size": (GOOD, sized(global_size='["four"]'), 2, "global_size: 'four': no value is named four"),
    "an expression of any size": (GOOD, sized(global_size='["9**9**9**9"]'), 2, "a number on the way is 2**64 or more"),
    "five dimensions": (GOOD, sized(global_size="[1, 1, 1, 1, 1]"), 2, "global_size: expected a list"),
    "NaN for a size": (GOOD, sized(local_size="[nan]"), 2, "local_size: expected a list"),
    "a huge group": (GOOD, sized(local_size=f"[{LARGE}]"), 1, "CL_INVALID_WORK_GROUP_SIZE"),
    "a group of nothing": (GOOD, sized(local_size="[0]"), 1, "CL_INVALID_WORK_GROUP_SIZE"),
    "a required group of 2**96": (
        "__attribute__((reqd_work_group_size(4294967295, 4294967295, 4294967295)))\n" + GOOD, USUAL, 1,
        "CL_INVALID_WORK_ITEM_SIZE",
    ),
    "too many groups for the order of turns": (
        GOOD, 'global_size = [1073741824]\nlocal_size = [1]\n[run]\nchecks = "full"\n' + BUFFER + NUMBER, 3,
        "work-groups at level full",
    ),
    "a huge buffer": (GOOD, USUAL.replace("count = 4", f"count = {LARGE}"), 1, "CL_INVALID_BUFFER_SIZE"),
    "a huge generated buffer": (
        GOOD, USUAL.replace("count = 4", f'count = {LARGE}\ndata = "random"'), 1,
        "CL_INVALID_BUFFER_SIZE",
    ),
    "a huge storage": (GOOD, USUAL + f"[storage.s]\nnbytes = {LARGE}\n", 1, "CL_INVALID_BUFFER_SIZE"),
    "an offset far behind the storage": (
        GOOD, USUAL.replace("count = 4", f'count = 4\nstorage = "s"\noffset = {LARGE}') + "[storage.s]\nnbytes = 64\n", 1,
        "the storage has 64 bytes",
    ),
    "huge local memory": (
        "kernel void k(local float *a) { }", f'global_size = [4]\n[[argument]]\nkind = "local"\nnbytes = {LARGE}\n', 1,
        "LOCAL_MEM_SIZE",
    ),
    "a huge image": (*image("image2d", width=1 << 40, height=1 << 40), 1, "CL_INVALID_"),
    "a long row": (*image("image2d", width=4, height=4, row_pitch=1 << 40), 1, "CL_INVALID_"),
    "a large slice": (*image("image2d_array", width=4, height=4, layers=4, slice_pitch=(1 << 63) - 1), 1, "CL_INVALID_"),
    "an image too wide": (*image("image2d", width=16385, height=1), 1, "IMAGE2D_MAX_WIDTH"),
    "many layers": (*image("image1d_array", width=4, layers=1 << 62), 1, "CL_INVALID_"),
    "race cells larger than memory": (
        "kernel void k(global char *a) { a[get_global_id(0)] = a[get_global_id(0) + 1]; }",
        'global_size = [4]\n[run]\nchecks = "full"\n[[argument]]\nkind = "buffer"\ndtype = "int8"\ncount = 268435456\n', 3,
        "level full needs",
    ),
    "no end of time": (GOOD, "global_size = [4]\n[run]\ntimeout = inf\n" + BUFFER + NUMBER, 2, "option timeout=inf"),
    "no time": (GOOD, "global_size = [4]\n[run]\ntimeout = 0\n" + BUFFER + NUMBER, 2, "option timeout=0"),
    "a vector for a number": (GOOD, USUAL.replace("value = 3", "value = [1, 2]"), 2, "expected a number for int, got 2 values"),
    "NaN for an integer": (GOOD, USUAL.replace("value = 3", "value = nan"), 2, "value: expected int, got nan"),
    "progression beyond its type": (
        GOOD, USUAL.replace("count = 4", 'count = 4\ndata = {fill = "arange", start = 9223372036854775807}').replace("float32",
        "int64"),
        2, "arange: expected int64",
    ),
    "a key without end": (GOOD, "x" * 100_000 + " = 1\n" + USUAL, 2, "no such key"),
    "thousands of parameters": (
        f"kernel void k({', '.join(f'int a{n}' for n in range(3000))}) {{ }}", USUAL, 2,
        "takes 3000 arguments",
    ),
    "macros without end": (MACROS + body("a[0] = M0 1;"), USUAL, 2, "MiB of memory"),
    "a huge __global variable": (
        body("g[n] = a[0]; a[0] = g[n];", "global float g[1 << 26];\n"), NEWER + USUAL, 3,
        "variable 'g' of program scope",
    ),
    "a static variable": (body("static global int c; c += n; a[0] = c;"), NEWER + USUAL, 3, "variable 'k.c' of program scope"),
    "huge constant data": (body("a[0] = t[n];", "constant float t[500000000] = {1};\n"), USUAL, 1, "MAX_CONSTANT_BUFFER_SIZE"),
    "constant data that only the reference takes": (
        body("a[0] = t[n];", "constant float t[200000000] = {1};\n"), 'device = "sim:reference"\n' + USUAL, 3,
        "bytes of program-scope data",
    ),
    "huge private memory": (body("float t[2000000000]; t[n] = 1; a[0] = t[n];"), USUAL, 3, "variable t of 8000000000 bytes"),
    "huge local arrays": (body("local float t[1 << 28]; t[n] = 1; a[0] = t[n];"), USUAL, 1, "LOCAL_MEM_SIZE"),
    "a pyramid of calls": (
        body("a[0] = f19(n);", "float f0(float x) { return x * 3; }\n" + "".join(
            f"float f{n}(float x) {{ return f{n - 1}(x) + f{n - 1}(x + 1) * f{n - 1}(x + 2); }}\n" for n in range(1, 20))),
        USUAL, 3, "once inlined",
    ),
    "loops nested a hundred deep": (nested(100), USUAL, 0, ""),
    "no end of brackets": (body("a[0] = " + "(" * 20_000 + "1" + ")" * 20_000 + ";"), USUAL, 2, "nesting level"),
    "an open comment": ("/* " + GOOD, USUAL, 2, "unterminated"),
    "a file that includes itself": ('#include "k.cl"\n' + GOOD, USUAL, 2, "nested too deeply"),
}  # fmt: skip

CHILD = """
import contextlib, io, json, os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
from adreno_sim.cli.main import main
from adreno_sim.frontend import compiler_process
compiler_process.MEMORY_LIMIT = 1 << 29
for name in json.load(open("names.json")):
    told, out, start = io.StringIO(), io.StringIO(), sum(os.times()[:4])  # processor time, also of processes that ended
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(out):
        level = "full" if 'checks = "full"' in open(f"{name}/launch.toml").read() else "bounds"
        code = main(["kernel", f"{name}/k.cl", "--launch", f"{name}/launch.toml", "--checks", level])
    text = told.getvalue() + out.getvalue()
    status = open("/proc/self/status").read()  # ru_maxrss begins at what the parent had
    most = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    print(json.dumps([code, text[:20000], sum(os.times()[:4]) - start, most]), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, float, int]]:
    """Exit code, text, seconds and the process's largest size so far, by case."""
    folder: Path = tmp_path_factory.mktemp("absurd")
    for number, (source, launch, _, _) in enumerate(CASES.values()):
        (folder / str(number)).mkdir()
        (folder / str(number) / "k.cl").write_text(source)
        (folder / str(number) / "launch.toml").write_text(launch)
    (folder / "names.json").write_text(json.dumps([str(number) for number in range(len(CASES))]))
    program = CHILD.replace("LIMIT, LIMIT", f"{LIMIT}, {LIMIT}")
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    lines = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(lines) == len(CASES), f"ended in {list(CASES)[len(lines)]!r}: {done.stderr[-2000:]}"
    return dict(zip(CASES, lines, strict=True))


@pytest.mark.share()
@pytest.mark.parametrize("name", CASES)
def test_absurd_input_is_refused(outcomes: dict[str, tuple[int, str, float, int]], name: str) -> None:
    code, text, seconds, most = outcomes[name]
    assert (code, "Traceback" in text, "internal error" in text) == (CASES[name][2], False, False), text[:1000]
    assert CASES[name][3] in text, text[:1000]
    assert len(text) < 4000
    assert seconds < SLOWEST
    assert most < MOST
