"""Machine code of many kernels takes few mappings, of which Linux gives a process 65,530."""

from __future__ import annotations

import ctypes
import gc
import weakref
from pathlib import Path

import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.engine.llvm import mappings, objects

MODULE = """; quick
@table{number} = private constant [4 x i32] [i32 {number}, i32 2, i32 3, i32 4]
declare ptr @memcpy(ptr, ptr, i64)
define i32 @pick(i32 %at) {{
  %place = getelementptr [4 x i32], ptr @table{number}, i32 0, i32 %at
  %copy = alloca i32
  %unused = call ptr @memcpy(ptr %copy, ptr %place, i64 4)
  %value = load i32, ptr %copy
  ret i32 %value
}}
"""
KERNELS = 300
OTHERS = 60
"""Mappings that Python and LLVM make for themselves meanwhile."""


def load_kernels(numbers: range) -> list[objects.Loaded]:
    machine = objects.machine()
    return [machine.load(machine.compile_here(MODULE.format(number=number)), "pick") for number in numbers]


def pick(loaded: objects.Loaded, at: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(loaded.address)(at))


def count_mappings() -> int:
    gc.collect()
    return len(Path("/proc/self/maps").read_text().splitlines())


def count_mappings_of(kernels: int, maps: str = mappings._MAPPINGS) -> int:
    """How many more mappings there are after so many more kernels, which all run."""
    mappings._MAPPINGS, objects.MOST_UNJOINED = maps, 0  # of the fresh process
    held = load_kernels(range(1))
    before = count_mappings()
    held += load_kernels(range(1, kernels))
    assert [pick(loaded, 0) + pick(loaded, 1) for loaded in held] == [number + 2 for number in range(kernels)]
    return count_mappings() - before


def test_hundreds_of_kernels_share_mappings() -> None:
    assert call_in_fresh_process(count_mappings_of, KERNELS) < OTHERS


def test_no_mappings_are_looked_for_while_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs a few kernels does not read the list of its mappings for each."""
    joined: list[int] = []
    monkeypatch.setattr(objects, "join_constants", joined.append)
    monkeypatch.setattr(objects, "MOST_UNJOINED", next(objects._NUMBER) + 2)
    held = load_kernels(range(4))
    assert joined == [loaded.address for loaded in held[2:]]


def test_where_they_cannot_be_joined_each_has_its_own(tmp_path: Path) -> None:
    """Without it the first test would be good for nothing; and kernels run all the same."""
    assert call_in_fresh_process(count_mappings_of, 50, str(tmp_path / "none")) >= 80


def test_kernels_that_go_leave_the_others() -> None:
    count = KERNELS // 4
    held = load_kernels(range(count))
    assert [pick(loaded, 0) for loaded in held] == list(range(count))
    del held[::2]  # leaves gaps between the others
    gc.collect()
    assert [pick(loaded, 0) + pick(loaded, 3) for loaded in held] == [number + 4 for number in range(1, count, 2)]
    held += load_kernels(range(count, count + 30))
    assert [pick(loaded, 0) for loaded in held[-30:]] == list(range(count, count + 30))


def test_a_linker_goes_with_the_last_of_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM keeps something of each module that a linker has loaded: a process that runs new kernels without end grew."""
    made: list[weakref.ref[object]] = []
    make = objects.llvm.create_lljit_compiler

    def note(*args: object, **options: object) -> object:
        linker = make(*args, **options)
        made.append(weakref.ref(linker))
        return linker

    monkeypatch.setattr(objects.llvm, "create_lljit_compiler", note)
    monkeypatch.setattr(objects, "MOST_LINKED", 4)
    monkeypatch.setattr(objects, "_machine", None)
    held = load_kernels(range(18))
    gc.collect()
    assert 5 <= len(made) <= 6
    assert [linker() is not None for linker in made] == [False] * (len(made) - 1) + [True]
    assert [pick(loaded, 0) + pick(loaded, 3) for loaded in held] == [number + 4 for number in range(18)]
    del held[::3]
    gc.collect()
    assert [pick(loaded, 0) for loaded in held] == [number for number in range(18) if number % 3]


def test_what_is_no_constant_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only read-only memory of no file, right before the code."""
    lines = {
        "7f0000000000-7f0000001000 r--p 00000000 00:00 0 \n": (0x7F0000000000, 0x7F0000001000),
        "7f0000000000-7f0000001000 r--p 00000000 08:01 99 /lib/libc.so.6\n": (0, 0),
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n": (0, 0),
        "7effffffe000-7efffffff000 r--p 00000000 00:00 0 \n": (0, 0),
    }
    code = "7f0000001000-7f0000002000 r-xp 00000000 00:00 0 \n"
    for line, expected in lines.items():
        (tmp_path / "maps").write_text(line + code)
        monkeypatch.setattr(mappings, "_MAPPINGS", str(tmp_path / "maps"))
        assert mappings._find_constants(0x7F0000001010) == expected
