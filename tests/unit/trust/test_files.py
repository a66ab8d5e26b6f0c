"""No file reads a file beside its own folder: what launch files, bundles and recordings name, and what their kernels include."""

from __future__ import annotations

import shlex
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError, DeviceError
from adreno_sim.cli.main import main
from adreno_sim.compiler.artifact.interface import TupleInfo
from adreno_sim.compiler.artifact.model import CompiledModel, KernelCode
from adreno_sim.compiler.artifact.vm_function import VMFunction
from adreno_sim.frontend.driver import FrontEndTarget, inline_files
from adreno_sim.frontend.file_options import find_file_access, replace_folders, require_known_options, require_no_access
from adreno_sim.frontend.options import include_folders, parse_options
from adreno_sim.icd.messages import Body, encode_list, encode_text
from adreno_sim.icd.trace.own_files import drop_folders

KERNEL = "kernel void k(global int *a) { a[0] = 1; }\n"
ARGUMENT = '[[argument]]\nkind = "buffer"\ndtype = "int32"\ncount = 4\n'
SECRET = "words of a secret"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a launch file, with a secret beside it and links that lead there; the working folder is another one."""
    (tmp_path / "secret.h").write_text(f"#error {SECRET}\n")
    (tmp_path / "secret.npy").write_bytes(b"\x93NUMPY" + SECRET.encode())
    (tmp_path / "reference.py").write_text("raise ValueError('words of a secret')\n")
    (tmp_path / "work").mkdir()
    inside = tmp_path / "inside"
    (inside / "include").mkdir(parents=True)
    (inside / "include" / "value.h").write_text("#define VALUE 1\n")
    (inside / "k.cl").write_text(KERNEL)
    for link, target in (("k-link.cl", "secret.h"), ("x-link.npy", "secret.npy"), ("out", "."), ("r.py", "reference.py")):
        (inside / link).symlink_to(tmp_path / target)
    monkeypatch.chdir(tmp_path / "work")
    return inside


def run(folder: Path, launch: str, *words: str) -> int:
    (folder / "launch.toml").write_text(launch)
    return main(["kernel", "--launch", str(folder / "launch.toml"), *words])


ELSEWHERE = ["../secret.h", "FOLDER/../secret.h", "/etc/passwd", "k-link.cl", "out/secret.h", "include/../../secret.h"]


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize(
    "entry",
    ['source = "NAME"\nglobal_size = [1]\n' + ARGUMENT,
     'source = "k.cl"\nglobal_size = [1]\n' + ARGUMENT + 'data = {file = "NAME"}\n',
     'source = "k.cl"\nglobal_size = [1]\n' + ARGUMENT + '[[output]]\nargument = 0\ndata = {file = "NAME"}\n',
     'source = "k.cl"\nglobal_size = [1]\nexpected = "NAME.py:f"\n' + ARGUMENT],
)  # fmt: skip
def test_a_launch_file_names_no_file_elsewhere(folder: Path, entry: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "k-link.cl.py").symlink_to(folder.parent / "reference.py")
    assert run(folder, entry.replace("NAME", name.replace("FOLDER", str(folder)))) == 2
    told = capsys.readouterr().err
    assert "expected a file below the launch file's folder" in told
    assert "--root FOLDER" in told
    assert SECRET not in told
    assert told.count("\n") == 1


def test_a_launch_file_names_files_of_its_folder(folder: Path) -> None:
    """The clean twins: below the folder, by an absolute path too, and by a link that stays inside."""
    (folder / "same.cl").symlink_to(folder / "k.cl")
    for source in ("k.cl", "include/../k.cl", f"{folder}/k.cl", "same.cl", "./k.cl"):
        assert run(folder, f'source = "{source}"\nglobal_size = [1]\n' + ARGUMENT) == 0


def test_the_command_line_names_a_wider_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "k.cl").write_text('#include "value.h"\nkernel void k(global int *a) { a[0] = VALUE; }\n')
    (folder.parent / "shared").mkdir()
    (folder.parent / "shared" / "value.h").write_text("#define VALUE 2\n")
    launch = 'source = "../k.cl"\noptions = "-I ../shared"\nglobal_size = [1]\n' + ARGUMENT
    assert run(folder, launch) == 2
    assert "source: ../k.cl: expected a file below" in capsys.readouterr().err
    assert run(folder, launch, "--root", str(folder.parent)) == 0
    assert run(folder, launch, "--root", "nowhere") == 2
    assert "--root: nowhere: expected a folder that is there" in capsys.readouterr().err


SPELLINGS = ["-I {}", "-I{}", "-I '{}'", '"-I{}"', "-I\n{}", "-w -I\t{} -D X=1", "-D X -I {}", "-I include -I {}", "\t-I  {}  "]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", ["/etc", "..", "out", "FOLDER/..", "include/../..", "/", "~root/../../etc"])
def test_include_folders_of_a_launch_file_lie_below_it(
    folder: Path, spelling: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.cl").write_text('#include "secret.h"\n#include "passwd"\n' + KERNEL)
    options = spelling.format(name.replace("FOLDER", str(folder)))
    launch = f"source = 'k.cl'\noptions = '''{options}'''\nglobal_size = [1]\n{ARGUMENT}"
    assert run(folder, launch) == 2
    told = capsys.readouterr().err
    assert SECRET not in told
    assert "root:" not in told
    assert "expected a folder below the launch file's folder" in told or ("file not found" in told and "~" in name)


@pytest.mark.share()
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", ["include", "FOLDER/include", "./include", "include/../include"])
def test_include_folders_inside_are_read(folder: Path, spelling: str, name: str) -> None:
    (folder / "k.cl").write_text('#include "value.h"\nkernel void k(global int *a) { a[0] = VALUE; }\n')
    options = spelling.format(name.replace("FOLDER", str(folder)))
    assert run(folder, f"source = 'k.cl'\noptions = '''{options}'''\nglobal_size = [1]\n{ARGUMENT}") == 0


@pytest.mark.parametrize(
    "options",
    ["-include /etc/passwd", "-isystem /etc", "-iquote /etc", "@/etc/passwd", "-Xclang -load", "--config=/etc/passwd",
     "-idirafter /etc", "-imacros /etc/passwd", "--include-directory=/etc", "-fplugin=/tmp/x.so", "-Wp,-include,/etc/passwd",
     "-x cl", "-ivfsoverlay /etc/passwd", "-include-pch /tmp/x", "-fmodule-file=/tmp/x", "/etc/passwd", "-", "-cl-std=/etc",
     "-save-temps=/tmp", "-o /tmp/x", "-MF /tmp/x", "-D X '@/etc/passwd'", "-cl-x=/etc/passwd", "-I"],
)  # fmt: skip
def test_options_of_compilers_are_refused_on_every_device(folder: Path, options: str, capsys: pytest.CaptureFixture[str]) -> None:
    launch = f"source = 'k.cl'\noptions = '''{options}'''\nglobal_size = [1]\n{ARGUMENT}"
    assert run(folder, launch) == 2
    assert "CL_INVALID_BUILD_OPTIONS" in capsys.readouterr().err
    if options != "-I":
        with pytest.raises(DeviceError, match="CL_INVALID_BUILD_OPTIONS"):
            require_known_options(options)


def test_options_of_opencl_are_known() -> None:
    for options in ("-cl-std=CL2.0 -w -Werror -DX=1 -D Y -U Z -cl-fast-relaxed-math -O3 -g", "-cl-nv-maxrregcount=32",
                    "-qcom-sched-rule=2", "-cl-intel-greater-than-4GB-buffer-required", "-cl-mad-enable -I x", ""):  # fmt: skip
        require_known_options(options)


@given(
    st.lists(st.sampled_from(["-I", "-Ia", "-I b c", "-D", "-DX=1", "-U", "-w", "'-I d'", "e", "-cl-std=CL1.2", '"']), max_size=6)
)
def test_folders_are_replaced_as_the_compiler_reads_them(words: list[str]) -> None:
    """Nothing that our own compiler takes for a folder is left, and other words stay as they are."""
    options = " ".join(words)
    try:
        kept = replace_folders(options, lambda folder: [])
        parsed = parse_options(options)
    except DeviceError:
        return
    assert include_folders(kept) == ()
    assert parse_options(kept).folders == ()
    assert [word for word in parsed.arguments if not word.startswith("-I")] == list(parse_options(kept).arguments)
    assert parse_options(replace_folders(options, lambda folder: [folder])) == parsed


READS = [
    '#include "/etc/passwd"', "#include </etc/passwd>", "  #\tinclude MACRO", "# /* */ include <x>", '%:include "x"',
    '??=include "x"', '#inc\\\nlude "x"', '#import "x"', '#include_next "x"', '#embed "x"', '#if __has_include("/etc/x")\n#endif',
    '__asm__(".incbin \\"/etc/passwd\\"");', "/* \n#if 0 /* expanded by -frewrite-includes */\n#include \"x\"\n#endif",
    "#if 0\n don't /* \n#endif\n#include \"x\"\n/* */", '#define Q "\n#include "x"\n"',
]  # fmt: skip
READS_NOT = [
    "kernel void k(global int *include) { include[0] = 1; }", '// #include "x"', 'constant char s[] = "#include";', "int asmx;",
    '/* \n#include "x"\n*/', "#pragma unroll", "#define include_x 1", "// don't\nint x; // \"",
]  # fmt: skip


@pytest.mark.parametrize("source", READS)
def test_sources_that_may_read_files(source: str) -> None:
    assert find_file_access(source)
    assert find_file_access(f"{KERNEL}{source}\n{KERNEL}")


@pytest.mark.parametrize("source", READS_NOT)
def test_sources_that_read_none(source: str) -> None:
    assert find_file_access(source) == ""


def test_a_source_with_its_files_inside_reads_none(folder: Path) -> None:
    source = (
        '#include "value.h"\n#if __has_include("value.h")\n#endif\n#ifdef X\n#include "/etc/passwd"\n#endif\n'
        "kernel void k(global int *a) { a[0] = VALUE; }\n"
    )
    whole = inline_files(source, f"-I {folder}/include", FrontEndTarget())
    require_no_access(whole, "")
    with pytest.raises(AdrenoSimError, match="expected a program that reads no files"):
        require_no_access("#define __CLANG_REWRITTEN_INCLUDES\n" + whole, "")
    with pytest.raises(AdrenoSimError, match="expected a program that reads no files"):
        require_no_access(whole, "-D__CLANG_REWRITTEN_INCLUDES=1")
    with pytest.raises(AdrenoSimError, match="build option -I /etc"):
        require_no_access(whole, "-I /etc")


def bundle(source: str, options: str) -> CompiledModel:
    kernel = KernelCode("k", source, (), options)
    return CompiledModel(
        "m", "opencl", "0", "stock", (), (), TupleInfo(()), {"k": kernel}, {}, {"main": VMFunction("main", (), ())}, {}
    )


@pytest.mark.parametrize(
    ("source", "options"),
    [(KERNEL, "-I /etc"), (KERNEL, "-I."), (KERNEL, "'-I/etc'"), (KERNEL, "-include /etc/passwd"), (KERNEL, "@/etc/passwd"),
     *((source + "\n" + KERNEL, "") for source in READS[:4])],
)  # fmt: skip
def test_kernels_of_a_bundle_read_no_files(tmp_path: Path, source: str, options: str) -> None:
    path = tmp_path / "m.asim"
    bundle(source, options).save(path)
    with pytest.raises(AdrenoSimError, match=r"m.asim: not a valid .* bundle: kernel k: "):
        CompiledModel.load(path)


def test_kernels_of_a_bundle_have_options(tmp_path: Path) -> None:
    path = tmp_path / "m.asim"
    made = bundle(f"// #include\n{KERNEL}", "-cl-std=CL2.0 -DX=1")
    made.save(path)
    assert replace(CompiledModel.load(path)).kernels == made.kernels


def body_of(source: str, options: str, headers: dict[str, str]) -> bytes:
    pairs = encode_list(encode_text(name) + encode_text(text) for name, text in headers.items())
    return struct.pack("<I", 7) + encode_text(source) + encode_text(options) + pairs


@given(st.text(max_size=20), st.lists(st.sampled_from(["/etc", "a b", "..", "~"]), max_size=3), st.binary(max_size=8))
def test_a_recording_brings_no_include_folders(source: str, folders: list[str], junk: bytes) -> None:
    options = " ".join(["-w", *(f"-I {shlex.quote(folder)}" for folder in folders), "-DX=1"])
    headers = {"h.h": "x"} if folders else {}
    read = Body(drop_folders(body_of(source, options, headers)))
    assert (read.number(), read.text(), include_folders(read.text())) == (7, source, ())
    assert dict(read.list(lambda: (read.text(), read.text()))) == headers
    assert drop_folders(junk) == junk
