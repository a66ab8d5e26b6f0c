"""Running clang: diagnostics as data, limits, and no trace on disk."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adreno_sim.base.errors import AdrenoSimError, BuildError
from adreno_sim.base.processes.scratch import PREFIX
from adreno_sim.frontend import compiler_process, diagnostics, driver
from adreno_sim.frontend.compiler_crash import explain_crash
from adreno_sim.frontend.compiler_process import Ended
from adreno_sim.frontend.diagnostics import parse_diagnostics
from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.options import parse_options
from adreno_sim.frontend.program import compile_source

GOOD = "__kernel void k(__global int *a) { a[get_global_id(0)] = 1; }"
TARGET = FrontEndTarget()


def build(source: str, options: str = "", target: FrontEndTarget = TARGET) -> bytes:
    return run_clang(source, parse_options(options), target).bitcode


def test_an_error_has_place_line_and_caret() -> None:
    with pytest.raises(BuildError) as caught:
        build("__kernel void k(__global int *a) {\n  a[0] = b;\n}")
    (found,) = caught.value.diagnostics
    assert (found.file, found.line, found.column, found.severity) == ("", 2, 10, "error")
    assert (found.message, found.source, found.caret.index("^")) == ("use of undeclared identifier 'b'", "  a[0] = b;", 9)
    assert str(caught.value).splitlines() == ["kernel:2:10: error: use of undeclared identifier 'b'", "  a[0] = b;", "         ^"]


def test_warnings_come_with_a_program_that_builds() -> None:
    source = "__kernel void k(__global int *a) {\n  int b[3] = {0};\n  b[5] = 1;\n  a[0] = b[a[1]] / 0;\n}"
    warnings = compile_source(source, target=TARGET).warnings
    assert [(warning.line, warning.severity) for warning in warnings] == [(3, "warning"), (2, "note"), (4, "warning")]
    assert "array-bounds" in warnings[0].message
    assert "division by zero" in warnings[2].message


def test_a_quoted_line_is_no_message() -> None:
    source = "__kernel void k(__global int *a) {\n  a[0] = 1 / 0; /* x:1:1: error: no */ a[1] = 2 / 0; // y:2:3: warning: no\n}"
    warnings = compile_source(source, target=TARGET).warnings
    assert [(warning.file, warning.line, warning.column) for warning in warnings] == [("", 2, 12), ("", 2, 49)]


def test_warnings_without_end_hide_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "MOST_WARNINGS", 3)
    body = "\n1;" * 9
    assert len(compile_source(f"__kernel void k(__global int *a) {{ {body} }}", target=TARGET).warnings) == 3
    with pytest.raises(BuildError, match="undeclared identifier 'b'") as caught:
        build(f"__kernel void k(__global int *a) {{ {body} a[0] = b; {body} }}")
    assert sorted(found.severity for found in caught.value.diagnostics) == ["error"] + ["warning"] * 3


def test_the_line_of_a_generated_source_is_clipped_around_its_caret() -> None:
    source = "__kernel void k(__global int *a) { a[0] = " + "1 + " * 500 + "oops" + " + 1" * 500 + "; }"
    with pytest.raises(BuildError) as caught:
        build(source)
    found = caught.value.diagnostics[0]
    assert len(found.source) <= 200
    assert found.source[found.caret.index("^") :].startswith("oops")


def test_diagnostics_of_included_files_and_without_place() -> None:
    text = "/x/y.h:3:1: warning: one\n{}foo\n{}^\n<stdin>:4:2: note: two\nerror: unknown argument: '-z'\nnoise\n"
    one, two, three = parse_diagnostics(text.format("   31 | ", "      | "))
    assert parse_diagnostics(text.format("", "")) == [one, two, three]  # clang 16 and older have no margin
    assert (one.file, one.line, one.source, one.caret) == ("/x/y.h", 3, "foo", "^")
    assert (two.file, two.severity, two.source) == ("", "note", "")
    assert (three.line, three.message) == (0, "unknown argument: '-z'")


def test_what_a_target_announces() -> None:
    source = (
        """
    #ifdef cl_khr_fp64
    #error fp64
    #endif
    #if !defined(cl_khr_subgroups) || !defined(cl_qcom_dot_product8) || defined(cl_khr_depth_images) || !defined(cl_khr_fp16)
    #error extensions
    #endif
    #if __OPENCL_VERSION__ != 300 || VENDOR != 5
    #error version
    #endif
    """
        + GOOD
    )
    extensions = frozenset({"cl_khr_subgroups", "cl_qcom_dot_product8"})
    target = FrontEndTarget(300, extensions, fp16=True, fp64=False, macros=("VENDOR=5",))
    build(source, "-cl-std=CL3.0", target)


def test_double_needs_fp64() -> None:
    source = "__kernel void k(__global double *a) { a[0] = a[1] * 2.0; }"
    build(source, target=FrontEndTarget(fp64=True))
    with pytest.raises(BuildError, match="double"):
        build(source, target=FrontEndTarget(fp64=False))


def test_half_needs_fp16() -> None:
    source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n__kernel void k(__global half *a) { a[0] = a[1] * 2.0h; }"
    build(source, target=FrontEndTarget(fp16=True))
    with pytest.raises(BuildError, match="half"):
        build(source, target=FrontEndTarget(fp16=False))


ABSURD = {
    "brackets": "__kernel void k(__global int *a) { a[0] = " + "(" * 100_000 + "1" + ")" * 100_000 + "; }",
    "recursive include": '#include "/dev/stdin"\n',
    "not text": "\udcff\udcfe\0((((",
    "endless comment": "/*" * 10_000,
    "no kernel at all": "int f(int) { return g(; }",
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_source_is_a_build_error(name: str) -> None:
    with pytest.raises(BuildError):
        build(ABSURD[name])


MACROS = "".join(f"#define M{n} M{n + 1} M{n + 1}\n" for n in range(40)) + "#define M40 1+\n"
LIMITED = {
    "a long sum": ("TIME_LIMIT", 0.3, "a[0] = " + "a[1] + " * 50_000 + "1;", "took longer than"),
    "headers that include each other twice": ("TIME_LIMIT", 0.3, '\n#include "h0.h"\n', "took longer than"),
    "macros that double": ("MEMORY_LIMIT", 1 << 29, f"\n{MACROS}\na[0] = M0 1;", "needs more than 512 MiB of memory"),
    "no end of statements": ("OUTPUT_LIMIT", 1 << 20, "a[0] += a[1];\n" * 20_000, "wrote more than 1 MiB"),
    "no end of messages": ("OUTPUT_LIMIT", 1 << 20, "\n1;" * 50_000, "wrote more than 1 MiB"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_program_beyond_a_limit_is_refused_in_one_line(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, value, body, message = LIMITED[name]
    for number in range(40):
        (tmp_path / f"h{number}.h").write_text(f'#include "h{number + 1}.h"\n' * 2)
    (tmp_path / "h40.h").write_text("")
    monkeypatch.setattr(compiler_process, limit, value)
    build(GOOD, f"-I {tmp_path}")
    start = time.monotonic()
    with pytest.raises(BuildError, match=f"^the compiler {message}.*adreno-sim's limit for one program") as caught:
        build(f"__kernel void k(__global int *a) {{ {body} }}", f"-I {tmp_path}")
    assert time.monotonic() - start < 60
    assert len(str(caught.value).splitlines()) == 1


def test_a_source_that_is_too_large_is_not_tried() -> None:
    with pytest.raises(BuildError, match="expected at most"):
        build(" " * (17 << 20))


def test_many_threads_at_once() -> None:
    sources = [GOOD.replace("1;", f"{value};") for value in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(build, sources))) == 12


def test_nothing_is_written(tmp_path: Path) -> None:
    """A home that cannot be written is no obstacle, and the working folder stays empty."""
    home = tmp_path / "home"
    work = tmp_path / "work"
    home.mkdir()
    work.mkdir()
    home.chmod(0o500)
    program = f"from adreno_sim.frontend.program import *\ncompile_source({GOOD!r}, target=FrontEndTarget())"
    root = str(Path(driver.__file__).parents[2])
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": root,
        "TMPDIR": str(work),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run([sys.executable, "-c", program], cwd=work, env=environment, check=True)
    assert list(home.iterdir()) == list(work.iterdir()) == []


def test_another_clang_is_checked_when_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "clang"
    old.write_text("#!/bin/sh\necho clang version 9.0.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("ADRENO_SIM_CLANG", str(old))
    with pytest.raises(AdrenoSimError, match=r"expected clang 17 or newer, got clang version 9\.0\.1"):
        build(GOOD)
    monkeypatch.setenv("ADRENO_SIM_CLANG", str(tmp_path / "absent"))
    with pytest.raises(AdrenoSimError, match="expected a clang that runs"):
        build(GOOD)


def test_a_clang_named_by_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ADRENO_SIM_CLANG", raising=False)
    expected = build(GOOD)
    own = tmp_path / "clang"
    own.write_text(f'#!/bin/sh\necho used >> {tmp_path}/log\nexec {driver.compiler()[0]} clang "$@"\n')
    own.chmod(0o755)
    monkeypatch.setenv("ADRENO_SIM_CLANG", str(own))
    assert build(GOOD) == expected
    assert (tmp_path / "log").read_text() == "used\nused\n"  # its version, and the program


@pytest.mark.parametrize("pragma", ["overflow_stack", "crash", "parser_crash", "llvm_unreachable"])
def test_pragmas_that_crash_clang_do_nothing(pragma: str) -> None:
    compile_source(f'_Pragma("clang __debug {pragma}")\nkernel void k(global int *a) {{ a[0] = 1; }}', target=TARGET)


def test_damaged_sources_build_or_are_refused() -> None:
    """Every damage ends in a program, or in an error that a user understands; never in another exception."""
    whole = """typedef struct { int a; float4 b[2]; } S;
    int helper(int *p, int n) { switch (n) { case 1: return *p; default: *p += n; } return n ? *p : 3; }
    __kernel void k(__global float4 *f, __local int *l, S s, read_only image2d_t image, int n) {
      const sampler_t sampler = CLK_FILTER_NEAREST; int x = n; __local float t[4]; float3 v = f[0].xyz;
      for (int i = 0; i < helper(&x, n); ++i) { t[i] = v.y * s.b[i].x; if (l[i] > 3) break; }
      f[n] = read_imagef(image, sampler, (int2)(x, 1)) + t[n & 3]; printf("%d", x);
    }"""
    words = re.findall(r"\w+|\s+|[^\w\s]", whole)
    choose = random.Random(11)
    outcomes = set()
    for _ in range(60):
        damaged = list(words)
        at = choose.randrange(len(words))
        damaged[at] = choose.choice(
            ["", damaged[at] * 2, "0", "-1", "long", "half", "(", "}", "*", "&", "__local", "const", "[3]", "void"]
        )
        try:
            outcomes.add(type(compile_source("".join(damaged), target=TARGET)).__name__)
        except AdrenoSimError as error:
            outcomes.add(type(error).__name__)
    assert {"Module", "BuildError"} <= outcomes


def test_text_nested_too_deeply_for_clang_is_refused_with_whose_limit_that_is():
    source = "kernel void k(global int *a) {{ a[0] = {}1; }}"
    with pytest.raises(
        BuildError, match=r"^the compiler's stack overflowed, which is clang's own limit for .*: split what"
    ) as caught:
        compile_source(source.format("- " * 100_000), target=FrontEndTarget(300))
    assert "\n" not in str(caught.value)
    assert "k" in compile_source(source.format("- " * 1000), target=FrontEndTarget(300)).kernels


STACK = "PLEASE submit a bug report\nStack dump:\n0.\tProgram arguments: clang\n1.\t<stdin>:1:9: parsing function body 'k'\n"


@pytest.mark.parametrize("end", ["exit 139", "exit 134", "kill -SEGV $$", "kill -ABRT $$", "exit 132"])
def test_a_crash_of_clang_is_said_to_be_one_and_its_program_is_kept(tmp_path, monkeypatch, end):
    fake = tmp_path / "clang"
    (tmp_path / "stack").write_text(STACK)
    fake.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo clang version 99 && exit\ncat {tmp_path}/stack >&2\n{end}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("ADRENO_SIM_CLANG", str(fake))
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        with pytest.raises(BuildError) as caught:
            compile_source(GOOD + " // é", target=TARGET)
    said = str(caught.value)
    assert re.match(
        r"the compiler crashed with SIG(SEGV|ABRT|ILL) at 1:9 \(parsing function body 'k'\), which is a defect of clang's", said
    )
    assert str(fake) in said
    assert "github.com/llvm" in said
    assert "\n" not in said
    (kept,) = (tmp_path / "cache").rglob("*.cl")
    assert str(kept) in said
    lines = kept.read_text().splitlines()
    assert lines[0] == GOOD + " // é"
    assert all(line.startswith("//") for line in lines[1:])
    assert any("-cl-std=CL1.2" in line and str(fake) in line for line in lines)
    assert "// Stack dump:" in lines


def test_the_file_of_a_crash_compiles_as_the_program_does(tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    text = explain_crash(Ended(139, b"", STACK + "ends in a backslash \\\nx"), GOOD.encode(), ["clang", "-a b"], "99")
    (kept,) = tmp_path.rglob("*.cl")
    assert str(kept) in text
    assert "k" in compile_source(kept.read_text(), target=TARGET).kernels


def test_a_crash_whose_program_cannot_be_kept_is_still_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "file" / "below"))
    text = explain_crash(Ended(139, b"", STACK), GOOD.encode(), ["clang"], "99")
    assert "crashed with SIGSEGV" in text
    assert "could not be kept" in text
    assert "\n" not in text
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    (tmp_path / f"{PREFIX}sandbox").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / f"{PREFIX}sandbox"))  # which goes with the process
    assert "could not be kept" in explain_crash(Ended(139, b"", STACK), GOOD.encode(), ["clang"], "99")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert f"kept in {tmp_path}/adreno-sim-crash-" in explain_crash(Ended(139, b"", STACK), GOOD.encode(), ["clang"], "99")


@pytest.mark.parametrize("status", [0, 1, 2, -9, -11, -24, -25, 255, 126, 127, 137])
def test_another_end_is_no_crash(status):
    """-11 without clang's own words is a stack that overflowed, whatever warnings came before."""
    assert Ended(status, b"", "<stdin>:1:1: warning: something").find_crash() == ""
