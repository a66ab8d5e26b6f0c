"""A reference that the compiler does not make within its limits: less optimised where that helps, else not supported."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import relax as R

from adreno_sim import check
from adreno_sim.base import disk_cache
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.engine.llvm.objects import machine
from adreno_sim.frontend import compiler_process, driver
from adreno_sim.golden.truth import compiled

pytestmark = pytest.mark.tvm

LIMIT = "the compiler took longer than 30 s, adreno-sim's limit for one program"


@I.ir_module
class Doubled:
    @R.function
    def main(x: R.Tensor((5, 3), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


@pytest.fixture
def limits(monkeypatch, tmp_path):
    """Calls of the compiler for references, by flags; those whose flags `met` holds meet the limit of time."""
    monkeypatch.setattr(disk_cache, "root", lambda: tmp_path)
    calls, met = [], set()

    def compile_c(source, flags):
        calls.append(flags[-1])
        if flags[-1] in met or "all" in met:
            raise UnsupportedError(LIMIT)
        return driver.compile_c(source, flags)

    monkeypatch.setattr(compiled, "compile_c", compile_c)
    return calls, met


def test_what_compiles_is_optimised(limits):
    calls, _ = limits
    assert check(Doubled).exit_code == 0
    assert calls
    assert "-O0" not in calls


def test_what_takes_too_long_is_optimised_less(limits):
    calls, met = limits
    met |= {"-w", *machine().processor.vector_flags}
    assert check(Doubled).exit_code == 0
    assert "-O0" in calls


def test_what_takes_too_long_all_the_same_is_not_supported(limits):
    limits[1].add("all")
    with pytest.raises(UnsupportedError, match=r"^unsupported: the reference of add \(call 0\): .* limit .*; next: ") as caught:
        check(Doubled)
    assert caught.value.exit_code == 3
    assert len(str(caught.value).splitlines()) == 1


def test_the_compiler_says_which_limit_it_met(monkeypatch):
    monkeypatch.setattr(compiler_process.Ended, "find_limit", lambda ended: LIMIT)
    with pytest.raises(UnsupportedError, match=LIMIT):
        driver.compile_c("no C", [])
