"""Entries on disk belong to the code that made them: which code that is, and that its edits are noticed."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from adreno_sim.base.code_digest import DEPENDENCIES, PACKAGE, _digest_part, code_digest, digest_code
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.cache import CONTENTS

MAKERS = {
    "library": ["frontend.builtin_library"],
    "runtime": ["engine.runtime.compiled"],
    "programs": ["frontend.program", "engine.run.program_facts"],
    "proofs": ["engine.run.launch_analysis"],
    "coarse": ["engine.run.coarse_compile"],
    "modules": ["engine.run.compiled_kernel"],
    "objects": ["engine.llvm.objects"],
    "golden": ["golden.kernel_reference", "golden.model_reference", "golden.truth.kernels", "golden.truth.compiled"],
    "models": ["compiler.check.prepare"],
    "drivers": ["backends.opencl.verdicts", "backends.opencl.trial"],
    "machine": ["isa.compile"],
}
"""The modules that make what is in the entries of each kind."""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("adreno_sim")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A copy of the package, compiler and golden in the place of their links."""
    copied = tmp_path_factory.mktemp("copy") / "adreno_sim"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def module_of(part: str) -> str:
    return "adreno_sim." + part.removesuffix(".py").replace("/", ".")


def test_every_kind_of_entry_has_its_code_and_its_makers():
    assert set(CONTENTS) == set(DEPENDENCIES) == {*MAKERS, "search"}  # of which tests/unit/test_search_cache.py knows
    assert len({code_digest(kind) for kind in ("library", "modules", "objects", "golden", "drivers")}) == 5


@pytest.mark.parametrize("kind", MAKERS)
def test_all_that_a_maker_imports_is_in_the_key(kind, graph):
    makers = {f"adreno_sim.{maker}" for maker in MAKERS[kind]}
    imported = makers.union(*map(graph.find_upstream_modules, makers)) - {"adreno_sim"}
    known = tuple(map(module_of, DEPENDENCIES[kind]))
    assert [name for name in sorted(imported) if not any(name == one or name.startswith(f"{one}.") for one in known)] == []


@pytest.mark.parametrize("kind", MAKERS)
def test_every_part_that_is_named_is_imported(kind, graph):
    """By the package of a maker, that is: what nothing there imports would only make entries be lost."""
    folders = {module_of(part) for part in DEPENDENCIES[kind]}
    own = tuple(one for one in folders if any(f"adreno_sim.{maker}".startswith(f"{one}.") for maker in MAKERS[kind]))
    modules = {name for name in graph.modules if name.startswith(tuple(f"{one}." for one in own))}
    imported = modules.union(*map(graph.find_upstream_modules, modules))
    assert own
    assert folders == {one for one in folders if any(name == one or name.startswith(f"{one}.") for name in imported)}


def files_to_edit(package: Path) -> list[Path]:
    """One source of each package and its first file of each other kind, the files of the package itself among them."""
    found = {}
    for path in sorted(package.rglob("*")):
        if path.is_file():
            found.setdefault((path.relative_to(package).parts[:-1][:2], path.suffix), path)
    return [*found.values(), *(package.glob("*.*"))]


def test_an_edit_changes_the_digests_of_what_depends_on_it_and_no_other(whole):
    """Each file alone changes the digests of the kinds that name it; all files that a kind does not name leave its digest."""
    before = {kind: digest_code(kind, whole) for kind in DEPENDENCIES}
    edited = files_to_edit(whole)
    named = {kind: [path for path in edited if is_part(path.relative_to(whole).as_posix(), kind)] for kind in DEPENDENCIES}
    parts = {whole / part: _digest_part(whole / part) for part in itertools.chain(*DEPENDENCIES.values())}
    for path in edited:
        with edit([path]):
            around = {part: _digest_part(part) for part in parts if part in (path, *path.parents)}
            digest_part = (parts | around).__getitem__
            changed = [kind for kind in DEPENDENCIES if digest_code(kind, whole, digest_part) != before[kind]]
            assert changed == [kind for kind in DEPENDENCIES if path in named[kind]], path
    for kind, own in named.items():
        with edit([path for path in edited if path not in own]):
            assert digest_code(kind, whole) == before[kind], kind
    assert {kind: digest_code(kind, whole) for kind in DEPENDENCIES} == before
    assert {path.suffix for path in named["modules"]} >= {".py", ".toml", ".h", ".cl"}
    assert {path.suffix for path in named["objects"]} == {".py", ".c", ".h"}
    assert {"render", "cli", "pytest", "sweep", "schemas"} <= {path.relative_to(whole).parts[0] for path in edited}


def is_part(name: str, kind: str) -> bool:
    return any(name == part or name.startswith(f"{part}/") for part in DEPENDENCIES[kind])


@contextlib.contextmanager
def edit(paths: list[Path]) -> Iterator[None]:
    """Have each of the files end in one more space."""
    contents = {path: path.read_bytes() for path in paths}
    for path, content in contents.items():
        path.write_bytes(content + b" ")
    yield
    for path, content in contents.items():
        path.write_bytes(content)


def test_a_renamed_file_and_a_new_one_change_the_digest(whole):
    before = digest_code("objects", whole)
    place = whole / "ir" / "cfg.py"
    place.rename(place.with_name("cfg2.py"))
    assert digest_code("objects", whole) != before
    place.with_name("cfg2.py").rename(place)
    assert digest_code("objects", whole) == before
    (whole / "ir" / "new.txt").write_text("")
    assert digest_code("objects", whole) != before
    (whole / "ir" / "new.txt").unlink()


def test_compiled_files_are_no_code(whole):
    before = digest_code("library", whole)
    (whole / "ir" / "__pycache__").mkdir()
    (whole / "ir" / "__pycache__" / "cfg.pyc").write_bytes(b"machine")
    assert digest_code("library", whole) == before


@pytest.mark.parametrize("part", ["findings.py", "image"])
def test_a_part_that_is_missing_is_an_error(part, whole):
    place = whole / part
    place.rename(whole / "away")
    with pytest.raises(AdrenoSimError, match=part):
        digest_code("modules", whole)
    digest_code("library", whole)  # which does not need it
    if part == "image":
        place.mkdir()
        with pytest.raises(AdrenoSimError, match="image: no code there"):
            digest_code("modules", whole)
        place.rmdir()
    (whole / "away").rename(place)
    assert digest_code("modules", whole) == code_digest("modules")


COLOURS = """
import numpy as np
from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec

device = open_device("sim:adreno-740,checks=off")
SOURCE = '''
__constant sampler_t S = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void fetch(read_only image2d_t x, __global float* y) { vstore4(read_imagef(x, S, (int2)(0, 0)), 0, y); }
'''
image = ImageSpec("image2d", 1, order="BGRA", channel_type="UNORM_INT8")
x = device.view(device.allocate(device.view_nbytes(image)), image)
y = device.view(device.allocate(16), BufferSpec(16, "float32"))
device.write(x, np.array([0, 0, 255, 0], np.uint8))
kernel = device.build(SOURCE)["fetch"]
device.launch(kernel, (1,), (1,), (x, y))
print(device.read(y).astype(int).tolist(), [kernel.writes(index) for index in range(2)])
"""


@pytest.fixture
def colours(whole, tmp_path, monkeypatch):
    """What a process prints that runs COLOURS with the copied package and a cache of its own."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(whole.parent))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(whole.parent / "bytecode"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", COLOURS], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("image/formats.py", '"BGRA": ("b", "g", "r", "a")', '"BGRA": ("r", "g", "b", "a")', "[0, 0, 1, 0] [False, True]"),
        pytest.param(
            "ir/mod_ref.py",
            "lambda f: _params_with_use(f, _may_write)",
            "lambda f: frozenset()",
            "[1, 0, 0, 0] [False, False]",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["colours", "written"],
)
def test_a_process_after_an_edit_does_not_get_what_the_old_code_made(file, old, new, expected, whole, colours, tmp_path):
    assert colours() == colours() == "[1, 0, 0, 0] [False, True]"
    kept = sorted((tmp_path / "cache").rglob("*/*"))
    text, times = (whole / file).read_text(), (whole / file).stat()
    assert text.count(old) == 1
    try:
        (whole / file).write_text(text.replace(old, new))
        assert colours() == expected
    finally:
        (whole / file).write_text(text)
        os.utime(whole / file, ns=(times.st_atime_ns, times.st_mtime_ns))  # by which Python tells bytecode of an edit
    assert colours() == "[1, 0, 0, 0] [False, True]"
    assert set(kept) <= set((tmp_path / "cache").rglob("*/*"))
