"""`adreno-sim prune`: what it would remove, what comes back; slow, on a copy: kernels and the driver compile without."""

import fcntl
import os
import shutil
import sysconfig

import pytest
import ziglang

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.cli.prune.other_systems import find_parts, measure
from adreno_sim.cli.prune.removal import ASIDE, changing, remove, restore
from adreno_sim.cli.prune.trial import find_harm
from adreno_sim.icd import build

GOES = ("lib/docs", "lib/libc/include/any-darwin-any", "lib/libc/include/x86_64-netbsd-none", "lib/libc/mingw")
STAYS = (
    "lib/include",
    "lib/libc/glibc",
    "lib/libc/include/any-linux-any",
    "lib/libc/include/generic-glibc",
    "lib/std/docs",
    "docs",
)


pytestmark = pytest.mark.e2e


@pytest.fixture
def package(tmp_path):
    """A package of some folders, each with a file."""
    made = tmp_path / "site" / "ziglang"
    for path in (*GOES, *STAYS):
        (made / path).mkdir(parents=True)
        (made / path / "file.h").write_text(path)
    (made / "zig").write_text("")
    (made / "zig").chmod(0o700)
    return made


def is_whole(package):
    return all((package / path / "file.h").read_text() == path for path in (*GOES, *STAYS)) and not (package / ASIDE).exists()


def paths_of(package):
    return [part.path for part in find_parts(package)]


def test_folders_for_other_systems_are_found(package):
    assert paths_of(package) == list(GOES)
    assert all(part.nbytes for part in find_parts(package))


def test_a_folder_that_is_a_link_is_left_alone(package, tmp_path):
    shutil.move(package / GOES[-1], tmp_path / "elsewhere")
    (package / GOES[-1]).symlink_to(tmp_path / "elsewhere")
    assert paths_of(package) == list(GOES[:-1])


def test_what_is_not_needed_is_removed_once(package):
    remove(package, paths_of(package), lambda: "")
    assert not any((package / path).exists() for path in (*GOES, ASIDE))
    assert all((package / path).exists() for path in STAYS)
    assert paths_of(package) == []
    assert not restore(package)


def test_what_is_needed_comes_back(package):
    with pytest.raises(AdrenoSimError, match="no header; everything was put back"):
        remove(package, paths_of(package), lambda: "no header")
    assert is_whole(package)


def test_an_interruption_puts_everything_back(package):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remove(package, paths_of(package), interrupt)
    assert is_whole(package)


def test_what_a_killed_call_left_aside_comes_back(package):
    for path in GOES[:2]:  # as if it ended in the middle
        (package / ASIDE).mkdir(exist_ok=True)
        os.rename(package / path, package / ASIDE / path.replace("/", "+"))
    assert restore(package)
    assert is_whole(package)


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """The folder of this installation for what a wheel brings along; the driver is compiled by writing two files."""

    def compile_nothing(folder):
        for name in (build.DRIVER, build.LOADER, "versions.map", *build.generate_headers()):
            (folder / name).write_text("")

    monkeypatch.setattr("adreno_sim.base.disk_cache.PREBUILT", tmp_path / "prebuilt")
    monkeypatch.setattr(build, "compile_libraries", compile_nothing)
    return tmp_path / "prebuilt" / "driver"


@pytest.fixture
def own(package, driver, monkeypatch):
    """The package, as that of this environment, with a trial that finds no harm."""
    monkeypatch.setattr("adreno_sim.frontend.driver.find_zig", lambda: str(package / "zig"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(package.parent))
    monkeypatch.setattr("adreno_sim.cli.prune.trial.find_harm", lambda package: "")
    return package


def test_what_was_removed_in_part_does_not_come_back(package, monkeypatch):
    monkeypatch.setattr(shutil, "rmtree", lambda folder, ignore_errors: None)  # as if it was killed here
    remove(package, paths_of(package), lambda: "")
    monkeypatch.undo()
    assert not restore(package)
    assert paths_of(package) == []
    assert sorted(os.listdir(package)) == ["docs", "lib", "zig"]


def test_the_command_lists_and_removes_nothing_without_yes(own, capsys):
    assert main(["prune"]) == 0
    said = capsys.readouterr().out
    assert all(f"    {path}\n" in said for path in GOES)
    assert not any(f"    {path}\n" in said for path in STAYS)
    assert "nothing was removed: --yes does that" in said
    assert "--force-reinstall --no-deps ziglang==" in said
    assert is_whole(own)
    assert main(["prune", "--compile-driver"]) == 2
    assert "give --yes" in capsys.readouterr().err


def test_a_package_of_another_environment_is_refused(own, monkeypatch, capsys):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/elsewhere")
    assert main(["prune", "--yes"]) == 2
    assert "lies outside this environment" in capsys.readouterr().err
    assert is_whole(own)


def test_the_command_removes_in_its_own_environment(own, capsys):
    assert main(["prune", "--yes"]) == 0
    assert paths_of(own) == []
    assert "work without" in capsys.readouterr().out
    assert main(["prune", "--yes"]) == 0  # again


def test_all_c_libraries_go_where_the_driver_is_compiled(own, driver, capsys):
    assert main(["prune", "--yes", "--compile-driver"]) == 0
    assert not os.listdir(own / "lib")
    assert (own / "docs").is_dir()
    assert (own / "zig").is_file()
    (kept,) = driver.iterdir()
    assert sorted(os.listdir(kept)) == sorted([build.DRIVER, build.LOADER])
    assert build.find_brought_along() == kept
    assert main(["prune", "--yes"]) == 0
    assert "0 MB of it are not needed" in capsys.readouterr().out


def test_a_driver_of_another_version_does_not_count(own, driver, monkeypatch):
    build.bring_along()
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DOTHER"))
    assert main(["prune", "--yes"]) == 0
    assert (own / "lib" / "libc" / "glibc").is_dir()
    assert build.find_brought_along() is None


@pytest.mark.parametrize(
    "installed, line",
    [(True, "'/a b/python' -m pip install --force-reinstall "), (False, "uv pip install --python '/a b/python' --reinstall ")],
)
def test_what_brings_it_back_is_a_command_of_this_environment(own, monkeypatch, installed, line):
    monkeypatch.setattr("sys.executable", "/a b/python")
    monkeypatch.setattr(build, "find_spec", lambda name: installed or None)
    assert build.explain_return(own).startswith(f"This brings it back: {line}--no-deps ziglang==")


def test_the_driver_names_what_brings_the_c_library_back(own, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "find_zig", lambda: str(own / "zig"))
    (own / "zig").write_text("#!/bin/sh\necho no installation >&2; exit 1\n")
    with pytest.raises(AdrenoSimError, match="does not compile: no installation"):
        build.compile_shim([], tmp_path / "library", tmp_path)
    shutil.rmtree(own / "lib")
    with pytest.raises(AdrenoSimError, match=r"no C library any more\. This brings it back: .*--no-deps ziglang=="):
        build.compile_shim([], tmp_path / "library", tmp_path)


def test_two_calls_at_the_same_time_do_not_meet(own, capsys):
    """The second call would put back what the first has aside for its trial."""

    def call_again():
        assert main(["prune", "--yes"]) == 2
        assert "another `adreno-sim prune` changes it" in capsys.readouterr().err
        return ""

    with changing(own):
        remove(own, paths_of(own), call_again)
    assert paths_of(own) == []
    assert not (own / ASIDE).exists()
    handle = os.open(own, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock is free again
    os.close(handle)


@pytest.mark.slow
def test_kernels_and_the_driver_compile_with_what_is_left(tmp_path):
    """On a copy of the installed package, made of links to its files where the file system has them."""
    copy = tmp_path / "ziglang"
    shutil.copytree(ziglang.__path__[0], copy, copy_function=link_or_copy, symlinks=True)
    before = measure(copy)
    remove(copy, paths_of(copy), lambda: find_harm(copy))
    assert measure(copy) < before - 120e6
    if build.find_brought_along() is None:
        shutil.move(copy / "lib" / "include", tmp_path / "include")
        assert "do not compile" in find_harm(copy)  # the trial finds what is missing


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
