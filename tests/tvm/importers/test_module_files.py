"""Relax modules in files: at the top level of Python, by name, made by a function, and as TVM saves them."""

import pytest

pytest.importorskip("tvm")
import tvm

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.importers.module_file import find_module, split_name
from adreno_sim.compiler.plan.footprint import is_model

pytestmark = pytest.mark.tvm

SOURCE = """
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class One:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y: R.Tensor((4,), "float32") = R.add(x, x)
            R.output(y)
        return y


def make():
    return One, ["parameters"]


def fail():
    raise ValueError("no weights here")


def count():
    return 7


def leave():
    raise SystemExit(0)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SOURCE)
    return path


def test_a_module_or_what_makes_it_is_named(file):
    names = [load_model(source).name for source in (file, f"{file}:One", f"{file}:make")]
    assert names == ["net", "net", "net"]
    assert all("main" in str(find_module(f"{file}:{name}")) for name in ("One", "make"))
    assert split_name("net.py:make")[1] == "make"
    assert split_name("a.onnx:make")[1] == ""


@pytest.mark.parametrize(
    "name, said",
    [
        ("nothing", "no module and no function 'nothing'; its modules are One"),
        ("fail", "net.py:fail: ValueError: no weights here"),
        ("count", "net.py:count: it returned int: expected an IRModule"),
        ("leave", "net.py:leave: SystemExit: 0"),
    ],
)
def test_what_gives_no_module_is_refused(file, name, said):
    with pytest.raises(AdrenoSimError) as error:
        load_model(f"{file}:{name}")
    assert said in str(error.value)


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "import sys\nsys.exit(3)"])
def test_a_file_that_ends_the_process_is_refused(tmp_path, code):
    """Its exit code would be the command's: 0 for a model that nobody checked."""
    path = tmp_path / "leaves.py"
    path.write_text(SOURCE + code)
    with pytest.raises(AdrenoSimError, match=r"leaves\.py: SystemExit: [03]"):
        load_model(path)


def test_where_none_or_several_are_there_a_name_is_asked_for(tmp_path):
    functions, several = tmp_path / "functions.py", tmp_path / "several.py"
    functions.write_text("def make():\n    return None\n")
    several.write_text(SOURCE + "\nTwo = One\n")
    with pytest.raises(AdrenoSimError, match=r"found none; name one, or a function that makes one, as .*functions.py:make"):
        load_model(functions)
    with pytest.raises(AdrenoSimError, match=r"found One, Two; name one, .*several.py:One"):
        load_model(several)
    with pytest.raises(AdrenoSimError, match=r"missing\.py: no such file"):
        load_model(tmp_path / "missing.py:make")


def test_a_module_that_tvm_saved(file, tmp_path):
    saved, other = tmp_path / "net.json", tmp_path / "other.json"
    saved.write_text(tvm.ir.save_json(find_module(file)))
    other.write_text('{"schema": "adreno-sim/plan/1"}')
    assert is_model(saved)
    assert not is_model(other)
    assert load_model(saved).inputs == load_model(file).inputs
    with pytest.raises(AdrenoSimError, match=r"other\.json: no module that this TVM"):
        load_model(other)
    saved.write_text(tvm.ir.save_json(tvm.tirx.const(1)))
    with pytest.raises(AdrenoSimError, match="expected an IRModule"):
        load_model(saved)
