"""The driver as it is built and found: symbols, the environment of a program, the files that a package needs."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adreno_sim.base import disk_cache
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.icd import build, settings
from adreno_sim.icd import environment as environments
from adreno_sim.icd.environment import environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def test_the_loader_has_all_of_opencl_and_the_driver_what_loaders_ask_for() -> None:
    libraries = build.build_libraries()
    names = [word.strip() for line in build.version_script().splitlines() for word in line.split("global:")[1].split(";")]
    functions = [name for name in names if name.startswith("cl")]
    assert len(functions) > 120
    assert {"clGetPlatformIDs", "clCreateImage", "clCloneKernel"} <= set(functions)
    loader, driver = ctypes.CDLL(str(libraries.loader / build.LOADER)), ctypes.CDLL(str(libraries.driver))
    assert all(hasattr(loader, name) for name in functions)
    assert hasattr(driver, "clIcdGetPlatformIDsKHR")
    assert hasattr(driver, "clGetExtensionFunctionAddress")
    assert not hasattr(driver, "clCreateBuffer")  # a loader's own would take its place, or it a loader's
    assert build.version_script().startswith("OPENCL_1.0 {")
    assert "OPENCL_3.0 {" in build.version_script()


def test_a_process_with_two_loaders_has_one_driver() -> None:
    """pyopencl brings a loader of its own; a library beside it loads libOpenCL.so.1."""
    libraries = build.build_libraries()
    pairs = [(str(libraries.driver), "clIcdGetPlatformIDsKHR"), (str(libraries.loader / build.LOADER), "clGetPlatformIDs")]
    script = f"""
import ctypes
found = []
for path, name in {pairs}:
    platform, count = ctypes.c_void_p(), ctypes.c_uint()
    assert getattr(ctypes.CDLL(path), name)(1, ctypes.byref(platform), ctypes.byref(count)) == 0
    found.append(platform.value)
print(len(set(found)), None in found)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environments.environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["1", "False"], ran.stderr


def test_libraries_are_built_once_and_again_when_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    calls = []

    def compile_nothing(words, library, scratch):
        calls.append(library.name)
        library.write_bytes(b"library")

    monkeypatch.setattr(build, "compile_shim", compile_nothing)
    found = build.build_libraries()
    assert found == build.build_libraries()
    assert calls == [build.DRIVER, build.LOADER]
    assert (found.vendors / "adreno-sim.icd").read_text() == f"{found.driver}\n"
    found.driver.unlink()
    assert build.build_libraries() == found
    assert found.driver.is_file()
    assert len(calls) == 4


def test_libraries_that_a_wheel_brings_along_are_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = build.build_libraries()
    target = tmp_path / "wheel" / "driver" / known.driver.parent.name
    target.mkdir(parents=True)
    for library in (build.DRIVER, build.LOADER):
        shutil.copyfile(known.driver.parent / library, target / library)
    monkeypatch.setattr(disk_cache, "PREBUILT", tmp_path / "wheel")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "compile_shim", lambda *_: pytest.fail("compiled"))
    found = build.build_libraries()
    assert found.driver.read_bytes() == known.driver.read_bytes()
    assert found.driver.parent != known.driver.parent
    assert (found.vendors / "adreno-sim.icd").read_text() == f"{found.driver}\n"


def compile_by_copying(known: build.Libraries):
    """Stands for the compiler: its library is what was compiled before."""

    def compile_shim(words, library: Path, scratch: Path) -> None:
        shutil.copyfile(known.driver.parent / library.name, library)

    return compile_shim


def test_a_cache_that_takes_no_files_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compile_shim", compile_by_copying(build.build_libraries()))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "file"))
    found = build.build_libraries()
    assert found.driver.is_file()
    assert found == build.build_libraries()
    assert tmp_path not in found.driver.parents


@pytest.mark.parametrize("name, kept", [("a b", True), ("a:b", False), ("a;b", False)])
def test_a_cache_that_library_paths_cannot_name_is_done_without(name, kept, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(build, "compile_shim", compile_by_copying(build.build_libraries()))
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / name))
    assert (tmp_path / name in build.build_libraries().driver.parents) == kept


def test_a_folder_that_library_paths_cannot_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "_folder_of_loader", lambda ours: tmp_path / "a:b")
    with pytest.raises(AdrenoSimError, match=r"a:b: LD_LIBRARY_PATH cannot name .*TMPDIR"):
        environment()


@pytest.mark.parametrize("name, odd", [("a b", False), ('a"b', True), ("a\\b", True), ("a\nb", True), ("a:b", True)])
def test_a_path_that_zig_cannot_take_is_told(name, odd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zig").write_text("#!/bin/sh\necho error: failed to parse >&2; exit 1\n")
    (tmp_path / "zig").chmod(0o700)
    (tmp_path / "lib" / "libc").mkdir(parents=True)
    monkeypatch.setattr(build, "find_zig", lambda: str(tmp_path / "zig"))
    with pytest.raises(AdrenoSimError, match="failed to parse") as told:
        build.compile_shim([], tmp_path / name, tmp_path)
    assert ("zig may fail for a path" in str(told.value)) == odd


def test_a_cache_that_is_taken_away_meanwhile_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_shim = compile_by_copying(build.build_libraries())
    gone = []

    def compile_once(words, library: Path, scratch: Path) -> None:
        if not gone:
            gone.append(library)
            shutil.rmtree(tmp_path / "cache")
        compile_shim(words, library, scratch)

    monkeypatch.setattr(build, "compile_shim", compile_once)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    assert build.build_libraries().driver.is_file()
    assert gone


def test_no_folder_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(build, "_private_folder", lambda: tmp_path / "file")
    with pytest.raises(AdrenoSimError, match=r"cannot be kept there .*ADRENO_SIM_CACHE_DIR"):
        build.build_libraries()


def test_the_environment_names_the_driver_and_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_FILENAMES", raising=False)
    found = environment(device="sim:adreno-650", checks="full", reports="somewhere", strict=True)
    assert found["ADRENO_SIM_PYTHON"] == sys.executable
    assert Path(found["OCL_ICD_VENDORS"], "adreno-sim.icd").read_text().strip() == str(build.build_libraries().driver)
    assert (found[settings.DEVICE], found[settings.CHECKS], found[settings.STRICT]) == ("sim:adreno-650", "full", "1")
    assert found[settings.REPORTS] == str(Path.cwd() / "somewhere")
    assert not {"OCL_ICD_FILENAMES", settings.DEVICE} & environment().keys()
    monkeypatch.setenv("OCL_ICD_FILENAMES", "other.so")
    assert environment()["OCL_ICD_FILENAMES"] == str(build.build_libraries().driver)


@pytest.mark.parametrize(
    ("present", "expected"),
    [((), "ours"), (("libOpenCL.so.1",), "named"), (("libOpenCL.so.1", "libOpenCL.so"), "none")],
)
def test_a_loader_comes_along_only_where_there_is_none(present, expected, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(environments, "find_library", lambda name: tmp_path / name if name in present else None)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    ours = build.build_libraries().loader
    folders = environment().get("LD_LIBRARY_PATH")
    assert folders == {"ours": f"{ours}:/before", "named": f"{ours}/named:/before", "none": None}[expected]
    if expected == "named":
        assert (ours / "named" / "libOpenCL.so").readlink() == tmp_path / "libOpenCL.so.1"


def test_all_sources_are_packaged() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["adreno_sim.icd"]
    packaged = {path for pattern in patterns for path in build.SHIM.parent.glob(pattern)}
    assert packaged == {path for path in build.SHIM.rglob("*") if path.suffix in (".c", ".h")}


def test_pyopencl_runs_on_it(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    program = Path(__file__).parent / "pyopencl_client.py"
    done = subprocess.run([sys.executable, str(program)], env={**os.environ, **environment(checks="full")},
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "out-of-bounds-write" in done.stderr


def test_the_server_imports_nothing_from_the_clients_folder(tmp_path: Path) -> None:
    """Also on Python 3.10, which has no PYTHONSAFEPATH."""
    names = ["contextlib", "os", "signal", "socket", "threading", "numpy", "adreno_sim/__init__", "adreno_sim/icd/__main__"]
    for name in names:
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('print("of the client")\ndef main(): pass\n')
    start = re.search(r'#define SERVE "(.*)"', (build.SHIM / "start" / "process.c").read_text())
    assert start is not None
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    command = [sys.executable, "-c", start[1], "99"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**clean, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "adreno-sim: descriptor 99: Bad file descriptor\n")
