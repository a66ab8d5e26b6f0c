"""LLVM's passes: each module has its own pass builder, as llvmlite's slow down with every run."""

from __future__ import annotations

from adreno_sim.engine.llvm import objects
from adreno_sim.engine.llvm.objects import VECTORS, machine
from adreno_sim.engine.llvm.passes import SHORT, Passes

TEXT = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"


def test_each_module_is_run_by_passes_of_its_own(monkeypatch):
    made = []

    class Counted(Passes):
        def __init__(self, target):
            super().__init__(target)
            made.append(self)

    monkeypatch.setattr(objects, "Passes", Counted)
    codes = [machine().compile_here(text) for text in (TEXT, TEXT, VECTORS + TEXT, VECTORS + TEXT + "\n" * SHORT)]
    assert len(made) == 4
    assert codes[0] == codes[1]
    assert all(codes)
