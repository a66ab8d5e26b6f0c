"""A kernel that does not compile is named as the user named it, also in annotations; headers lie where they lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adreno_sim.cli.main import main
from adreno_sim.launch_spec.include_folders import add_launch_folders

pytestmark = pytest.mark.e2e

LAUNCH = """\
source = "{source}"
options = "{options}"
global_size = [4]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 4
data = "ones"
"""
HEADER = "float far(global float *a) {\n  return a[9];\n}\n"
KERNEL = "#include <far.h>\nkernel void k(global float *a) {\n  a[0] = far(a);\n}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "case" / "inc").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("case/bad.cl").write_text('#include "own.h"\nkernel void k(global float *a) {\n  a[0] = nothing;\n}\n')
    Path("case/own.h").write_text("int f(int x) {\n  return none;\n}\n")
    Path("case/k.cl").write_text(KERNEL)
    Path("case/inc/far.h").write_text(HEADER)
    Path("case/bad.toml").write_text(LAUNCH.format(source="bad.cl", options=""))
    Path("case/k.toml").write_text(LAUNCH.format(source="k.cl", options="-I inc"))
    return tmp_path


def run(capsys, *args: str) -> tuple[int, str, str]:
    code = main(["kernel", *args])
    return code, *capsys.readouterr()


def test_errors_name_the_file_as_given(capsys, monkeypatch):
    code, _, err = run(capsys, "--launch", "case/bad.toml")
    assert code == 2
    assert err.split(": ")[0].endswith("case/own.h:2:10")
    assert "case/bad.cl:3:10: error: use of undeclared identifier 'nothing'\n  a[0] = nothing;" in err
    assert "case/own.h:2:10: error: use of undeclared identifier 'none'" in err
    assert "kernel:" not in err
    shutil.copy("case/bad.cl", "elsewhere/other.cl")
    Path("elsewhere/own.h").touch()
    assert run(capsys, "elsewhere/other.cl", "--launch", "case/bad.toml")[2].startswith("elsewhere/other.cl:3:10: error: ")
    monkeypatch.chdir("case")
    assert "\nbad.cl:3:10: error: " in run(capsys, "--launch", "bad.toml")[2]


def test_errors_are_annotations_too(capsys):
    code, out, err = run(capsys, "--launch", "case/bad.toml", "--annotations")
    assert code == 2
    assert "case/bad.cl:3:10" in err
    place = "::error file=case/bad.cl,line=3,col=10,title=does not compile::use of undeclared identifier 'nothing'"
    assert place in out.splitlines()
    assert len(out.splitlines()) == 2
    assert not run(capsys, "--launch", "case/bad.toml")[1]
    assert "::error" in run(capsys, "--launch", "case/bad.toml", "--annotations", "--json", "-")[2]


@pytest.mark.parametrize("place", [".", "case", "case/inc", "elsewhere"])
def test_an_include_folder_is_named_from_the_launch_file_too(capsys, monkeypatch, folder, place):
    monkeypatch.chdir(place)
    launch = folder / "case" / "k.toml"
    code, out, _ = run(capsys, "--launch", str(launch))
    assert code == 1
    assert "reads 4 bytes at offset 36 of a" in out
    header = out.partition(":2:")[0]
    assert Path(header).resolve() == folder / "case" / "inc" / "far.h"


def test_the_working_directory_goes_first(capsys):
    shutil.copytree("case/inc", "inc")
    Path("inc/far.h").write_text(HEADER.replace("9", "1"))
    assert run(capsys, "--launch", "case/k.toml", "--root", ".")[0] == 0
    Path("inc/far.h").unlink()
    assert run(capsys, "--launch", "case/k.toml")[0] == 1


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ("-I inc -DX=1", ["-Icase/inc"]),
        ("-Iinc", ["-Icase/inc"]),
        ("-I 'inc' -I none -I /usr", ["-Icase/inc"]),
        ("-I none -DI=inc", []),
        ("-I", []),
        ("-I 'inc", []),
        ("", []),
    ],
)
def test_only_folders_that_are_there_are_added(options, added):
    found = add_launch_folders(options, Path("case"))
    assert found == options if not added else [word for word in found.split() if word.startswith("-Icase")] == added
