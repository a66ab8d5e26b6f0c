"""Which processes may keep what their TVM made: those where no code of others names TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from adreno_sim.compiler.importers import module_file
from adreno_sim.compiler.tvm_bridge import foreign_code

HARMLESS, TOUCHING = "def f():\n    return 1\n", "def f():\n    import tvm\n    tvm.relax = None\n"


@pytest.fixture
def process(tmp_path, monkeypatch):
    """process(name=source, ...): whether TVM may be changed in a process that has it, with these modules."""
    monkeypatch.setattr(foreign_code, "is_imported", lambda: True)
    monkeypatch.setattr(foreign_code, "_touching", {})
    monkeypatch.setattr(foreign_code, "_executed", [])

    def ask(**sources: str) -> bool:
        modules = {}
        for name, source in sources.items():
            modules[name] = module = ModuleType(name)
            (tmp_path / f"{name}.py").write_text(source)
            module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setattr(foreign_code, "sys", SimpleNamespace(modules=modules))
        return foreign_code.may_be_changed()

    return ask


def test_modules_that_do_not_name_tvm_are_trusted(process):
    assert not process(__main__=HARMLESS, theirs="# test vm, tvms\n", tvm=TOUCHING, tvm_ffi=TOUCHING)


@pytest.mark.parametrize("name", ["__main__", "conftest", "tvm_helpers"])
def test_a_module_that_names_tvm_may_change_it(process, name):
    assert process(**{"__main__": HARMLESS, name: TOUCHING})


def test_a_program_without_a_file_may_change_it(process):
    assert process(other=HARMLESS)


def test_a_model_that_is_python_may_change_it(process, tmp_path):
    (tmp_path / "model.py").write_text("value = 1\n")
    assert not process(__main__=HARMLESS)
    module_file.values_in(tmp_path / "model.py")
    assert process(__main__=HARMLESS)


def test_a_process_without_tvm_is_trusted(process, monkeypatch):
    monkeypatch.setattr(foreign_code, "is_imported", lambda: False)
    assert not process(__main__=TOUCHING)


@pytest.mark.slow
def test_every_model_of_a_process_is_kept(models, tmp_path):
    """The second one as well, though TVM was imported for the first."""
    (tmp_path / "twice.py").write_text(
        "import sys\nfrom adreno_sim import check\nfor path in sys.argv[1:]:\n    assert check(path).ok, path\n"
        "print(any(name.startswith('tv' + 'm.') for name in sys.modules))\n"
    )
    command = [sys.executable, str(tmp_path / "twice.py"), str(models["tiny"]), str(models["small"])]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ)) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs
    assert [run.stdout.split()[-1] for run in runs] == ["True", "False"]
