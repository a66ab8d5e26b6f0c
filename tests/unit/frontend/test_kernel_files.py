"""What `adreno-sim kernel` reads besides the kernel, and what it shows of other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adreno_sim.cli.main import main

LAUNCH = 'global_size = [1]\n[[argument]]\nkind = "buffer"\ndtype = "int32"\ncount = 4\n'
KERNEL = "\nkernel void k(global int *a) { a[0] = VALUE; }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "launch.toml").write_text(LAUNCH)
    (tmp_path / "kernels" / "value.h").write_text("#define VALUE 1\n")
    (tmp_path / "secret.h").write_text("#define VALUE words of a secret\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, source: str, *words: str, launch: str = LAUNCH) -> int:
    (folder / "kernels" / "k.cl").write_text(source)
    (folder / "kernels" / "launch.toml").write_text(launch)
    return main(["kernel", "kernels/k.cl", "--launch", "kernels/launch.toml", *words])


@pytest.mark.parametrize(
    "directive", ['#include "value.h"', "#include <value.h>", '#import "value.h"', '#define F "value.h"\n#include F']
)
def test_files_beside_the_kernel_are_read(folder: Path, directive: str) -> None:
    assert run(folder, directive + KERNEL) == 0


@pytest.mark.parametrize("name", ["../secret.h", "secret.h", "FOLDER/secret.h", "kernels/../secret.h"])
def test_files_elsewhere_are_not(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = f'#include "{name.replace("FOLDER", str(folder))}"{KERNEL}'
    assert run(folder, source) == 2
    told = capsys.readouterr().err
    assert "words of a secret" not in told
    assert f"files are read only below {folder}/kernels: name a folder with the build option -I" in told


def test_files_elsewhere_are_read_where_the_user_wants_that(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = f'#include "../secret.h"{KERNEL}'
    for words in (["--unsafe-includes"], ["--device", "sim:adreno-740,unsafe_includes=true"]):
        assert run(folder, source, *words) == 2
        assert "use of undeclared identifier 'words'" in capsys.readouterr().err
    wider = 'options = "-I ."\n' + LAUNCH
    assert run(folder, source, launch=wider) == 2
    assert "files are read only below" in capsys.readouterr().err
    for words in (["--root", "."], ["--unsafe-includes"]):
        assert run(folder, source, *words, launch=wider) == 2
        assert "'words'" in capsys.readouterr().err


def test_a_line_directive_shows_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding has the place that the source gives it; --explain shows only lines of files that the source may read."""
    for name in ("secret.h", str(folder / "secret.h"), "/etc/passwd", "kernels/../secret.h"):
        assert run(folder, f'#line 1 "{name}"\nkernel void k(global int *a) {{ a[9] = 0; }}', "--explain") == 1
        told = capsys.readouterr().out
        assert ":1:37: error: writes 4 bytes" in told
        assert "words of a secret" not in told
        assert "/root:" not in told


def test_the_line_of_a_header_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Clean twin."""
    (folder / "kernels" / "store.h").write_text("void store(global int *a) {\n  a[9] = 0; // behind its end\n}\n")
    assert run(folder, '#include "store.h"\nkernel void k(global int *a) { store(a); }', "--explain") == 1
    assert "a[9] = 0; // behind its end" in capsys.readouterr().out
