"""The bytecode of modules that are imported behind the wall is compiled outside it, once."""

import os
import time
from pathlib import Path

import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.base.wall import bytecode


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with the folders that tell whether the bytecode is complete, one of them a link."""
    monkeypatch.setattr("sys.pycache_prefix", None)
    (tmp_path / "compiler").mkdir()
    made = tmp_path / "package"
    made.mkdir()
    (made / "compiler").symlink_to("../compiler")
    for name in bytecode._SIGNS:
        (made / name).mkdir(parents=True)
        (made / name / "one.py").write_text("ONE = 1\n")
    (made / "base" / "broken.py").write_text("ONE = \n")
    return made


def test_a_package_is_compiled_once(package):
    assert bytecode.is_stale(package)
    bytecode.compile_package(package)
    assert not bytecode.is_stale(package)
    assert len(list(package.parent.rglob("*.pyc"))) == len(bytecode._SIGNS)  # not of the broken one


@pytest.mark.parametrize("name", bytecode._SIGNS)
def test_a_new_file_makes_it_stale(package, name):
    bytecode.compile_package(package)
    (package / name / "new.py").write_text("TWO = 2\n")
    os.utime(package / name)  # file systems whose clock is coarse
    assert bytecode.is_stale(package)
    bytecode.compile_package(package)
    assert not bytecode.is_stale(package)


def test_what_may_not_be_written_is_left_alone(package, monkeypatch):
    monkeypatch.setattr(bytecode, "PACKAGE", package)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a child was begun"))
    with monkeypatch.context() as without:
        without.setattr("sys.dont_write_bytecode", True)
        bytecode.begin_compiling()
    with monkeypatch.context() as without:
        without.setattr("sys.dont_write_bytecode", False)
        without.setattr(os, "access", lambda path, mode: False)
        bytecode.begin_compiling()


def compile_beside(package):
    import sys

    sys.dont_write_bytecode, sys.pycache_prefix = False, None
    bytecode.PACKAGE = Path(package)
    bytecode.begin_compiling()
    end = time.monotonic() + 30
    while bytecode.is_stale(bytecode.PACKAGE) and time.monotonic() < end:
        time.sleep(0.02)
    os.wait()
    bytecode.begin_compiling()  # begins no other child
    with pytest.raises(ChildProcessError):
        os.wait()
    return len(list(Path(package).parent.rglob("*.pyc")))


def test_a_child_compiles_it(package):
    assert call_in_fresh_process(compile_beside, str(package)) == len(bytecode._SIGNS)
