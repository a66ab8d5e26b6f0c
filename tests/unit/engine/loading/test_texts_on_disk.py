"""A text in the cache that is whole and that LLVM, or our reader, does not take is made again, and said once; a text that this
program makes so is still an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adreno_sim.base import disk_cache
from adreno_sim.base.stored import values
from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.engine.emit import c_runtime
from adreno_sim.engine.emit.tables.module_text import ModuleText
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel
from adreno_sim.engine.run.native_functions import native_functions
from adreno_sim.engine.runtime import compiled
from adreno_sim.engine.runtime.functions import CModule
from adreno_sim.frontend import builtin_library, library_cache, program
from adreno_sim.frontend.driver import FrontEndTarget

SOURCE = "kernel void k(global float *a, int n) { a[get_global_id(0)] = cospi((float)n); }"
UNREADABLE = ("what is this", "\ud800", "@x = global i32 0\n")


@pytest.fixture
def said(tmp_path, monkeypatch):
    """A cache of its own on disk, empty memory, and what was told."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    found: list[str] = []
    monkeypatch.setattr(disk_cache, "tell", found.append)
    forget()
    yield found
    forget()


def forget() -> None:
    """As a new process begins."""
    for known in (c_runtime.runtime, native_functions, builtin_library._texts):
        known.cache_clear()
    builtin_library._functions.clear()
    program._cache.clear()
    compiled._from_disk.clear()
    compiled_kernel._compiled.clear()


def specialize() -> compiled_kernel.CompiledKernel:
    forget()
    kernel = program.open_source(SOURCE, "", target=FrontEndTarget()).kernels["k"]
    return compiled_kernel.specialize(kernel, Specialization(local_size=(8, 1, 1), args=(BufferArg(), ScalarArg(4))))


def entry(kind):
    (found,) = (path for path in disk_cache.folder(kind).iterdir() if not path.name.startswith("."))
    return found


@pytest.mark.parametrize("text", UNREADABLE)
def test_the_text_of_a_kernel(said, text):
    right = specialize().module
    values.store(entry("modules"), ModuleText, replace(right, text=text), packed=True)
    assert specialize().module.text == right.text
    assert len(said) == 1
    assert "kernel k" in said[0]
    assert values.load(entry("modules"), ModuleText, packed=True) == right  # and the next process finds it


@pytest.mark.parametrize("text", UNREADABLE[:2])
@pytest.mark.parametrize("of", ["the kernel's", "the workers'"])
def test_a_function_of_the_runtime(said, text, of):
    right = specialize().module
    known = values.load(entry("runtime"), CModule)
    name = c_runtime.GROUPS if of == "the kernel's" else c_runtime.WORK
    forged = {**known.functions, name: replace(known.functions[name], body=text)}
    values.store(entry("runtime"), CModule, replace(known, functions=forged))
    entry("modules").unlink()
    assert specialize().module.text == right.text
    assert len(said) == 1
    assert "runtime" in said[0]
    assert values.load(entry("runtime"), CModule) == known


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("fmul", "what"), lambda text: text.replace("%", "@"), lambda text: text]
)
def test_a_built_in_function(said, change):
    right = specialize().module
    entry("modules").unlink()
    units = [path for path in disk_cache.folder("library").iterdir() if "cospi" in library_cache.load(path.name)]
    for path in units:
        library_cache.store(path.name, change(library_cache.load(path.name)))
    is_right = change("fmul%") == "fmul%"
    assert units
    assert specialize().module.text == right.text
    assert len(said) == (0 if is_right else len(units))


def test_a_cache_that_cannot_be_written_is_passed_over(said, monkeypatch):
    right = specialize().module
    values.store(entry("modules"), ModuleText, replace(right, text="what"), packed=True)
    monkeypatch.setattr(disk_cache.Path, "unlink", lambda self, **_: (_ for _ in ()).throw(PermissionError()))
    monkeypatch.setattr(disk_cache, "replacing", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    assert specialize().module.text == right.text
    assert len(said) == 1


def test_a_text_that_is_made_wrong_is_no_fault_of_the_disk(said, monkeypatch):
    right = specialize().module
    entry("modules").unlink()
    monkeypatch.setattr(codegen, "emit_module", lambda *_: replace(right, text="what"))
    with pytest.raises(RuntimeError):
        specialize()
    assert not said


def test_a_limit_of_llvm_is_no_fault_of_the_disk(said, monkeypatch):
    specialize()
    emitted = []
    emit = codegen.emit_module
    monkeypatch.setattr(codegen, "emit_module", lambda *words: emitted.append(words) or emit(*words))
    for path in disk_cache.folder("objects").iterdir():
        path.unlink()

    def meet_limit(self, text):
        raise compiled_kernel.UnsupportedError("unsupported: LLVM took longer than 30 s")

    native_functions()
    monkeypatch.setattr(objects.Machine, "compile", meet_limit)
    monkeypatch.setattr(compiled_kernel, "native_functions", lambda: type("Native", (), {"work": 0}))
    with pytest.raises(compiled_kernel.UnsupportedError, match="kernel k"):
        specialize()
    assert not said
