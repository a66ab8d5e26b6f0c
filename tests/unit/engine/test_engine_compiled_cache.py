"""Object code on disk: found again, rebuilt when damaged, and never needed."""

from __future__ import annotations

import pytest

from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.engine.abi.specialization import BufferArg, LocalArg, ScalarArg, Specialization, bounds_of_grid
from adreno_sim.engine.caching import compiled_cache
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel
from adreno_sim.engine.run.native_functions import native_functions
from adreno_sim.frontend.program import FrontEndTarget, compile_source

SOURCE = "__kernel void k(__global float* a, int n) { a[get_global_id(0)] = n; }"


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache on disk, and none in memory. The code that belongs to no kernel is there."""
    native_functions()
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())
    built: list[str] = []
    compile_text = objects.Machine.compile
    monkeypatch.setattr(objects.Machine, "compile", lambda self, text: built.append(text) or compile_text(self, text))
    return tmp_path / "objects", built


def specialize(keep: bool = True, local: int = 8) -> compiled_kernel.CompiledKernel:
    compiled_kernel._compiled.clear()
    module = compile_source(SOURCE, "", target=FrontEndTarget())
    spec = Specialization(local_size=(local, 1, 1), args=(BufferArg(), ScalarArg(4)))
    return compiled_kernel.specialize(module.kernels["k"], spec, keep=keep)


def test_a_second_process_finds_the_object(fresh):
    folder, built = fresh
    specialize()
    specialize()
    assert len(built) == 1
    assert len(list(folder.iterdir())) == 1
    specialize(local=16)
    assert len(built) == 2


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_counts_as_absent(fresh, damage):
    folder, built = fresh
    specialize()
    (entry,) = folder.iterdir()
    data = entry.read_bytes()
    entry.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if damage is None else damage)
    specialize()
    assert len(built) == 2
    assert entry.read_bytes() == data


def test_an_entry_that_is_whole_but_no_object_is_replaced(fresh):
    folder, built = fresh
    specialize()
    (entry,) = folder.iterdir()
    compiled_cache.store(entry.name, b"this is no object file")
    specialize()
    assert len(built) == 2


def test_nothing_is_written_when_the_cache_is_off_or_cannot_be_written(fresh, monkeypatch):
    folder, built = fresh
    specialize(keep=False)
    assert not folder.exists()
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", "/proc/no/such/place")
    specialize()
    assert len(built) == 2


def test_memory_keeps_the_same_object():
    module = compile_source(SOURCE, "", target=FrontEndTarget())
    spec = Specialization(local_size=(4, 1, 1), args=(BufferArg(), ScalarArg(4)))
    first = compiled_kernel.specialize(module.kernels["k"], spec)
    assert compiled_kernel.specialize(module.kernels["k"], spec) is first


def test_arguments_that_do_not_fit_are_refused_by_name():
    module = compile_source(SOURCE, "", target=FrontEndTarget())
    for args, text in (
        ((BufferArg(),), "expected 2 arguments"),
        ((LocalArg(4), ScalarArg(4)), "expected BufferArg, got LocalArg"),
        ((BufferArg(), ScalarArg(8)), "expected 4 bytes, got 8"),
    ):
        with pytest.raises(AdrenoSimError, match=text):
            compiled_kernel.specialize(module.kernels["k"], Specialization(local_size=(1, 1, 1), args=args))


def test_what_is_not_supported_is_refused_by_name_and_place():
    source = "int __attribute__((overloadable)) sin(int);\n__kernel void k(__global int* a) {\n  a[0] = sin(3);\n}"
    module = compile_source(source, "", target=FrontEndTarget())
    with pytest.raises(UnsupportedError, match=r"unsupported: sin\(int\).* at 3:"):
        compiled_kernel.specialize(module.kernels["k"], Specialization(local_size=(1, 1, 1), args=(BufferArg(),)))


def test_bounds_of_a_grid_are_powers_of_two_that_hold_it():
    assert bounds_of_grid((256, 1, 9), (16, 1, 2)) == (16, 1, 8)
    assert bounds_of_grid((257, 1, 1), (16, 1, 1)) == (32, 1, 1)


def test_each_check_level_has_code_of_its_own():
    module = compile_source(SOURCE, "", target=FrontEndTarget())
    keys = [Specialization(local_size=(1, 1, 1), args=(BufferArg(), ScalarArg(4)), checks=c) for c in ("off", "bounds", "full")]
    codes = [compiled_kernel.specialize(module.kernels["k"], key) for key in keys]
    assert len({code.module.text for code in codes}) == 3
