"""A program that reads files is what these hold now: in one process, on another device, with and without the disk cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.frontend import driver, program
from adreno_sim.frontend.file_references import may_read_files
from adreno_sim.frontend.options import parse_options

KERNEL = "__kernel void k(__global int *a) { a[0] = VALUE; }"
DEVICES = ("sim:adreno-740", "sim:adreno-740,cache=false", "sim:adreno-650")

WAYS = {  # how VALUE comes from the file `value.h` in FOLDER
    "include": ('#include "value.h"\n', "-I FOLDER"),
    "include by a macro": ("#define FILE <value.h>\n#include FILE\n", "-IFOLDER"),
    "absolute": ('#include "FOLDER/value.h"\n', "-I FOLDER"),
    "spliced": ('#inc\\\nlude "FOLDER/value.h"\n', "-I FOLDER"),
    "digraph": ('%: /**/ include "FOLDER/value.h"\n', "-I FOLDER"),
    "import": ('#import "FOLDER/value.h"\n', "-I FOLDER"),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))


def result(device: str, source: str, options: str) -> int:
    opened = open_device(device)
    view = opened.view(opened.allocate(4), BufferSpec(4, "int32"))
    opened.write(view, np.zeros(1, np.int32))
    opened.launch(opened.build(source, options)["k"], (1,), (1,), [view])
    return int(opened.read(view)[0])


def check_follows(source: str, options: str, write: Callable[[int], None]) -> None:
    """A change is seen on every device at once, and so is the change back to what was built before."""
    for value in (3, 4, 3):
        write(value)
        assert [result(device, source, options) for device in DEVICES] == [value] * len(DEVICES)
    program._cache.clear()  # as in a new process
    write(5)
    assert result(DEVICES[0], source, options) == 5


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_header_gives_the_new_program(tmp_path: Path, way: str) -> None:
    source, options = (text.replace("FOLDER", str(tmp_path)) for text in WAYS[way])
    check_follows(source + KERNEL, options, lambda value: write(tmp_path / "value.h", f"#define VALUE {value}\n"))


@pytest.mark.parametrize("way", ["absolute", "spliced", "digraph", "import"])
def test_a_program_that_reads_any_file_follows_it_too(tmp_path: Path, way: str) -> None:
    source = WAYS[way][0].replace("FOLDER", str(tmp_path))
    for value in (3, 4, 3):
        write(tmp_path / "value.h", f"#define VALUE {value}\n")
        assert [result(f"{device},unsafe_includes=true", source + KERNEL, "") for device in DEVICES] == [value] * len(DEVICES)


def test_a_header_of_a_header(tmp_path: Path) -> None:
    write(tmp_path / "outer.h", '#include "value.h"\n')
    source = f'#include "outer.h"\n{KERNEL}'
    check_follows(source, f"-I{tmp_path}", lambda value: write(tmp_path / "value.h", f"#define VALUE {value}\n"))


@pytest.mark.parametrize("test", ["include", "embed"])
def test_whether_there_is_a_file(tmp_path: Path, test: str) -> None:
    there = tmp_path / "value.h"
    source = f'#if __has_{test}("{there}")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif\n{KERNEL}'
    assert [result(device, source, f"-I {tmp_path}") for device in DEVICES] == [2] * 3
    write(there, "x")
    assert [result(device, source, f"-I {tmp_path}") for device in DEVICES] == [1] * 3


def test_a_header_in_an_earlier_folder(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    options = f"-I {tmp_path}/first -I {tmp_path}/second"
    write(tmp_path / "second" / "value.h", "#define VALUE 2\n")
    assert result(DEVICES[0], f'#include "value.h"\n{KERNEL}', options) == 2
    write(tmp_path / "first" / "value.h", "#define VALUE 1\n")
    assert result(DEVICES[0], f'#include "value.h"\n{KERNEL}', options) == 1


def test_a_header_that_has_not_changed_gives_the_same_module(tmp_path: Path) -> None:
    """Clean twin: what was proven and compiled of a program is used again."""
    source = f'#include "{tmp_path}/value.h"\n{KERNEL}'
    target = driver.FrontEndTarget()
    for text in ("#define VALUE 1\n", "#define VALUE 1  // changed, and yet the same\n"):
        write(tmp_path / "value.h", text)
        built = program.compile_source(source, f"-I{tmp_path}", target=target)
        again = program.open_source(source, f"-I{tmp_path}", target=target)
        assert built is again
    write(tmp_path / "value.h", "#define VALUE 2\n")
    assert program.compile_source(source, f"-I{tmp_path}", target=target) is not built


def test_a_program_without_files_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clean twin: words that only look like a directive, and options that name no folder."""
    source = f"// embedding, includes, important\n#define VALUE 7\n{KERNEL}"
    assert not may_read_files(source, parse_options("-DA=1 -w"))
    assert result(DEVICES[0], source, "-DA=1") == 7
    monkeypatch.setattr(program, "run_clang", lambda *_, **__: pytest.fail("compiled again"))
    assert result(DEVICES[0], source, "-DA=1") == 7


def write(path: Path, text: str) -> None:
    """A file as an editor leaves it that keeps size and time stamp: only its content tells."""
    path.write_text(text)
    os.utime(path, (1, 1))
