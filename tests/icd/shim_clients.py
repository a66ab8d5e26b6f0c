"""Programs in C that use OpenCL (`clients/`): compiled against the driver's library, or together with its sources."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adreno_sim.cli.main import main
from adreno_sim.icd.build import SHIM, build_libraries, generate_headers, library_sources

CLIENTS = Path(__file__).parent / "clients"
FAKE_SERVER = Path(__file__).parent / "fake_server.py"
FLAGS = ["-std=gnu11", "-g", "-O1", "-pthread", "-w", f"-I{SHIM}"]


def compilers() -> Iterator[list[str]]:
    """Those of the system, then clang of the package ziglang."""
    for name in ("gcc", "clang"):
        if found := shutil.which(name):
            yield [found]
    yield [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all"]


def simulate(*words: str) -> subprocess.CompletedProcess[str]:
    """What `adreno-sim WORDS` does, in this process: the start of another one is spared."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([*words])
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read())
        return subprocess.CompletedProcess([*words], code, *said)


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload]


def compile_client(name: str, folder: Path, *more: str) -> str:
    """The path of a client that the driver's libOpenCL serves. more: words for the compiler."""
    library, program = build_libraries().loader, str(folder / name)
    words = [
        *FLAGS,
        *more,
        str(CLIENTS / f"{name}.c"),
        f"-L{library}",
        "-l:libOpenCL.so.1",
        f"-Wl,-rpath,{library}",
        "-o",
        program,
    ]
    done = run([*next(compilers()), *words])
    assert done.returncode == 0, done.stderr
    return program


def compile_sanitized(name: str, folder: Path, sanitizers: str, change: tuple[str, str, str] = ("", "", "")) -> str:
    """The path of a client with the driver in it, all under sanitizers. change: (file of the shim, old text, new text)."""
    words = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    return _compile_whole(name, folder, [*_compiler_with(sanitizers, folder), *words], change)


def compile_changed(name: str, folder: Path, change: tuple[str, str, str]) -> str:
    """The path of a client with the driver in it, which was changed; not optimised, which takes half of the time."""
    return _compile_whole(name, folder, next(compilers()), change, "-O0")


def _compile_whole(name: str, folder: Path, compiler: list[str], change: tuple[str, str, str], *more: str) -> str:
    sources = folder / "shim"
    shutil.copytree(SHIM, sources)
    for file, text in generate_headers().items():
        (sources / file).write_text(text)
    if change[0]:
        text = (sources / change[0]).read_text()
        assert text.count(change[1]) == 1
        (sources / change[0]).write_text(text.replace(change[1], change[2]))
    files = [*(str(sources / path.relative_to(SHIM)) for path in library_sources()), str(sources / "loader_exports.c")]
    program = str(folder / name)
    done = run([*compiler, *FLAGS[:-1], *more, f"-I{sources}", str(CLIENTS / f"{name}.c"), *files, "-ldl", "-o", program])
    assert done.returncode == 0, done.stderr
    return program


def _compiler_with(sanitizers: str, folder: Path) -> list[str]:
    source, program = folder / "empty.c", str(folder / "empty")
    source.write_text("int main(void) { return 0; }\n")
    for compiler in compilers():
        built = run([*compiler, f"-fsanitize={sanitizers}", str(source), "-o", program])
        if built.returncode == 0 and run([program]).returncode == 0:
            return compiler
    pytest.skip(f"no compiler has the runtime of -fsanitize={sanitizers}")


def fake_environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment in which a client gets a fake server, whose process number is in the file named by SERVER_PID."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\necho $$ > "$SERVER_PID"\nexec {sys.executable} {FAKE_SERVER} "$3"\n')
    python.chmod(0o755)
    return {**os.environ, "ADRENO_SIM_PYTHON": str(python), "SERVER_PID": str(folder / "server.pid"), **more}


def run_client(program: str, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a client and expect that it ends well. Its standard error ends with its server's, which is waited for."""
    done = run([program, *words], env=environment)
    assert done.returncode == 0, done.stderr
    return done
