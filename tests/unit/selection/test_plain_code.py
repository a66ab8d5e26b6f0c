"""Tests whose kernels LLVM leaves as they are: which, and that their code is never taken for what users run."""

from __future__ import annotations

from pathlib import Path

from selection import plain_code

from adreno_sim.engine.llvm import objects

TEXT = """define i32 @k(i32 %x) {
  %slot = alloca i32
  store i32 %x, ptr %slot
  %one = load i32, ptr %slot
  store i32 %one, ptr %slot
  %two = load i32, ptr %slot
  ret i32 %two
}"""


def test_one_test_in_four_keeps_what_users_run():
    path = Path("tests/kernels/proofs/test_x.py")
    kept = [number for number in range(1000) if not plain_code.is_unoptimised(f"{path}::test_a[{number}]", path)]
    assert 200 < len(kept) < 300


def test_in_other_folders_all_do():
    path = Path("tests/kernels/fuzz/test_x.py")
    assert not any(plain_code.is_unoptimised(f"{path}::test_a[{number}]", path) for number in range(100))


def test_each_folder_and_file_exists():
    folder = Path(__file__).parents[2] / "kernels"
    assert [name for name in plain_code.FOLDERS if not [*(folder / name).glob("test_*.py")]] == []
    assert [name for name in plain_code.FILES if not (folder / f"{name}.py").exists()] == []


def test_code_left_as_it_is_has_a_name_of_its_own(monkeypatch):
    machine = objects.machine()
    identity, code = machine.identity, machine.compile(TEXT)
    plain_code.leave_unoptimised(monkeypatch)
    assert machine.identity != identity
    assert machine.compile(TEXT) != code
    monkeypatch.undo()
    assert machine.identity == identity
    assert machine.compile(TEXT) == code
