"""`adreno-sim prune`: what it would remove, what comes back; slow, on a copy: kernels and the driver compile without."""

import os
import shutil
import sysconfig

import pytest
import ziglang

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.cli.main import main
from adreno_sim.cli.prune.other_systems import find_parts, measure
from adreno_sim.cli.prune.removal import ASIDE, remove, restore
from adreno_sim.cli.prune.trial import find_harm

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
    assert not any((package / path).exists() for path in (*GOES, ASIDE)) and all((package / path).exists() for path in STAYS)
    assert paths_of(package) == [] and not restore(package)


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
    assert restore(package) and is_whole(package)


def test_the_command_lists_and_removes_nothing_without_yes(package, monkeypatch, capsys):
    monkeypatch.setattr("adreno_sim.frontend.driver.find_zig", lambda: str(package / "zig"))
    assert main(["prune"]) == 0
    said = capsys.readouterr().out
    assert all(f"    {path}\n" in said for path in GOES) and not any(f"    {path}\n" in said for path in STAYS)
    assert (
        "nothing was removed: --yes does that" in said and "--force-reinstall --no-deps ziglang==" in said and is_whole(package)
    )


def test_a_package_of_another_environment_is_refused(package, monkeypatch, capsys):
    monkeypatch.setattr("adreno_sim.frontend.driver.find_zig", lambda: str(package / "zig"))
    assert main(["prune", "--yes"]) == 2
    assert "lies outside this environment" in capsys.readouterr().err and is_whole(package)


def test_the_command_removes_in_its_own_environment(package, monkeypatch, capsys):
    monkeypatch.setattr("adreno_sim.frontend.driver.find_zig", lambda: str(package / "zig"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(package.parent))
    monkeypatch.setattr("adreno_sim.cli.prune.trial.find_harm", lambda package: "")
    assert main(["prune", "--yes"]) == 0
    assert paths_of(package) == [] and "compile without" in capsys.readouterr().out
    assert main(["prune", "--yes"]) == 0  # again


@pytest.mark.slow
def test_kernels_and_the_driver_compile_with_what_is_left(tmp_path):
    """On a copy of the installed package, made of links to its files where the file system has them."""
    copy = tmp_path / "ziglang"
    shutil.copytree(ziglang.__path__[0], copy, copy_function=link_or_copy, symlinks=True)
    before = measure(copy)
    remove(copy, paths_of(copy), lambda: find_harm(copy))
    assert measure(copy) < before - 120e6
    shutil.move(copy / "lib" / "include", tmp_path / "include")
    assert "do not compile" in find_harm(copy)  # the trial finds what is missing


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
