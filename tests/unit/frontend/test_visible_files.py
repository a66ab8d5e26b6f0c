"""What a program may read: files below the include folders that its build names, and nothing else of the host."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from adreno_sim.base.errors import BuildError
from adreno_sim.frontend import visible_files
from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.options import parse_options
from adreno_sim.frontend.visible_files import find_visible_files, is_visible

SECRET = "secret words\n"
KERNEL = "\n__kernel void k(__global int *a) { a[0] = VALUE; }"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`inside` is the include folder; `outside` is not, nor is `inside-too`."""
    for name in ("inside/deep", "outside", "inside-too"):
        (tmp_path / name).mkdir(parents=True)
    for name, text in {
        "inside/value.h": "#define VALUE 1\n", "inside/deep/value.h": "#define VALUE 2\n", "outside/secret.h": SECRET,
        "outside/value.h": "#define VALUE 9\n", "inside-too/secret.h": SECRET, "inside/deep/next.h": "#include_next <next.h>\n",
        "inside/next.h": "#define VALUE 3\n", "inside/up.h": '#include "deep/down.h"\n',
        "inside/deep/down.h": '#include "../value.h"\n', "inside/escape.h": '#include "../outside/value.h"\n',
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    inside = tmp_path / "inside"
    (inside / "link.h").symlink_to("../outside/secret.h")
    (inside / "linked").symlink_to("../outside")
    (inside / "alias.h").symlink_to("deep/value.h")
    (inside / "shallow").symlink_to("deep")
    (inside / "ring.h").symlink_to("ring.h")
    (inside / "deep" / "round").symlink_to("..")
    os.mkfifo(inside / "pipe.h")
    (inside / "zero.h").symlink_to("/dev/zero")
    return tmp_path


def build(folder: Path, source: str, options: str = "-I FOLDER/inside", **target: bool) -> str:
    """clang's LLVM text; FOLDER in the source and the options is `folder`."""
    source, options = (text.replace("FOLDER", str(folder)) for text in (source, options))
    return run_clang(source + KERNEL, parse_options(options), FrontEndTarget(**target), as_text=True).text


def stored(text: str) -> int:
    found = re.search(r"store i32 (\d+), ptr addrspace\(1\)", text)
    assert found is not None
    return int(found[1])


REFUSED = {
    "absolute": '#include "FOLDER/outside/secret.h"',
    "upwards": '#include "../outside/secret.h"',
    "upwards from a folder": "#include <deep/../../outside/secret.h>",
    "upwards, absolute": '#include "FOLDER/inside/../outside/secret.h"',
    "a header that leads out": '#include "escape.h"',
    "a name that begins alike": '#include "FOLDER/inside-too/secret.h"',
    "a link out": '#include "link.h"',
    "a link out, absolute": '#include "FOLDER/inside/link.h"',
    "a linked folder": "#include <linked/secret.h>",
    "a ring of links": '#include "ring.h"',
    "a pipe": '#include "pipe.h"',
    "a device": '#include "zero.h"',
    "a device by its name": '#include "/dev/zero"',
    "its own text": '#include "/dev/stdin"',
    "its own name": "#include __FILE__",
    "a macro": '#define FILE "FOLDER/outside/secret.h"\n#include FILE',
    "a macro of parts": "#define NAME(x) <FOLDER/outside/x.h>\n#include NAME(secret)",
    "include_next": '#include_next "FOLDER/outside/secret.h"',
    "import": '#import "FOLDER/outside/secret.h"',
    "embed": '__constant char t[] = {\n#embed "FOLDER/outside/secret.h"\n};',
    "a digraph": '%:include "FOLDER/outside/secret.h"',
    "spliced": '#inc\\\nlude "FOLDER/outside/secret.h"',
    "a line directive": '#line 1 "FOLDER/outside/x.c"\n#include "secret.h"',
    "a header of the host": "#include <stdio.h>",
    "a dependency": '#pragma GCC dependency "FOLDER/outside/secret.h"',
    "a module": "#pragma clang module import secret",
    "the process": '#include "/proc/self/environ"',
}


@pytest.mark.share()
@pytest.mark.parametrize("options", ["-I FOLDER/inside", ""])
@pytest.mark.parametrize("way", REFUSED)
def test_nothing_outside_is_read(folder: Path, way: str, options: str) -> None:
    with pytest.raises(BuildError, match="not found") as caught:
        build(folder, REFUSED[way], options)
    assert "secret words" not in str(caught.value)


@pytest.mark.share()
@pytest.mark.parametrize("way", [name for name in REFUSED if name not in ("its own name", "its own text")])
def test_a_file_outside_that_does_not_exist_is_refused_in_the_same_words(folder: Path, way: str) -> None:
    """Else a program could ask which files there are."""
    told = []
    for name in ("outside/secret.h", "inside-too/secret.h"):
        with pytest.raises(BuildError) as caught:
            build(folder, REFUSED[way])
        told.append(str(caught.value))
        (folder / name).unlink()
    assert told[0] == told[1]


@pytest.mark.parametrize("test", ["__has_include", "__has_include_next", "__has_embed"])
@pytest.mark.parametrize("name", ["FOLDER/outside/secret.h", "link.h", "../outside/secret.h", "/etc/passwd", "/", "pipe.h"])
def test_what_is_outside_does_not_exist(folder: Path, test: str, name: str) -> None:
    source = f'#if {test}("{name}")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif'
    assert stored(build(folder, source)) == 2


FOUND = {
    "quoted": ('#include "value.h"', 1),
    "angled": ("#include <value.h>", 1),
    "absolute": ('#include "FOLDER/inside/value.h"', 1),
    "absolute and upwards": ('#include "FOLDER/inside/deep/../value.h"', 1),
    "a folder below": ("#include <deep/value.h>", 2),
    "upwards within": ('#include "up.h"', 1),
    "a link within": ('#include "alias.h"', 2),
    "a linked folder within": ('#include "shallow/value.h"', 2),
    "a ring of folders": ('#include "deep/value.h"', 2),
    "import": ('#import "value.h"\n#import "value.h"', 1),
    "a macro": ("#define NAME(x) <x.h>\n#include NAME(value)", 1),
    "has_include": ('#if __has_include("deep/value.h")\n#define VALUE 4\n#endif', 4),
    "a directive that is skipped": ('#if 0\n#embed "value.h"\n#include "/etc/passwd"\n#endif\n#define VALUE 5', 5),
}


@pytest.mark.parametrize("way", FOUND)
def test_what_is_inside_is_read(folder: Path, way: str) -> None:
    """Clean twin: links beside it, and ways to write its name, are no obstacle."""
    source, value = FOUND[way]
    assert stored(build(folder, source)) == value


def test_the_next_folder(folder: Path) -> None:
    source = "#include <next.h>"
    assert stored(build(folder, source, "-I FOLDER/inside/deep -I FOLDER/inside")) == 3


def test_a_folder_by_a_relative_name_and_by_a_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other").symlink_to("inside")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", "/")
    for options in ("-I inside", "-I ./outside/../inside", "-I other", "-I FOLDER/other", "-I other -I inside/deep"):
        assert stored(build(folder, "#include <value.h>", options)) == 1
    assert stored(build(folder, '#include "FOLDER/inside/value.h"', "-I other")) == 1


def test_a_link_that_the_call_names_is_followed(folder: Path) -> None:
    assert stored(build(folder, "#include <value.h>", "-I FOLDER/inside/linked")) == 9
    assert stored(build(folder, "#include <linked/value.h>", "-I FOLDER/inside -I FOLDER/outside")) == 9


def test_any_file_is_read_where_the_user_wants_that(folder: Path) -> None:
    for source in ('#include "FOLDER/outside/value.h"', "#include <linked/value.h>"):
        assert stored(build(folder, source, unsafe_includes=True)) == 9


def test_the_working_folder_counts_only_where_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "inside")
    with pytest.raises(BuildError, match=r"below folders that are named, and none is: name a folder with the build option -I"):
        build(folder, '#include "value.h"', "")
    assert stored(build(folder, '#include "value.h"', "-I.")) == 1


def test_the_error_says_why_a_file_is_left_out(folder: Path) -> None:
    for name, reason in {
        "link.h": "a link that leads out of the include folders (--unsafe-includes",
        "linked/value.h": "a link that leads out",
        "pipe.h": "no regular file (a pipe",
        "absent.h": f"files are read only below {folder}/inside: name a folder with the build option -I",
    }.items():
        with pytest.raises(BuildError, match=re.escape(reason)):
            build(folder, f'#include "{name}"')


@pytest.mark.parametrize("quiet", ["", "-w"])
def test_embedding_is_no_directive(folder: Path, quiet: str) -> None:
    """Also of a file that it may read: OpenCL C has no such directive."""
    source = '#pragma clang diagnostic ignored "-Wc23-extensions"\n__constant char t[] = {\n#embed "FILE"\n};\n#define VALUE t[1]'
    source = source.replace("FILE", str(folder / "inside" / "value.h"))
    with pytest.raises(BuildError, match=r"kernel:3:1: error: OpenCL C has no directive #embed"):
        build(folder, source, f"-I FOLDER/inside {quiet}")
    (folder / "inside" / "table.h").write_text(source)
    with pytest.raises(BuildError, match=r"inside/table.h:3:1: error: OpenCL C has no directive #embed"):
        build(folder, "#include <table.h>", f"-I FOLDER/inside {quiet}")


def test_a_folder_with_too_many_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible_files, "MOST_ENTRIES", 40)
    assert stored(build(folder, "#include <value.h>")) == 1
    for number in range(30):
        (folder / "inside" / f"{number}.h").write_text("")
    with pytest.raises(BuildError, match=r"/inside: expected at most 40 files below the include folders .* name smaller folders"):
        build(folder, "#include <value.h>")


def test_odd_folders_hold_nothing(folder: Path) -> None:
    names = [str(folder / "absent"), str(folder / "inside" / "pipe.h"), "/dev/null", str(folder / "inside" / "value.h")]
    (folder / "outside" / "\udcff.h").write_text("")
    (folder / "outside" / 'a "b" ü 😀\\.h').write_text("#define VALUE 6\n")
    (folder / "outside" / "pipe").symlink_to("/dev/null")  # so that the folder is listed name by name
    options = " ".join(f"-I {name}" for name in names)
    assert stored(build(folder, '#include <a "b" ü 😀\\.h>', f"{options} -I FOLDER/outside")) == 6
    found = find_visible_files([str(folder / "outside")])
    assert sorted(os.path.basename(path) for path in found.left_out) == ["pipe", "\udcff.h"]


def test_what_may_be_shown_of_a_file(folder: Path) -> None:
    """A line directive gives a place in any file."""
    folders = [str(folder / "inside")]
    for name in ("value.h", "alias.h", "deep/value.h", "deep/../value.h"):
        assert is_visible(str(folder / "inside" / name), folders)
    for name in ("link.h", "linked/value.h", "pipe.h", "zero.h", "ring.h", "../outside/secret.h", "absent.h", "deep"):
        assert not is_visible(str(folder / "inside" / name), folders)
    assert not is_visible("/etc/passwd", folders)
    assert not is_visible("/etc/passwd", [])


def test_a_link_that_may_not_be_read_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc/1/fd/0 is for most users; what else lies there is still read."""
    readable = os.readlink

    def refuse(path: str, **more: int) -> str:
        if os.path.basename(path) == "alias.h":
            raise PermissionError(13, "Permission denied", path)
        return readable(path, **more)

    monkeypatch.setattr(os, "readlink", refuse)
    inside = str(folder / "inside")
    found = find_visible_files([inside])
    assert found.left_out[f"{inside}/alias.h"] == "a link that this user may not read"
    assert b"deep" in found.overlay
    assert not is_visible(f"{inside}/alias.h", [inside])
    assert is_visible(f"{inside}/value.h", [inside])
    assert not is_visible(f"{inside}/value.h", [f"{inside}/alias.h"])
    assert f"{inside}/alias.h".encode() not in find_visible_files([f"{inside}/alias.h"]).overlay
    assert stored(build(folder, '#include "value.h"')) == 1
